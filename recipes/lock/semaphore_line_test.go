package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
)

// B29: two who want three of four. One has them, then the other; nobody has a part.
func TestB29_AllPermitsAtOnceOrNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b, c := w.semaphore(w.Host("a"), 4, lock.WithWeight(3)), w.semaphore(w.Host("b"), 4, lock.WithWeight(3)), w.semaphore(w.Host("c"), 4)
		a.Acquire()
		w.queued(b)
		winner, other := a, b
		if bubble.First(w, time.Minute, a.Acquired(), b.Acquired()) {
			winner, other = b, a
		}
		bubble.Never(w, other.Acquired(), "six of four")
		_, err := c.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld, "the second stands ahead")
		require.NoError(w, winner.Release(w.Context()))
		bubble.Within(w, time.Second, other.Acquired())
		_, err = c.TryLock(w.Context())
		require.NoError(w, err, "the fourth is free")
	})
}

// B30 [kazoo#429]: a try finds what is free, whoever else is being granted at the same moment.
func TestB30_ATryFindsWhatIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const permits = 8
		defer w.Server.Intercept(bubble.Slowly(30))()
		won := make(chan error, permits)
		for i := range permits {
			l := w.semaphore(w.Host(string(rune('a'+i))), permits)
			go func() { _, err := l.TryLock(w.Context()); won <- err }()
		}
		for range permits {
			require.NoError(w, bubble.Within(w, time.Minute, won))
		}
		_, err := w.semaphore(w.Host("last"), permits).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		time.Sleep(time.Second)
		require.Equal(w, permits, w.nodes())
	})
}

func TestExclusiveAndSharedLocksBesideASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s, l := w.semaphore(w.Host("a"), 3), w.lock(w.Host("b"))
		g := w.held(s)
		w.queued(l)
		bubble.Never(w, l.Acquired(), "an exclusive lock beside a permit")
		other := w.queued(w.semaphore(w.Host("c"), 3))
		bubble.Never(w, other.Acquired(), "a permit behind an exclusive lock")
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, l.Acquired())
		bubble.Never(w, other.Acquired(), "a permit beside an exclusive lock")
		require.NoError(w, l.Release(w.Context()))
		bubble.Within(w, time.Second, other.Acquired())
		_, err := s.Lock(w.held(s).Context())
		require.ErrorIs(w, err, lock.ErrDeadlock)
	})
}

// I8: a release wakes the head of the waiters, and with each that is granted his successor; nobody
// else.
func TestI8_AReleasedPermitWakesThoseWhoFit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const permits = 4
		holder := w.held(w.semaphore(w.Host("holder"), permits, lock.WithWeight(permits)))
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c")}
		var line []*lock.Lock
		for i := range 60 {
			line = append(line, w.queued(w.semaphore(hosts[i%3], permits)))
		}
		w.Server.ClearJournal()
		require.NoError(w, holder.Release(w.Context()))
		for _, l := range line[:permits] {
			bubble.Within(w, time.Second, l.Acquired())
		}
		synctest.Wait()
		bubble.Never(w, line[permits].Acquired(), "more than the limit")
		requests, events := w.traffic()
		// Each who is granted: his own watch and the successor's fire by the mark, and the
		// successor is woken. The head's and the releaser's come on top.
		require.LessOrEqual(w, events, 2*permits+3)
		require.LessOrEqual(w, requests, 6*(permits+1), "of sixty who wait")
	})
}

// The uncontended cycle costs five requests at most once the limit is known; one less if it is
// released before the own znode's read was sent.
func TestAnUncontendedPermitIsFiveRequestsAtMost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.semaphore(w.Host("a"), 2)
		require.NoError(w, w.held(l).Release(w.Context()))
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, w.held(l).Release(w.Context()))
		synctest.Wait()
		requests, _ := w.traffic()
		require.LessOrEqual(w, requests, 5, "create and list; the mark; read own; delete")
		require.GreaterOrEqual(w, requests, 4, "without the read")
	})
}
