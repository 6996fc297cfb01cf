// The whole life of a lock, of shared ones and of a semaphore: embedded and on real servers. The
// other kinds meet real servers in the histories of test/losses.

package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

var lives = bubble.Suite{{Name: "exclusive", Test: exclusiveLife}, {Name: "shared", Test: sharedLife}, {Name: "semaphore", Test: semaphoreLife}}

// B09, B10, B28 and B29 among them.
func TestB09_B10_B28_B29_WholeLives(t *testing.T) { lives.Embedded(t) }

func TestB09_B10_B28_B29_WholeLivesOnRealServers(t *testing.T) {
	tier.Real(t)
	lives.Real(t, "exclusive")
}

// patience bounds waits on real servers, on a busy machine.
const patience = time.Minute

// inQueue states the intent and waits until the lock is in the queue, or held.
func inQueue(c *bubble.Cluster, l *lock.Lock) *lock.Lock {
	c.Helper()
	l.Acquire()
	bubble.Await(c, l.ObserveStatus(bubble.Minute(c)), "in the queue", func(s lock.Status) bool { return s.State == lock.Holding || s.Ahead > 0 })
	return l
}

// waits fails if the lock is granted although everything has settled or, on real servers, although
// the server has answered all earlier requests.
func waits(c *bubble.Cluster, s *session.Session, l *lock.Lock, why string) {
	c.Helper()
	require.NoError(c, s.Sync(bubble.Minute(c), "/"))
	if !c.Real {
		synctest.Wait()
	}
	select {
	case <-l.Acquired():
		c.Fatal(why)
	default:
	}
}

func exclusiveLife(c *bubble.Cluster) {
	var locks []*lock.Lock
	var last int64
	for range 4 {
		locks = append(locks, inQueue(c, must(lock.New(c.Session(), path))))
	}
	for _, l := range locks {
		g := bubble.Within(c, patience, l.Acquired(), "order of arrival")
		require.Greater(c, g.Token(), last)
		require.Same(c, g, l.Grant())
		last = g.Token()
		must(g.Commit(bubble.Minute(c), session.SetOp(path, []byte("x"), -1)))
		require.ErrorIs(c, errOf(locks[0].TryLock(bubble.Minute(c))), lock.ErrHeld)
		require.Equal(c, g.Path(), must(l.Contenders(bubble.Minute(c)))[0].Path)
		require.NoError(c, l.Withdraw(bubble.Minute(c)))
	}
}

// holding tells which of the contenders hold.
func holding(c *bubble.Cluster, l *lock.Lock) (all []bool) {
	for _, contender := range must(l.Contenders(bubble.Minute(c))) {
		all = append(all, contender.Holding)
	}
	return all
}

// Readers hold together, writers alone, in the order of the queue, so that no circle closes (B09,
// kazoo#649). A writer that goes on as a reader keeps its place: the writer behind waits for it,
// the readers come in beside it (B10, CURATOR-276/621).
func sharedLife(c *bubble.Cluster) {
	ctx := bubble.Minute(c)
	s, admin := c.Session(), c.Session()
	read := func(s *session.Session) *lock.Lock { return inQueue(c, must(lock.NewRead(s, path))) }
	write := func(s *session.Session) *lock.Lock { return inQueue(c, must(lock.NewWrite(s, path))) }
	w1 := write(s)
	g := bubble.Within(c, patience, w1.Acquired(), "the first writer")
	require.Equal(c, fence.Exclusive, g.Sequencer().Mode)
	r1, w2, r2 := read(c.Session()), write(c.Session()), read(c.Session())
	waits(c, s, r1, "a reader beside a writer")

	down := must(g.Downgrade(ctx))
	require.Equal(c, g.Token(), down.Token())
	require.NotEqual(c, g.Path(), down.Path())
	require.ErrorIs(c, g.Err(), session.ErrReleased)
	require.Equal(c, fence.Shared, down.Sequencer().Mode)
	require.NoError(c, fence.Check(ctx, admin, down.Sequencer()))
	require.ErrorIs(c, fence.Check(ctx, admin, g.Sequencer()), fence.ErrFenced)
	must(down.Commit(ctx, session.SetOp(path, []byte("x"), -1)))
	_, err := g.Commit(ctx, session.SetOp(path, []byte("x"), -1))
	require.ErrorIs(c, err, session.ErrLost)
	bubble.Within(c, patience, r1.Acquired(), "the reader beside the downgraded")
	waits(c, s, w2, "a writer beside readers")
	waits(c, s, r2, "a reader before the writer who came first")
	require.ErrorIs(c, errOf(w1.TryLock(down.Context())), lock.ErrUpgrade, "now it would have to wait for itself")
	first := must(w1.Contenders(ctx))[0]
	require.Equal(c, down.Path(), first.Path)
	require.Equal(c, down.Token(), first.Token, "the token is the writer's")
	require.Equal(c, []bool{true, true, false, false}, holding(c, w1)[:4])

	require.NoError(c, g.Release(ctx), "it was released, and what came of it goes on")
	require.True(c, down.Valid())
	require.NoError(c, down.Release(ctx))
	require.NoError(c, w1.Withdraw(ctx), "it does not queue again")
	waits(c, s, w2, "a writer beside a reader")
	require.NoError(c, r1.Withdraw(ctx))
	second := bubble.Within(c, patience, w2.Acquired(), "the second writer")
	require.Greater(c, second.Token(), g.Token())
	require.NoError(c, by(admin).Revoke(ctx, of(second)))
	bubble.Within(c, patience, second.Revoked(), "revocation")
	require.NoError(c, by(admin).Break(ctx, of(second), 0))
	bubble.Within(c, patience, second.Done(), "breaking")
	require.ErrorIs(c, second.Err(), session.ErrDeleted)
	require.NoError(c, w2.Withdraw(ctx), "it does not queue again")
	third := bubble.Within(c, patience, r2.Acquired(), "the reader behind")
	require.Greater(c, third.Token(), second.Token())
	must(third.Commit(ctx, session.SetOp(path, []byte("x"), -1)))
	w3, began := write(s), time.Now()
	require.NoError(c, r2.Close(ctx))
	require.ErrorIs(c, third.Err(), session.ErrClosed)
	bubble.Within(c, patience, w3.Acquired(), "hand-over by Close")
	require.Less(c, time.Since(began), 5*time.Second, "not after a session timeout")
}

// Three permits of four are granted at once or not at all (B29). Raising the limit wakes contenders
// that then fit; lowering it takes nothing from holders (B28, CURATOR-75).
func semaphoreLife(c *bubble.Cluster) {
	ctx := bubble.Minute(c)
	s, admin := c.Session(), c.Session()
	weighing := func(weight int) *lock.Lock {
		return inQueue(c, must(lock.NewSemaphore(c.Session(), path, 4, lock.WithWeight(weight))))
	}
	a := weighing(3)
	g := bubble.Within(c, patience, a.Acquired(), "three of four")
	require.Equal(c, fence.Shared, g.Sequencer().Mode)
	require.NoError(c, fence.Check(ctx, admin, g.Sequencer()))
	data, stat, err := admin.Get(ctx, path)
	require.NoError(c, err)
	require.Equal(c, "4", string(data))
	require.Zero(c, stat.EphemeralOwner, "a persistent znode, no container")
	b, behind := weighing(3), weighing(1)
	waits(c, s, b, "six of four")
	waits(c, s, behind, "the one behind, though it would fit")
	require.Equal(c, []bool{true, false, false}, holding(c, a))
	require.NoError(c, must(lock.NewSemaphore(admin, path, 1)).SetLimit(ctx, 6))
	second := bubble.Within(c, patience, b.Acquired(), "six of six")
	require.Greater(c, second.Token(), g.Token())
	waits(c, s, behind, "seven of six")
	five := must(lock.NewSemaphore(s, path, 5))
	require.ErrorIs(c, errOf(five.Lock(ctx)), lock.ErrLimit)
	require.NoError(c, must(lock.NewSemaphore(admin, path, 1)).SetLimit(ctx, 4))
	require.Equal(c, []bool{true, true, false}, holding(c, a))
	require.NoError(c, g.Err(), "no holder loses")
	must(g.Commit(ctx, session.SetOp("/", nil, -1)))

	waits(c, s, behind, "seven of four")
	require.NoError(c, a.Close(ctx))
	bubble.Within(c, patience, behind.Acquired(), "its permits")
	require.Equal(c, []bool{true, true}, holding(c, behind))
	d := weighing(1)
	waits(c, s, d, "five of four")
	require.NoError(c, b.Close(ctx))
	bubble.Within(c, patience, d.Acquired(), "two of four")
}

// A crash of the actor is told between the loss that it causes and the grant that follows.
func TestACrashIsAnEvent(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var kinds []session.EventKind
		h := w.Host("a", session.WithEvents(func(_ *session.Session, ev session.Event) {
			if ev.Kind == session.EventGranted || ev.Kind == session.EventLost || ev.Kind == session.EventRestarted {
				kinds = append(kinds, ev.Kind)
			}
		}))
		l := newLock(h)
		g := granted(w, l)
		l.Crash("a bug")
		<-g.Done()
		_ = bubble.Within(w, time.Minute, l.Acquired())
		synctest.Wait()
		require.Equal(w, []session.EventKind{session.EventGranted, session.EventLost, session.EventRestarted, session.EventGranted}, kinds)
	})
}
