package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const controller = "/controller"

func (w *world) simple(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.New(h.Session, controller, append(opts, lock.WithLayout(lock.Simple))...)
	require.NoError(w, err)
	return l
}

// Others hold such a path by `create -e`, and so do we: whoever creates it excludes all others.
func TestSimpleExcludesAPlainCreate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		l := w.simple(h, lock.WithData([]byte(`{"brokerid":1}`)))
		_, err := other.Create(w.Context(), controller, []byte(`{"brokerid":0}`), session.Ephemeral())
		require.NoError(w, err)
		_, err = l.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		line, err := l.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, line, 1)
		require.Equal(w, other.Status().SessionID, line[0].SessionID)
		w.queued(l)
		bubble.Never(w, l.Acquired(), "two hold")
		_, err = other.Set(w.Context(), controller, []byte("unlock"), -1) // none of our business
		require.NoError(w, err)
		synctest.Wait()
		bubble.Never(w, l.Acquired(), "two hold")
		require.NoError(w, other.Delete(w.Context(), controller, -1))
		g := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, controller, g.Path())
		_, err = other.Create(w.Context(), controller, nil, session.Ephemeral())
		require.ErrorIs(w, err, session.ErrNodeExists)
		data, stat, err := other.Get(w.Context(), controller)
		require.NoError(w, err)
		require.Equal(w, `{"brokerid":1}`, string(data), "nothing but what the application says")
		require.Equal(w, stat.Czxid, g.Token())
		require.NoError(w, l.Release(w.Context()))
		_, err = other.Create(w.Context(), controller, nil, session.Ephemeral())
		require.NoError(w, err)
	})
}

// A persistent znode in the way is held by nobody, and yet it is in the way.
func TestSimpleWaitsForAPersistentZnodeToo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), controller, nil)
		require.NoError(w, err)
		l := w.simple(h)
		l.Acquire()
		bubble.Never(w, l.Acquired(), "two hold")
		require.NoError(w, h.Delete(w.Context(), controller, -1))
		bubble.Within(w, time.Second, l.Acquired())
	})
}

// The herd, counted: with n who wait, a release costs each of them an event, a create and a read,
// but for the one who gets it.
func TestSimpleWakesAll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const n = 20
		g := w.held(w.simple(w.Host("head")))
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c"), w.Host("d")}
		won := make(chan *lock.Grant, n) // at the end of the test others win too
		for i := range n {
			l := w.simple(hosts[i%len(hosts)])
			l.Acquire()
			go func() { // ends with the test
				select {
				case g := <-l.Acquired():
					won <- g
				case <-l.Done():
				}
			}()
		}
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, g.Release(w.Context()))
		next := bubble.Within(w, time.Second, won)
		require.Greater(w, next.Token(), g.Token())
		bubble.Never(w, won, "two hold")
		ops := map[string]int{}
		for _, r := range w.Server.Journal() {
			ops[r.Op.String()]++
		}
		require.Equal(w, 1, ops["delete"])
		require.Equal(w, n, ops["create2"])
		require.Equal(w, n, ops["getData"], "each has lost and watches again, but for the winner, who reads his own")
	})
}

func TestSimpleAsEveryLock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.simple(h)
		require.NoError(w, l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			_, err := l.Lock(ctx)
			require.ErrorIs(w, err, lock.ErrDeadlock)
			_, err = w.simple(h).TryLock(g.Context())
			require.ErrorIs(w, err, lock.ErrDeadlock)
			return nil
		}))
		places := l.Standing(w.Context())
		require.Equal(w, lock.Standing{}, bubble.Within(w, time.Second, places))
		g := w.held(w.simple(w.Host("b")))
		w.queued(l)
		require.Equal(w, lock.Standing{Phase: lock.Queued, Ahead: 1}, bubble.Within(w, time.Second, places))
		_, err := l.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, l.Acquired())
		synctest.Wait()
		require.Equal(w, lock.Standing{Phase: lock.Held}, bubble.Within(w, time.Second, places))
		require.NoError(w, l.Close(w.Context()))
		require.NotContains(w, w.Server.Dump(), controller)
	})
}

// The holder's end comes before the rival's grant: when trust runs out, while its znode still
// stands.
func TestSimpleEndsWithTrust(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.simple(h)
		g := w.granted(l)
		rival := w.simple(w.Host("b"))
		rival.Acquire()
		time.Sleep(time.Minute)
		heal := h.Machine.Partition()
		bubble.Within(w, time.Minute, g.Done())
		ended := time.Now()
		require.ErrorIs(w, g.Err(), session.ErrUntrusted)
		next := bubble.Within(w, time.Minute, rival.Acquired())
		require.True(w, time.Now().After(ended))
		require.Greater(w, next.Token(), g.Token())
		heal()
		time.Sleep(10 * time.Second)
		bubble.Never(w, l.Acquired(), "two hold")
		require.True(w, next.Valid())
		require.NoError(w, rival.Release(w.Context()))
		again := bubble.Within(w, time.Second, l.Acquired())
		require.Greater(w, again.Token(), next.Token())
	})
}

// Somebody deletes the holder's znode and takes its place, in the same breath: the holder loses,
// and its remains harm nobody.
func TestSimpleIsDisplaced(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		l := w.simple(h)
		g := w.held(l)
		synctest.Wait()
		_, err := other.Multi(w.Context(), session.DeleteOp(controller, -1), session.CreateOp(controller, nil, session.Ephemeral()))
		require.NoError(w, err)
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrLost)
		require.NoError(w, l.Close(w.Context()))
		stat, exists, err := other.Exists(w.Context(), controller)
		require.NoError(w, err)
		require.True(w, exists)
		require.Equal(w, other.Status().SessionID, stat.EphemeralOwner)
	})
}

func TestSimplePanics(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.simple(w.Host("a")), w.simple(w.Host("b"))
		g := w.granted(a)
		a.Crash("a bug")
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrRestarted)
		next := bubble.Within(w, time.Minute, a.Acquired())
		require.Greater(w, next.Token(), g.Token())
		w.queued(b)
		b.Crash(errors.New("another"))
		time.Sleep(time.Second)
		bubble.Never(w, b.Acquired(), "two hold")
		require.NoError(w, a.Release(w.Context()))
		bubble.Within(w, time.Second, b.Acquired())
		require.NoError(w, b.Close(w.Context()))
		require.NotContains(w, w.Server.Dump(), controller)
	})
}

// Whatever is under way when the actor panics: the intent goes on, and nothing is left behind.
func TestSimplePanicsAtAnyMoment(t *testing.T) {
	t.Parallel()
	crashing(t, func(w *world, k int, crash func(h *bubble.Host, l *lock.Lock)) {
		ha := w.Host("a")
		a, b := w.simple(ha), w.simple(w.Host("b"))
		before := w.held(b)
		crash(ha, a)
		a.Acquire()
		time.Sleep(3 * time.Second)
		require.NoError(w, before.Release(w.Context()))
		g := bubble.Within(w, time.Minute, a.Acquired())
		_ = g.Release(w.Context()) // lost, if the panic comes now
		require.NoError(w, a.Release(w.Context()))
		time.Sleep(3 * time.Second)
		require.NoError(w, w.held(b).Release(w.Context()), "k=%d", k)
		require.NoError(w, a.Close(w.Context()))
		require.NotContains(w, w.Server.Dump(), controller, "k=%d", k)
	})
}

func TestSimpleHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 3, func(t *testing.T, seed uint64) {
		inBubble(t, func(w *world) { w.historyUnderFaults(seed, lock.WithLayout(lock.Simple)) })
	})
}

func TestSimpleHistoryOnRealServers(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	historyOnRealServers(t, lock.WithLayout(lock.Simple))
}

// A whole life on a real server, beside somebody who uses `create -e`.
func TestSimpleOnARealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 1)
	s, other := bubble.Open(t, e.Servers()), bubble.Open(t, e.Servers())
	l, err := lock.New(s, controller, lock.WithLayout(lock.Simple))
	require.NoError(t, err)
	_, err = other.Create(t.Context(), controller, nil, session.Ephemeral())
	require.NoError(t, err)
	l.Acquire()
	inLine(t, l)
	require.NoError(t, other.Delete(t.Context(), controller, -1))
	g := soon(t, l.Acquired(), "the first")
	_, err = other.Create(t.Context(), controller, nil, session.Ephemeral())
	require.ErrorIs(t, err, session.ErrNodeExists)
	require.NoError(t, g.Release(t.Context()))
	g = soon(t, l.Acquired(), "again")
	require.NoError(t, other.Delete(t.Context(), controller, -1))
	soon(t, g.Done(), "the end")
	require.ErrorIs(t, g.Err(), session.ErrDeleted)
	require.NoError(t, l.Close(t.Context()))
}

func TestSimpleCannotBeTheRoot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		_, err := lock.New(w.Host("a").Session, "/", lock.WithLayout(lock.Simple))
		require.ErrorIs(w, err, session.ErrInvalidPath)
		require.ErrorContains(w, err, "path")
	})
}

// Under a parent that is gone in the meantime, in a namespace that is not there yet: what is
// missing is made.
func TestSimpleMakesWhatIsAboveIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a", session.WithNamespace("/app"))
		l, err := lock.New(h.Session, "/hbase/master", lock.WithLayout(lock.Simple))
		require.NoError(w, err)
		g := w.held(l)
		require.Equal(w, "/app/hbase/master", g.Sequencer().Path)
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, h.DeleteAll(w.Context(), "/hbase"))
		require.NoError(w, w.held(l).Release(w.Context()))
	})
}
