// Forgotten grants: the warnings in the log, and the errors of waits in the same process.

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

// A grant that is held for long is logged if others wait for it, with their number and the call
// site: after ten seconds, a minute, and every ten minutes. The error of a wait in this process has
// that too.
func TestAForgottenGrantIsLoggedAndNamed(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log bubble.Log
		l := newLock(w.Host("a", log.Option()))
		at := bubble.After(1)
		must(l.Lock(w.Context()))
		time.Sleep(5 * time.Minute)
		require.Empty(w, log.Warnings(path), "nobody waits")
		queued(newLock(w.Host("b")))
		time.Sleep(5*time.Minute - time.Second)
		require.Empty(w, log.Warnings(path), "it is not looked at yet")
		time.Sleep(2 * time.Second)
		require.Len(w, log.Warnings(path), 1)
		for _, part := range []string{"held for long, and others wait", "recipe=lock", "waiting=1", "for=10m0s", at} {
			require.Contains(w, log.Warnings(path)[0], part)
		}
		for name, other := range map[string]*lock.Lock{"another lock": newLock(w.Host("c")), "the same": l} {
			require.Regexp(w, `held in this process for 10m\S*, asked for at \S*`+regexp.QuoteMeta(at)+`$`, gaveUp(w, other, time.Second).Error(), name)
		}
	})
}

// A grant of a standing intent is meant to last: it is logged only with WithWarnAfter.
func TestAStandingGrantIsLoggedOnlyWhereThatWasAskedFor(t *testing.T) {
	eachRow(t, map[string][]lock.Option{"without": nil, "with": {lock.WithWarnAfter(10 * time.Second)}}, func(w *bubble.World, opts []lock.Option) {
		var log bubble.Log
		granted(w, newLock(w.Host("a", log.Option()), opts...))
		queued(newLock(w.Host("b")))
		time.Sleep(time.Hour)
		require.Equal(w, opts != nil, log.Count("held for long, and others wait") > 0)
		require.Equal(w, opts != nil, len(log.Warnings(path)) > 0)
	})
}

// So is a grant that waits to be received. WithWarnAfter sets the first time.
func TestAGrantThatNobodyReceivesIsLoggedAndNamed(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log bubble.Log
		l := newLock(w.Host("a", log.Option()), lock.WithWarnAfter(3*time.Second))
		at := bubble.After(1)
		l.Acquire()
		synctest.Wait() // it is the first in line
		queued(newLock(w.Host("b")))
		began := time.Now()
		for n, next := range []time.Duration{3 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute} {
			time.Sleep(time.Until(began.Add(next - time.Second)))
			require.Len(w, log.Warnings(path), n)
			time.Sleep(2 * time.Second)
			require.Len(w, log.Warnings(path), n+1)
		}
		require.Contains(w, log.Warnings(path)[0], "not received")
		require.Contains(w, log.Warnings(path)[0], at)
		err := gaveUp(w, newLock(w.Host("c")), time.Second)
		require.ErrorContains(w, err, "not received")
		require.ErrorContains(w, err, at)
		<-l.Acquired()
	})
}

// Grants that were released, end with a function, or have no WithWarnAfter are not logged. The
// error of a wait says nothing of grants in this process if there are none.
func TestNothingIsLoggedOfWhatIsNotForgotten(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log bubble.Log
		h := w.Host("a", log.Option())
		g := held(w, newLock(h))
		time.Sleep(9 * time.Second)
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, newLock(h).Do(w.Context(), func(context.Context, *lock.Grant) error {
			time.Sleep(time.Minute)
			require.ErrorContains(w, gaveUp(w, newLock(w.Host("b")), time.Second), "forgotten_test.go")
			return nil
		}))
		g = held(w, newLock(h, lock.WithWarnAfter(0)))
		time.Sleep(time.Minute)
		require.NoError(w, g.Release(w.Context()))
		time.Sleep(time.Minute)
		require.Empty(w, log.Warnings(path))

		w.Server.Stop(0)
		require.NotContains(w, gaveUp(w, newLock(h), time.Second).Error(), "in this process")
	})
}

// A grant after a loss is logged at Info, as the end of that warning. A grant after a release is
// not.
func TestAGrantAfterALossIsLogged(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log bubble.Log
		const said = `level=INFO msg="a lock is granted" after=`
		l := newLock(w.Host("a", log.Option()))
		g := granted(w, l)
		require.NoError(w, g.Release(w.Context()))
		g = granted(w, l)
		require.Zero(w, log.Count("a lock is granted"))
		require.NoError(w, w.Server.Delete(g.Path()))
		g = granted(w, l)
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], "a possession is lost")
		require.Equal(w, 1, log.Count(said))
		require.NoError(w, g.Release(w.Context()))
		g = granted(w, l)
		require.Equal(w, 1, log.Count("a lock is granted"))

		time.Sleep(2 * time.Second) // the same warning is logged once a second
		other := queued(newLock(w.Host("b")))
		require.NoError(w, w.Server.Delete(g.Path()))
		<-other.Acquired()
		<-g.Done()
		require.NoError(w, l.Release(w.Context()), "the intent goes, and with it the loss")
		require.NoError(w, other.Release(w.Context()))
		granted(w, l)
		require.Len(w, log.Warnings(path), 2)
		require.Equal(w, 1, log.Count("a lock is granted"))
	})
}

// A lock at the path of a queue warns of that, once. Znodes with the names of a queue's are no
// queue.
func TestAQueueAtThePathOfALockIsAWarning(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log bubble.Log
		h := w.Host("a", log.Option())
		for _, name := range []string{"items", "claims"} {
			require.NoError(w, w.Server.Create(path+"/"+name, nil))
		}
		l := newLock(h)
		require.NoError(w, held(w, l).Release(w.Context()))
		require.Empty(w, log.Warnings(path))
		q := must(queue.New(h.Session, path))
		must(q.Put(w.Context(), nil))
		for range 2 {
			require.NoError(w, held(w, l).Release(w.Context()))
		}
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], `"a queue has the same path" recipe=lock`)
	})
}
