package interop_test

// Queues with contenders of Troupe and of other libraries: locks and elections. One table of kinds,
// and the tests of each. Helpers: guard_test.go, contenders_test.go.

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// kind is a recipe of another library's, "theirs", and Troupe's recipe that shares a queue with it.
type kind struct {
	us       func(t *testing.T, address, path string, opts ...session.Option) *ours
	them     func(t *testing.T, address, path string) contender
	election bool
	patient  bool // theirs cannot give up waiting
}

// one is a contender of ours, or of theirs.
func (k kind) one(t *testing.T, us bool, address, path string) contender {
	t.Helper()
	if us {
		return k.us(t, address, path)
	}
	return k.them(t, address, path)
}

// lockKind is a lock of theirs, with ours in a layout.
func lockKind(layout lock.Layout, them func(t *testing.T, address, path string) contender) kind {
	return kind{them: them, us: func(t *testing.T, address, path string, opts ...session.Option) *ours {
		t.Helper()
		return ourLock(t, alone, lock.New, address, path, layout, opts...)
	}}
}

const theirID = "them"

// candidacy is an election of theirs.
type candidacy struct {
	theirs maker
	layout election.Layout // of ours in the same queue
	who    string          // the driver's verb that asks who leads; the answer is names, of which the first leads
}

var candidacies = map[string]candidacy{
	"curator's latch": {maker{driver: javaDriver, client: "curator", recipe: "latch", id: theirID}, election.Curator, "leader"},
	"kazoo's":         {maker{driver: kazooDriver, client: "kazoo", recipe: "election", id: theirID}, election.Kazoo, "contenders"},
	"support":         {maker{driver: javaDriver, client: "zookeeper", recipe: "support", id: theirID}, election.LeaderElectionSupport, "leader"},
}

// kinds are the locks and elections of other libraries that share a queue with Troupe's: in
// Troupe's own layout, and, "in its own", in theirs.
var kinds = func() map[string]kind {
	goZooKeeper := lockKind(lock.Troupe, newGozk)
	goZooKeeperInItsOwn := lockKind(lock.GoZooKeeper, newGozk)
	goZooKeeper.patient, goZooKeeperInItsOwn.patient = true, true
	writelock := maker{driver: javaDriver, client: "zookeeper", recipe: "writelock"}.contender
	all := map[string]kind{
		"curator":                 lockKind(lock.Troupe, maker{driver: javaDriver, client: "curator", recipe: "mutex"}.contender),
		"selector":                lockKind(lock.Troupe, maker{driver: javaDriver, client: "curator", recipe: "selector"}.contender),
		"kazoo":                   lockKind(lock.Troupe, maker{driver: kazooDriver, client: "kazoo", recipe: "lock-beside"}.contender),
		"kazoo in its own":        lockKind(lock.Kazoo, maker{driver: kazooDriver, client: "kazoo", recipe: "lock"}.contender),
		"writelock":               lockKind(lock.Troupe, writelock),
		"writelock in its own":    lockKind(lock.JavaWriteLock, writelock),
		"go-zookeeper":            goZooKeeper,
		"go-zookeeper in its own": goZooKeeperInItsOwn,
	}
	for name, c := range candidacies {
		all[name] = kind{election: true, them: c.theirs.contender, us: func(t *testing.T, address, path string, opts ...session.Option) *ours {
			t.Helper()
			return ourCandidate(t, c.layout, address, path, opts...)
		}}
	}
	return all
}()

// Two contenders of ours and two of theirs hold again and again; some give up waiting.
func TestNobodyHoldsBesideAnother(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, kinds, func(t *testing.T, s *session.Session, address, path string, k kind) {
		new(guard).contend(t, s, path, 15, k.us(t, address, path), k.them(t, address, path), k.us(t, address, path), k.them(t, address, path))
	})
}

// The same while the connections of all break again and again. Not with WriteLock, which in a retry
// searches its znode under the wrong name.
func TestNobodyHoldsBesideAnotherWhileConnectionsBreak(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, only(kinds, "curator", "kazoo", "kazoo in its own"), func(t *testing.T, s *session.Session, address, path string, k kind) {
		proxy := through(t, address)
		g := &guard{disturb: func(nth int) {
			if nth%5 == 0 {
				proxy.Reset() // during a possession, while others wait
			}
		}}
		address = proxy.Addr()
		g.contend(t, s, path, 8, k.us(t, address, path), k.them(t, address, path), k.us(t, address, path), k.them(t, address, path))
	})
}

// The same on three servers whose leader dies during a possession, and comes back.
func TestNobodyHoldsBesideAnotherWhileTheLeaderDies(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	each(t, only(kinds, "curator", "kazoo"), func(t *testing.T, k kind) {
		e := ensemble.Start(t, 3)
		servers := strings.Join(e.Servers(), ",")
		s, path := open(t, servers), pathFor(t)
		g, dead := new(guard), -1
		g.disturb = func(nth int) {
			switch nth {
			case 6:
				dead = bubble.Leader(t, e)
				e.Kill(dead)
			case 14:
				if err := e.Restart(dead); err != nil {
					g.fault(err.Error())
				}
			}
		}
		g.contend(t, s, path, 8, k.us(t, servers, path), k.them(t, servers, path), k.us(t, servers, path), k.them(t, servers, path))
		require.Greater(t, len(g.order), 14, "the leader came back during the run")
	})
}

// Contenders of all libraries are served in the order of arrival.
func TestContendersHoldInTheOrderOfArrival(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, kinds, func(t *testing.T, s *session.Session, address, path string, k kind) {
		var contenders []contender
		for _, us := range []bool{false, true, true, false, false, true} {
			contenders = append(contenders, k.one(t, us, address, path))
		}
		var waiting []<-chan error
		for i, c := range contenders {
			waiting = append(waiting, begin(c))
			awaitContenders(t, s, path, i+1)
			if f, ok := c.(*foreign); ok && i > 0 {
				f.ready(t)
			}
		}
		for i, c := range contenders {
			require.NoError(t, <-waiting[i])
			awaitContenders(t, s, path, len(contenders)-i)
			for j := range contenders[i+1:] {
				require.Empty(t, waiting[i+1+j], "%s holds while %s does", contenders[i+1+j].name(), c.name())
			}
			require.NoError(t, c.release())
		}
		awaitContenders(t, s, path, 0)
	})
}

// A waiter that gives up leaves the others where they were: behind the holder.
func TestAWaiterThatGivesUpLeavesTheOthersWhereTheyWere(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, kinds, func(t *testing.T, s *session.Session, address, path string, k kind) {
		orders := []string{"us them us", "them them us", "us them them", "us us them"}
		switch {
		case k.election:
			orders = nil // LeaderElectionSupport queues again, at the end, if a candidate leaves while it lists
		case k.patient:
			orders = []string{"us us them", "them us them"}
		}
		for _, order := range orders {
			var all []contender
			path := path + "_" + strings.ReplaceAll(order, " ", "_")
			for who := range strings.FieldsSeq(order) {
				all = append(all, k.one(t, who == "us", address, path))
			}
			holder, middle, last := all[0], all[1], all[2]
			holds(t, holder)
			gaveUp := bubble.Begin(func() error { // ends with the acquisition, which is bounded
				held, err := middle.acquire(2 * time.Second)
				if held {
					err = errors.New("it holds")
				}
				return err
			})
			awaitContenders(t, s, path, 2)
			waiting := begin(last)
			awaitContenders(t, s, path, 3)
			require.NoError(t, <-gaveUp)
			awaitContenders(t, s, path, 2)
			require.NoError(t, s.Sync(t.Context(), path))
			require.Empty(t, waiting, "%s holds while %s does", last.name(), holder.name())
			require.NoError(t, holder.release())
			require.NoError(t, <-waiting)
			require.NoError(t, last.release())
			awaitContenders(t, s, path, 0)
		}
	})
}

// A holder whose process ends without a word is followed by the next.
func TestAHolderThatDiesIsFollowedByTheNext(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, kinds, func(t *testing.T, s *session.Session, address, path string, k kind) {
		for _, us := range []bool{true, false} {
			holder, next := k.one(t, us, address, path), k.one(t, !us, address, path)
			holds(t, holder)
			waiting := begin(next)
			awaitContenders(t, s, path, 2)
			require.NoError(t, holder.end())
			require.NoError(t, <-waiting)
			require.NoError(t, next.release())
			awaitContenders(t, s, path, 0)
		}
	})
}

// A holder of ours that is cut off knows that it has lost before theirs is granted, and queues
// again when it is back.
func TestALossIsKnownBeforeTheyHold(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, kinds, func(t *testing.T, s *session.Session, address, path string, k kind) {
		proxy := through(t, address)
		us := k.us(t, proxy.Addr(), path, session.WithTimeout(6*time.Second), session.WithTick(200*time.Millisecond))
		holds(t, us)
		next := k.them(t, address, path)
		waiting := begin(next)
		awaitContenders(t, s, path, 2)
		proxy.Blackhole()
		require.NoError(t, <-waiting)
		select {
		case <-us.has.Done():
			require.ErrorIs(t, us.has.Err(), session.ErrLost)
		default:
			t.Fatal("they hold while ours believed that it does")
		}
		require.NoError(t, next.release())
		proxy.Heal()
		holds(t, us)
		require.NoError(t, us.release())
	})
}

// Contenders lists those of all libraries, in order, with their sessions.
func TestAllContendersAreSeen(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, kinds, func(t *testing.T, s *session.Session, address, path string, k kind) {
		if k.election {
			return // see TestWhoLeadsIsKnownToBoth
		}
		first := k.us(t, address, path)
		holds(t, first)
		all := []contender{first, k.them(t, address, path), k.us(t, address, path), k.them(t, address, path)}
		var waiting []<-chan error
		want := []int64{first.id()}
		for i, c := range all[1:] {
			waiting = append(waiting, begin(c))
			awaitContenders(t, s, path, i+2)
			want = append(want, c.id())
		}
		seen := must(first.lock.Contenders(t.Context()))
		var got []int64
		for i, c := range seen {
			got = append(got, c.SessionID)
			require.Equal(t, i == 0, c.Holding)
		}
		require.Equal(t, want, got)
		for i, c := range all {
			require.NoError(t, c.release())
			if i < len(waiting) {
				require.NoError(t, <-waiting[i])
			}
		}
	})
}

// Each side tells who leads, when it is the other.
func TestWhoLeadsIsKnownToBoth(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, candidacies, func(t *testing.T, s *session.Session, address, path string, c candidacy) {
		us, them, asker := ourCandidate(t, c.layout, address, path), c.theirs.make(t, address, path), c.theirs.make(t, address, path)
		holds(t, them)
		leader := must(us.election.Current(t.Context()))
		require.Equal(t, theirID, leader.Name)
		waiting := begin(us)
		awaitContenders(t, s, path, 2)
		require.NoError(t, them.release())
		require.NoError(t, <-waiting)
		theirs := begin(them)
		awaitContenders(t, s, path, 2)
		candidates := must(us.election.Candidates(t.Context()))
		require.Equal(t, []string{us.label, theirID}, []string{candidates[0].Name, candidates[1].Name})
		answer := asker.d.call(asker.recipe, c.who)
		require.Empty(t, answer.err)
		require.Equal(t, us.label, strings.Split(answer.values[0], ",")[0])
		require.NoError(t, us.release())
		require.NoError(t, <-theirs)
		require.NoError(t, them.release())
		awaitContenders(t, s, path, 0)
	})
}

// A library that does not understand Troupe's names sees no contender, and there are two holders:
// the table in the documentation says so, and the guard notices.
func TestWhatCannotShareAQueueIsNoticed(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	type pair struct {
		ours   func(t *testing.T, address, path string) contender
		theirs maker
	}
	locked := func(kind newLock) func(t *testing.T, address, path string) contender {
		return func(t *testing.T, address, path string) contender {
			t.Helper()
			return ourLock(t, alone, kind, address, path, lock.Troupe)
		}
	}
	elected := func(t *testing.T, address, path string) contender {
		t.Helper()
		return ourCandidate(t, election.Troupe, address, path)
	}
	onEach(t, map[string]pair{
		"kazoo that was not told":                    {locked(lock.New), maker{driver: kazooDriver, client: "kazoo", recipe: "lock"}},
		"curator's mutex and a shared lock":          {locked(lock.NewWrite), maker{driver: javaDriver, client: "curator", recipe: "mutex"}},
		"curator's shared lock":                      {locked(lock.NewWrite), maker{driver: javaDriver, client: "curator", recipe: "write"}},
		"curator's shared lock and an exclusive one": {locked(lock.New), maker{driver: javaDriver, client: "curator", recipe: "write"}},
		"curator's latch":                            {elected, candidacies["curator's latch"].theirs},
		"kazoo's election":                           {elected, candidacies["kazoo's"].theirs},
	}, func(t *testing.T, _ *session.Session, address, path string, p pair) {
		g := new(guard)
		for _, c := range []contender{p.ours(t, address, path), p.theirs.make(t, address, path)} {
			holds(t, c)
			g.enter(c)
		}
		require.Len(t, g.wrong, 1)
	})
}
