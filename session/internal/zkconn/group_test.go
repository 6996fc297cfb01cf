// Creates and deletes of one time: what becomes one transaction, and what that gives each of them.
// Helpers: crowded and meanwhile below, helper_test.go.

package zkconn_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// crowd are creates and deletes that were asked for while four deletes were under way.
type crowd struct {
	asked []jute.Request // then, on that connection
	made  map[string]zkconn.Entered
	errs  map[string]error
}

// crowded has all the paths deleted, if their name ends so, or else created; their parents are made
// known before. All of it happens while four deletes are under way.
func crowded(b *bench, v *visit, paths ...string) *crowd {
	c := &crowd{made: map[string]zkconn.Entered{}, errs: map[string]error{}}
	do := func(p string) (zkconn.Entered, error) {
		if strings.HasSuffix(p, "delete") {
			return zkconn.Entered{}, b.Delete(p, -1)
		}
		return b.Enter(zkconn.Entry{Path: p, Flags: jute.FlagEphemeralSequential, ACL: world, List: path.Dir(p)})
	}
	var mu sync.Mutex
	var all []func()
	for _, p := range paths {
		if !strings.HasSuffix(p, "delete") {
			_, _ = do(p)
		}
		all = append(all, func() {
			made, err := do(p)
			mu.Lock()
			defer mu.Unlock()
			c.made[p], c.errs[p] = made, err
		})
	}
	c.asked = meanwhile(b, v, all...)
	return c
}

// transactions is how many were asked for.
func (c *crowd) transactions() (n int) {
	for _, q := range c.asked {
		if q.Op == jute.OpMulti {
			n++
		}
	}
	return n
}

// meanwhile has all this done while four deletes are under way, and returns what is asked then.
func meanwhile(b *bench, v *visit, all ...func()) []jute.Request {
	before := len(v.asked())
	resume := v.stop()
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() { _ = b.Delete(fmt.Sprintf("/first/%d", i), -1) })
		synctest.Wait()
	}
	for _, f := range all {
		running.Go(f)
	}
	synctest.Wait()
	time.Sleep(time.Millisecond)
	resume()
	running.Wait()
	return slices.DeleteFunc(v.asked()[before+4:], func(q jute.Request) bool { return q.Op == jute.OpSync || q.Op == jute.OpSetWatches })
}

func parts(q jute.Request) (paths []string) {
	for _, op := range q.Ops {
		paths = append(paths, op.Path)
	}
	return paths
}

// several are creates below as many parents, and deletes.
func several(creates, deletes int) (paths []string) {
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
		require.Len(b, c.asked, 2)
		require.Equal(b, jute.OpMulti, c.asked[0].Op)
		require.ElementsMatch(b, several(10, 6), parts(c.asked[0]))
		require.Equal(b, jute.OpMultiRead, c.asked[1].Op)
		require.Len(b, c.asked[1].Ops, 10)
		for p, made := range c.made {
			require.NoError(b, c.errs[p])
			if strings.HasPrefix(p, "/c") {
				require.Equal(b, p+"0000000005", made.Path)
				require.NoError(b, made.Err)
				require.Equal(b, []string{path.Dir(p) + "-child"}, made.Names)
				require.EqualValues(b, 7, made.Stat.EphemeralOwner)
				require.Equal(b, c.made["/c0/n"].Stat.Czxid, made.Stat.Czxid)
			}
		}

		// None waits when none is under way, and three are no transaction.
		began, before := time.Now(), len(v.asked())
		var running sync.WaitGroup
		for _, f := range deletes(b, 3) {
			running.Go(f)
		}
		running.Wait()
		require.Len(b, v.asked(), before+3)
		require.Zero(b, time.Since(began))
	})
}

// One transaction never creates two contenders of one queue: they would have the same token.
func TestOneTransactionCreatesOneBelowAParent(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(asServers)
		require.NoError(b, b.Sync("/")) // it is near
		c := crowded(b, v, append(several(8, 0), several(8, 0)...)...)
		created := 0
		require.Equal(b, jute.OpMulti, c.asked[0].Op, "the others come behind, in their order")
		for _, q := range c.asked {
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
		refused []string  // the deletes that fail a transaction, with NoNode; else...
		all     jute.Code // ...the answer to every transaction
		asks    []jute.Op // what eight deletes come to
	}
	each(t, map[string]refusal{
		"a delete":   {refused: []string{"/d/1-delete"}, asks: []jute.Op{jute.OpMulti, jute.OpMulti}},
		"two":        {refused: []string{"/d/0-delete", "/d/1-delete"}, asks: append([]jute.Op{jute.OpMulti, jute.OpMulti}, slices.Repeat([]jute.Op{jute.OpDelete}, 6)...)},
		"throttled":  {all: jute.ThrottledOp, asks: []jute.Op{jute.OpMulti}},
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
		for range 2 {                   // the next transaction is not put off by that
			c := crowded(b, v, several(0, 8)...)
			var asked []jute.Op
			for _, q := range c.asked {
				asked = append(asked, q.Op)
			}
			require.Equal(b, row.asks, asked)
			for p, err := range c.errs {
				switch {
				case slices.Contains(row.refused, p):
					require.ErrorIs(b, err, zkconn.ErrNoNode)
				case row.all == jute.ThrottledOp:
					require.ErrorIs(b, err, zkconn.ErrThrottled)
				default:
					require.NoError(b, err)
				}
			}
		}
	})
}

// With a lost answer the outcome is unknown for each, and for a minute each is sent by itself: a
// transaction may have been the reason.
func TestATransactionThatIsLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(except(jute.OpMulti, hangsUp))
		require.NoError(b, b.Sync("/"))
		c := crowded(b, v, several(3, 3)...)
		for _, p := range several(3, 3) {
			require.ErrorIs(b, c.errs[p], zkconn.ErrNoReply)
		}
		for _, minutes := range []int{0, 1} {
			time.Sleep(time.Duration(minutes)*time.Minute + time.Second)
			b.answers(nil)
			require.Equal(b, minutes, crowded(b, b.visit(1), several(3, 3)...).transactions())
		}
	})
}

// A server that does not answer the listings has created the znodes nevertheless. One that hangs up
// at them gets none for a minute.
func TestATransactionWithoutListings(t *testing.T) {
	each(t, map[string]bool{"refused": false, "hung up": true}, func(b *bench, hungUp bool) {
		b.connected()
		b.answers(except(jute.OpMultiRead, refuses(jute.Unimplemented)))
		if hungUp {
			b.answers(except(jute.OpMultiRead, hangsUp))
		}
		require.NoError(b, b.Sync("/"))
		for round := range 5 {
			c := crowded(b, b.visit(len(b.dialled())-1), several(5, 0)...)
			for _, p := range several(5, 0) {
				require.NoError(b, c.errs[p])
				require.Equal(b, p+"0000000005", c.made[p].Path)
				require.Equal(b, !hungUp || round == 0, c.made[p].Err != nil)
			}
			time.Sleep(10 * time.Second)
		}
		require.LessOrEqual(b, len(b.dialled()), 2)
	})
}

// A server's jute.maxbuffer may be too small for transactions, without the client's knowledge. They
// cost few connections: the pauses between them grow, until one as large is answered; smaller ones
// prove nothing.
func TestTransactionsThatAreLostComeRarely(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		hangsUpAtLarge := func(v *visit, q jute.Request) (jute.Reply, bool) {
			if len(q.Ops) > 6 {
				return hangsUp(v, q)
			}
			return success(q), true
		}
		try := func(creates int) (lost bool) {
			before := len(b.dialled())
			crowded(b, b.visit(before-1), several(creates, 0)...)
			time.Sleep(10 * time.Second) // until it is connected again
			return len(b.dialled()) > before
		}
		require.NoError(b, b.Sync("/"))
		b.answers(hangsUpAtLarge)
		lost := 0
		for range 60 {
			for _, creates := range []int{5, 20} {
				if try(creates) {
					lost++
				}
			}
			time.Sleep(time.Minute - 20*time.Second)
		}
		require.LessOrEqual(b, lost, 6, "in an hour")
		time.Sleep(time.Hour)
		b.answers(nil)
		require.False(b, try(20))
		b.answers(hangsUpAtLarge)
		require.True(b, try(20), "one as large was answered")
		time.Sleep(time.Minute)
		require.True(b, try(20), "the pauses begin anew")
	})
}

// Losses that are far apart are the network's: the pauses do not grow from one to the next.
func TestPausesBetweenTransactionsGrowWithLossesOfLateOnly(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		require.NoError(b, b.Sync("/"))
		carried := func(creates int) (transactions int) {
			return crowded(b, b.visit(len(b.dialled())-1), several(creates, 0)...).transactions()
		}
		for range 8 {
			b.answers(except(jute.OpMulti, hangsUp))
			require.Equal(b, 1, carried(20))
			time.Sleep(time.Minute + time.Second)
			b.answers(nil)
			require.Equal(b, 1, carried(10))
			time.Sleep(24 * time.Hour)
		}
	}, func(_ *fake, cfg *zkconn.Config) { cfg.Timeout = time.Hour }) // so that pings are few
}

// deletes are as many, of znodes that are there.
func deletes(b *bench, n int) (all []func()) {
	for i := range n {
		all = append(all, func() { require.NoError(b, b.Delete(fmt.Sprintf("/d/%d", i), -1)) })
	}
	return all
}

// A request that a server may refuse for its size does not share a transaction.
func TestWhatMayBeTooLargeIsByItself(t *testing.T) {
	all := func(change func(e *zkconn.Entry)) zkconn.Entry {
		e := zkconn.Entry{Path: "/large/n", Flags: jute.FlagEphemeralSequential, ACL: world}
		change(&e)
		return e
	}
	each(t, map[string]zkconn.Entry{
		"data": all(func(e *zkconn.Entry) { e.Data = make([]byte, 1024) }),
		"path": all(func(e *zkconn.Entry) { e.Path = "/" + strings.Repeat("long", 300) + "/n" }),
		"acl":  all(func(e *zkconn.Entry) { e.ACL = slices.Repeat(world, 100) }),
	}, func(b *bench, e zkconn.Entry) {
		v := b.connected()
		require.NoError(b, b.Sync("/")) // it is near
		enter := func() {
			require.NoError(b, errOf(b.Enter(e)))
		}
		enter() // its parent is known
		asked := meanwhile(b, v, append(deletes(b, 8), enter)...)
		require.Len(b, asked, 2)
		for _, q := range asked {
			if q.Op == jute.OpMulti {
				require.Len(b, q.Ops, 8)
			}
		}
	})
}

// Only the listings that were asked for are made.
func TestATransactionListsWhatIsWanted(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(asServers)
		require.NoError(b, b.Sync("/")) // it is near
		var all []func()
		made := make([]zkconn.Entered, 8)
		for i := range made {
			e := zkconn.Entry{Path: fmt.Sprintf("/p%d/n", i), Flags: jute.FlagEphemeralSequential, ACL: world}
			_, _ = b.Enter(e)
			if i == 0 {
				e.List = "/elsewhere"
			}
			all = append(all, func() { made[i], _ = b.Enter(e) })
		}
		asked := meanwhile(b, v, all...)
		require.Len(b, asked, 2)
		require.Equal(b, []string{"/elsewhere"}, parts(asked[1]))
		for i := range made {
			require.NoError(b, made[i].Err)
			require.Equal(b, i == 0, len(made[i].Names) > 0)
		}
	})
}

// Behind a reconnection the server may be far away: no member waits until it is known to be near.
func TestAServerIsNotTakenToBeAsNearAsTheOneBefore(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, b.Sync("/")) // it is near
		v.hangUp()
		time.Sleep(time.Minute)
		v = b.visit(1)
		began := time.Now()
		resume := v.stop()
		var running sync.WaitGroup
		for _, f := range deletes(b, 8) {
			running.Go(f)
			synctest.Wait()
		}
		resume()
		running.Wait()
		require.Zero(b, time.Since(began))
		require.NotContains(b, v.ops(), jute.OpMulti)
	})
}

// delivers passes on a transaction, and says that it could not.
type delivers struct{ net.Conn }

func (c delivers) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if len(p) > 12 && jute.Op(binary.BigEndian.Uint32(p[8:])) == jute.OpMulti {
		return n, errors.New("broken")
	}
	return n, err
}

// panics is an application's log, at which something is wrong from then on.
type panics struct{ wrong *atomic.Bool }

func (panics) Enabled(context.Context, slog.Level) bool { return true }
func (l panics) Handle(context.Context, slog.Record) error {
	if l.wrong.CompareAndSwap(true, false) {
		panic("in a log")
	}
	return nil
}
func (l panics) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l panics) WithGroup(string) slog.Handler      { return l }

// If the goroutine that sends a transaction panics, that may have been carried out: the others do
// not hear that they may ask again.
func TestIfTheSenderPanicsTheOutcomeIsUnknown(t *testing.T) {
	var wrong atomic.Bool
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, b.Sync("/")) // it is near
		errs := make([]error, 8)
		var all []func()
		for i := range errs {
			all = append(all, func() {
				errs[i] = zkconn.ErrNoReply
				defer func() { _ = recover() }() // as the session's tasks do
				errs[i] = b.Delete(fmt.Sprintf("/d/%d", i), -1)
			})
		}
		wrong.Store(true)
		meanwhile(b, v, all...)
		require.False(b, wrong.Load())
		for _, err := range errs {
			require.ErrorIs(b, err, zkconn.ErrNoReply)
		}
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Logger = slog.New(panics{&wrong})
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := f.dial(ctx, network, address)
			return delivers{c}, err
		}
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
				require.NoError(b, errOf(b.Enter(zkconn.Entry{Path: fmt.Sprintf("/new%d/n", i), Flags: jute.FlagEphemeralSequential, ACL: world})))
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
			require.NoError(t, errOf(r.Create(fmt.Sprintf("/p%d-%d", s, i), nil, jute.FlagPersistent, 0, world)))
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
