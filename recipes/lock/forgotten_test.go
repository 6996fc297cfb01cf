// What is logged of a grant that was forgotten, and what a waiter in this process is told of it.

package lock_test

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
)

// A grant that is held for long is logged if others wait for it, with their number and the place
// where it was asked for: after ten seconds, a minute, and every ten minutes. Whoever waits for
// it in this process is told.
func TestAForgottenGrantIsLoggedAndNamed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		l := w.lock(w.Host("a", log.Option()))
		at := bubble.After(1)
		_, err := l.Lock(w.Context())
		require.NoError(w, err)
		time.Sleep(5 * time.Minute)
		require.Empty(w, log.Warnings(path), "nobody waits")
		w.queued(w.lock(w.Host("b")))
		time.Sleep(5*time.Minute - time.Second)
		require.Empty(w, log.Warnings(path), "it is not looked at yet")
		time.Sleep(2 * time.Second)
		require.Len(w, log.Warnings(path), 1)
		for _, part := range []string{"held for long, and others wait", "recipe=lock", "waiting=1", "for=10m0s", at} {
			require.Contains(w, log.Warnings(path)[0], part)
		}
		for name, other := range map[string]*lock.Lock{"another lock": w.lock(w.Host("c")), "the same": l} {
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			_, err = other.Lock(ctx)
			cancel()
			require.ErrorIs(w, err, context.DeadlineExceeded, name)
			require.Regexp(w, `held in this process for 10m\S*, asked for at \S*`+regexp.QuoteMeta(at)+`$`, err.Error(), name)
		}
	})
}

// A grant of a standing intent is meant to last: that it is held for long is logged only where
// WithWarnAfter says how long that is.
func TestAStandingGrantIsLoggedOnlyWhereThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]lock.Option{"as usual": nil, "with WithWarnAfter": {lock.WithWarnAfter(10 * time.Second)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				var log bubble.Log
				l := w.lock(w.Host("a", log.Option()), opts...)
				l.Acquire()
				<-l.Acquired()
				w.queued(w.lock(w.Host("b")))
				time.Sleep(time.Hour)
				if opts == nil {
					require.Empty(w, log.Warnings(path))
					return
				}
				require.Contains(w, log.Warnings(path)[0], "held for long, and others wait")
			})
		})
	}
}

// So is one that waits to be received. WithWarnAfter sets the first time.
func TestAGrantThatNobodyReceivesIsLoggedAndNamed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		l := w.lock(w.Host("a", log.Option()), lock.WithWarnAfter(3*time.Second))
		at := bubble.After(1)
		l.Acquire()
		synctest.Wait() // it is the first in line
		w.queued(w.lock(w.Host("b")))
		began := time.Now()
		for n, next := range []time.Duration{3 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute} {
			time.Sleep(time.Until(began.Add(next - time.Second)))
			require.Len(w, log.Warnings(path), n)
			time.Sleep(2 * time.Second)
			require.Len(w, log.Warnings(path), n+1)
		}
		require.Contains(w, log.Warnings(path)[0], "not received")
		require.Contains(w, log.Warnings(path)[0], at)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := w.lock(w.Host("c")).Lock(ctx)
		require.ErrorContains(w, err, "not received")
		require.ErrorContains(w, err, at)
		<-l.Acquired()
	})
}

// What was given up, or ends with a function, or is meant to be held, is not logged; and whose wait
// ends when nobody here holds is told nothing.
func TestNothingIsLoggedOfWhatIsNotForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		h := w.Host("a", log.Option())
		g := w.held(w.lock(h))
		time.Sleep(9 * time.Second)
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, w.lock(h).Do(w.Context(), func(context.Context, *lock.Grant) error {
			time.Sleep(time.Minute)
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			_, err := w.lock(w.Host("b")).Lock(ctx)
			require.ErrorContains(w, err, "forgotten_test.go")
			return nil
		}))
		g = w.held(w.lock(h, lock.WithWarnAfter(0)))
		time.Sleep(time.Minute)
		require.NoError(w, g.Release(w.Context()))
		time.Sleep(time.Minute)
		require.Empty(w, log.Warnings(path))

		w.Server.Stop(0)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := w.lock(h).Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotContains(w, err.Error(), "in this process")
	})
}

// What is won again after a loss ends the warning of that, at Info; what is won after a release is
// not worth that.
func TestAGrantAfterALossIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		const granted = `level=INFO msg="a lock is granted" after=`
		l := w.lock(w.Host("a", log.Option()))
		g := w.granted(l)
		require.NoError(w, g.Release(w.Context()))
		g = w.granted(l)
		require.Zero(w, log.Count("a lock is granted"))
		require.NoError(w, w.Server.Delete(g.Path()))
		g = w.granted(l)
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], "a possession is lost")
		require.Equal(w, 1, log.Count(granted))
		require.NoError(w, g.Release(w.Context()))
		g = w.granted(l)
		require.Equal(w, 1, log.Count("a lock is granted"))

		time.Sleep(2 * time.Second) // the same warning is logged once a second
		other := w.queued(w.lock(w.Host("b")))
		require.NoError(w, w.Server.Delete(g.Path()))
		<-other.Acquired()
		<-g.Done()
		require.NoError(w, l.Release(w.Context()), "the intent goes, and with it the loss")
		require.NoError(w, other.Release(w.Context()))
		w.granted(l)
		require.Len(w, log.Warnings(path), 2)
		require.Equal(w, 1, log.Count("a lock is granted"))
	})
}

// A lock at the path of a queue warns of it, once. The like of a queue below it is none.
func TestAQueueAtThePathOfALockIsAWarning(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		h := w.Host("a", log.Option())
		for _, name := range []string{"items", "claims"} {
			require.NoError(w, w.Server.Create(path+"/"+name, nil))
		}
		l := w.lock(h)
		require.NoError(w, w.held(l).Release(w.Context()))
		require.Empty(w, log.Warnings(path))
		q, err := queue.New(h.Session, path)
		require.NoError(w, err)
		_, err = q.Put(w.Context(), nil)
		require.NoError(w, err)
		for range 2 {
			require.NoError(w, w.held(l).Release(w.Context()))
		}
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], `"a queue has the same path" recipe=lock`)
	})
}
