// Creates and deletes of one time: what becomes one transaction, and what that gives each of them.

package zkconn_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// crowd are creates and deletes of one time; four of them come first, and are sent at once.
type crowd struct {
	*bench
	*visit
	running sync.WaitGroup
	before  int // requests
	mu      sync.Mutex
	made    map[string]zkconn.Entered
	errs    map[string]error
}

// crowded has the paths created below their parents, which are known, or deleted if that is their
// name.
func crowded(b *bench, v *visit, paths ...string) *crowd {
	c := &crowd{bench: b, visit: v, made: map[string]zkconn.Entered{}, errs: map[string]error{}}
	for _, p := range paths {
		if !strings.HasSuffix(p, "delete") {
			_, _ = c.do(p)
		}
	}
	c.before = len(v.asked())
	resume := v.stop()
	defer resume()
	for i, p := range paths {
		c.running.Go(func() {
			made, err := c.do(p)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.made[p], c.errs[p] = made, err
		})
		if i < 4 {
			synctest.Wait()
		}
	}
	synctest.Wait() // four are under way, and one waits for them, with those behind it
	time.Sleep(time.Millisecond)
	return c
}

func (c *crowd) do(p string) (zkconn.Entered, error) {
	if strings.HasSuffix(p, "delete") {
		return zkconn.Entered{}, c.Delete(p, -1)
	}
	return c.Enter(zkconn.Entry{Path: p, Flags: jute.FlagEphemeralSequential, ACL: world, List: path.Dir(p)})
}

// over waits until all are answered, and returns what was asked, the four that came first left out.
func (c *crowd) over() (asked []jute.Request) {
	c.running.Wait()
	for _, q := range c.asked()[c.before:] {
		if !slices.ContainsFunc(firsts, func(p string) bool { return q.Path == p || q.Path == path.Dir(p) }) && q.Op != jute.OpSync && q.Op != jute.OpSetWatches {
			asked = append(asked, q)
		}
	}
	return asked
}

func parts(q jute.Request) (paths []string) {
	for _, op := range q.Ops {
		paths = append(paths, op.Path)
	}
	return paths
}

var firsts = []string{"/1/n", "/2/n", "/3/n", "/4/n"}

// several are creates below as many parents, and deletes.
func several(creates, deletes int) []string {
	paths := slices.Clone(firsts)
	for i := range creates {
		paths = append(paths, fmt.Sprintf("/c%d/n", i))
	}
	for i := range deletes {
		paths = append(paths, fmt.Sprintf("/d/%d-delete", i))
	}
	return paths
}

// asServers answers transactions as servers do, and multiReads with a name for each parent.
func asServers(_ *visit, q jute.Request) (jute.Reply, bool) {
	answer := success(q)
	for i, op := range q.Ops {
		if q.Op == jute.OpMultiRead {
			answer.Results[i].Names = []string{op.Path + "-child"}
		}
	}
	return answer, true
}

func TestWhatComesWhileFourAreUnderWayIsOneTransaction(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(asServers)
		require.NoError(b, b.Sync("/")) // it is near
		c := crowded(b, v, several(10, 6)...)
		asked := c.over()
		require.Len(b, asked, 2)
		require.Equal(b, jute.OpMulti, asked[0].Op)
		require.ElementsMatch(b, several(10, 6)[4:], parts(asked[0]))
		require.Equal(b, jute.OpMultiRead, asked[1].Op)
		require.Len(b, asked[1].Ops, 10)
		for p, made := range c.made {
			require.NoError(b, c.errs[p])
			if strings.HasPrefix(p, "/c") {
				require.Equal(b, p, made.Path)
				require.NoError(b, made.Err)
				require.Equal(b, []string{path.Dir(p) + "-child"}, made.Names)
				require.EqualValues(b, 7, made.Stat.EphemeralOwner)
				require.Equal(b, c.made["/c0/n"].Stat.Czxid, made.Stat.Czxid)
			}
		}

		// Nobody waits when nobody is under way, and three are no transaction.
		began := time.Now()
		for range 3 {
			c.running.Go(func() { require.NoError(b, b.Delete("/x", -1)) })
		}
		require.Len(b, c.over(), 5)
		require.Zero(b, time.Since(began))
	})
}

// One transaction never creates two contenders in one line: they would have the same token.
func TestOneTransactionCreatesOneBelowAParent(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(asServers)
		require.NoError(b, b.Sync("/")) // it is near
		c := crowded(b, v, append(several(8, 0), several(8, 0)[4:]...)...)
		created := 0
		asked := c.over()
		require.Equal(b, jute.OpMulti, asked[0].Op, "the others come behind, in their order")
		for _, q := range asked {
			parents := map[string]bool{}
			for _, p := range parts(q) {
				if q.Op == jute.OpMulti {
					require.False(b, parents[path.Dir(p)], "twice below %s", path.Dir(p))
					parents[path.Dir(p)] = true
					created++
				}
			}
			if q.Op == jute.OpCreate2 {
				created++
			}
		}
		require.Equal(b, 16, created)
	})
}

// One that is refused is not repeated, since it was told why, and what is there later may be
// another's; the others are sent once more without it.
func TestOneThatIsRefusedCostsTheOthersOneTransaction(t *testing.T) {
	type refusal struct {
		refused []string
		all     jute.Code
		asks    []jute.Op
	}
	each(t, map[string]refusal{
		"a delete":   {refused: []string{"/d/1-delete"}, asks: []jute.Op{jute.OpMulti, jute.OpMulti}},
		"two":        {refused: []string{"/d/0-delete", "/d/1-delete"}, asks: append([]jute.Op{jute.OpMulti, jute.OpMulti}, slices.Repeat([]jute.Op{jute.OpDelete}, 6)...)},
		"throttled":  {all: -127, asks: []jute.Op{jute.OpMulti}},
		"as a whole": {all: jute.NoAuth, asks: append([]jute.Op{jute.OpMulti}, slices.Repeat([]jute.Op{jute.OpDelete}, 8)...)},
	}, func(b *bench, row refusal) {
		v := b.connected()
		b.answers(func(v *visit, q jute.Request) (jute.Reply, bool) {
			answer := success(q)
			bad := slices.IndexFunc(q.Ops, func(op jute.Request) bool { return slices.Contains(row.refused, op.Path) })
			switch {
			case q.Op == jute.OpMulti && row.all != 0:
				return failure(row.all), true
			case bad >= 0:
				for i := range answer.Results {
					if i >= bad {
						answer.Results[i] = jute.Result{Op: jute.OpError, Err: jute.RuntimeInconsistency}
					} else {
						answer.Results[i] = jute.Result{Op: jute.OpError}
					}
				}
				answer.Results[bad].Err = jute.NoNode
			}
			return answer, true
		})
		require.NoError(b, b.Sync("/")) // it is near
		c := crowded(b, v, several(0, 8)...)
		var asked []jute.Op
		for _, q := range c.over() {
			asked = append(asked, q.Op)
		}
		require.Equal(b, row.asks, asked)
		for p, err := range c.errs {
			switch {
			case slices.Contains(row.refused, p):
				require.ErrorIs(b, err, zkconn.ErrNoNode)
			case row.all == -127 && !slices.Contains(firsts, p):
				require.ErrorIs(b, err, zkconn.ErrThrottled)
			default:
				require.NoError(b, err)
			}
		}
	})
}

// With a lost answer nobody knows, and for a minute each is sent by itself: a transaction may have
// been the reason.
func TestATransactionThatIsLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(func(v *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpMulti {
				v.hangUp()
				return jute.Reply{}, false
			}
			return success(q), true
		})
		require.NoError(b, b.Sync("/"))
		c := crowded(b, v, several(3, 3)...)
		c.over()
		for _, p := range several(3, 3)[4:] {
			require.ErrorIs(b, c.errs[p], zkconn.ErrNoReply)
		}
		for _, minutes := range []int{0, 1} {
			time.Sleep(time.Duration(minutes)*time.Minute + time.Second)
			b.answers(nil)
			v = b.visit(1)
			c = crowded(b, v, several(3, 3)...)
			c.running.Wait()
			var multis int
			for _, q := range v.asked()[c.before:] {
				if q.Op == jute.OpMulti {
					multis++
				}
			}
			require.Equal(b, minutes, multis)
		}
	})
}

// A server that does not answer the listings has created the znodes nevertheless. One that hangs up
// at them is known to lack the operation after two losses.
func TestATransactionWithoutListings(t *testing.T) {
	each(t, map[string]bool{"refused": false, "hung up": true}, func(b *bench, hangsUp bool) {
		b.connected()
		b.answers(func(v *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpMultiRead {
				if hangsUp {
					v.hangUp()
				}
				return failure(jute.Unimplemented), !hangsUp
			}
			return success(q), true
		})
		require.NoError(b, b.Sync("/"))
		for range 5 {
			c := crowded(b, b.visit(len(b.dialled())-1), several(5, 0)...)
			c.running.Wait()
			for _, p := range several(5, 0)[4:] {
				require.NoError(b, c.errs[p])
				require.Equal(b, p, c.made[p].Path)
				require.Error(b, c.made[p].Err)
			}
			time.Sleep(10 * time.Second)
		}
		require.LessOrEqual(b, len(b.dialled()), 3)
	})
}

// Transactions at which a server has hung up do not make it seem that it takes no large requests.
func TestLostTransactionsBlameNoOther(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		for range 4 {
			b.answers(nil)
			require.NoError(b, b.Sync("/"))
			b.answers(func(v *visit, q jute.Request) (jute.Reply, bool) {
				if q.Op == jute.OpMulti {
					v.hangUp()
				}
				return success(q), q.Op != jute.OpMulti
			})
			c := crowded(b, b.visit(len(b.dialled())-1), several(30, 20)...)
			c.running.Wait()
			require.ErrorIs(b, c.errs["/c0/n"], zkconn.ErrCutOffUsual)
			time.Sleep(2 * time.Minute)
		}
		require.Len(b, b.dialled(), 5)
		_, err := b.Set("/config", make([]byte, 8000), -1)
		require.NoError(b, err)
	})
}

// Where a parent may be missing, a create is sent by itself: one that is missing is found out at
// once, as without transactions.
func TestWhatIsCreatedFirstBelowAParentIsByItself(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, b.Sync("/"))
		resume := v.stop()
		var running sync.WaitGroup
		for i := range 20 {
			running.Go(func() {
				_, err := b.Enter(zkconn.Entry{Path: fmt.Sprintf("/new%d/n", i), Flags: jute.FlagEphemeralSequential, ACL: world})
				require.NoError(b, err)
			})
		}
		synctest.Wait()
		resume()
		running.Wait()
		require.NotContains(b, v.ops(), jute.OpMulti)
	})
}

// The Czxid that a transaction gives is that of the znode, also beside other sessions' writes, and
// the names are those of the parent.
func TestRealServersTellTheCzxidOfATransaction(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3).Servers()
	shared := 0
	var mu sync.Mutex
	var running sync.WaitGroup
	for s := range 3 {
		r := open(t, zkconn.Config{Servers: servers[s : s+1]})
		next[zkconn.Up](r)
		for i := range 40 {
			_, err := r.Create(fmt.Sprintf("/p%d-%d", s, i), nil, jute.FlagPersistent, 0, world)
			require.NoError(t, err)
		}
		running.Go(func() {
			for range 10 {
				czxids := map[int64]bool{}
				var round sync.WaitGroup
				for i := range 40 {
					round.Go(func() {
						parent := fmt.Sprintf("/p%d-%d", s, i)
						made, err := r.Enter(zkconn.Entry{Path: parent + "/n-", Flags: jute.FlagEphemeralSequential, ACL: world, List: parent})
						if err != nil || made.Err != nil {
							t.Errorf("%v, %v", err, made.Err)
							return
						}
						_, stat, err := r.Get(made.Path, false)
						if err != nil || stat.Czxid != made.Stat.Czxid || stat.EphemeralOwner != made.Stat.EphemeralOwner || !slices.Equal(made.Names, []string{path.Base(made.Path)}) {
							t.Errorf("%+v is %+v: %v", made, stat, err)
						}
						mu.Lock()
						if czxids[stat.Czxid] {
							shared++
						}
						czxids[stat.Czxid] = true
						mu.Unlock()
						if err := r.Delete(made.Path, -1); err != nil {
							t.Error(err)
						}
					})
				}
				round.Wait()
			}
		})
	}
	running.Wait()
	require.NotZero(t, shared, "nothing was created together")
}
