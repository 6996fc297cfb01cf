// Revoke and Break, for each kind and wherever the one who asks is connected.

package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B76: a revocation is told once, whatever the kind, also when it was written before the grant or
// after a release. It is written in front of the znode's data, where the mark of a semaphore's
// holder stays.
func TestB76_Revoke(t *testing.T) {
	t.Parallel()
	data := lock.WithData([]byte("mine"))
	for name, kind := range map[string]struct {
		one, rival builder
		data       string // of a holder that is asked
	}{
		"exclusive": {(*world).lock, (*world).lock, "unlock\nmine"},
		"read":      {(*world).reader, (*world).writer, "unlock\nmine"},
		"write":     {(*world).writer, (*world).reader, "unlock\nmine"},
		"lease":     {permits(2), permits(3), "unlock\nheld\nmine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				admin := w.Host("admin").Session
				a, b := kind.one(w, w.Host("a"), data), kind.rival(w, w.Host("b"))
				for range 3 {
					g := w.held(b)
					w.queued(a)
					line, err := b.Contenders(w.Context())
					require.NoError(w, err)
					require.NoError(w, lock.Revoke(w.Context(), admin, line[1].Path), "before the grant")
					require.NoError(w, g.Release(w.Context()))
					won := bubble.Within(w, time.Second, a.Acquired())
					require.Equal(w, line[1].Path, won.Path())
					bubble.Within(w, time.Second, won.Revoked())
					require.NoError(w, a.Release(w.Context()))
					require.ErrorIs(w, lock.Revoke(w.Context(), admin, won.Path()), session.ErrNoNode)

					again := w.held(a)
					bubble.Never(w, again.Revoked(), "nobody asked this one")
					require.NoError(w, lock.Revoke(w.Context(), admin, again.Path()))
					bubble.Within(w, time.Second, again.Revoked())
					require.True(w, again.Valid(), "it is a request")
					data, stat, err := admin.Get(w.Context(), again.Path())
					require.NoError(w, err)
					marks, body, _ := strings.Cut(string(data), "by {")
					_, body, _ = strings.Cut(body, "}\n")
					require.Equal(w, kind.data, marks+body)
					require.NotEqual(w, kind.data, string(data), "whose it is stays between them")
					require.NoError(w, lock.Revoke(w.Context(), admin, again.Path()))
					after, _, err := admin.Exists(w.Context(), again.Path())
					require.NoError(w, err)
					require.Equal(w, stat.Version, after.Version, "it is asked once")
					began := time.Now()
					require.NoError(w, lock.Break(w.Context(), admin, again.Path(), 2*time.Second))
					require.Equal(w, 2*time.Second, time.Since(began))
					bubble.Within(w, time.Second, again.Done())
					require.ErrorIs(w, again.Err(), session.ErrDeleted)
				}
			})
		})
	}
}

// What is written between the read and the write of Revoke stays.
func TestRevokeKeepsWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin, other, l := w.Host("admin"), w.Host("b"), w.lock(w.Host("a"), lock.WithData([]byte("mine")))
		g := w.held(l)
		w.Kth(admin.Session, 2, zktest.Delay(time.Second)) // its write
		asked := bubble.Begin(func() error { return lock.Revoke(w.Context(), admin.Session, g.Path()) })
		time.Sleep(time.Second / 2)
		data := w.content(other.Session, g.Path())
		require.True(w, strings.HasSuffix(data, "mine"), "it is not asked yet")
		_, err := other.Set(w.Context(), g.Path(), []byte(data+" anew"), -1)
		require.NoError(w, err)
		require.NoError(w, bubble.Within(w, time.Minute, asked))
		require.Equal(w, "unlock\n"+data+" anew", w.content(other.Session, g.Path()))
		bubble.Within(w, time.Second, g.Revoked())
	})
}

func permits(weight int) builder {
	return func(w *world, h *bubble.Host, opts ...lock.Option) *lock.Lock {
		return w.semaphore(h, 3, append(opts, lock.WithWeight(weight))...)
	}
}

// Break waits for the holder, as long as it is told, and is no error where the znode is gone, or
// the reply is lost.
func TestBreak(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin, l := w.Host("admin"), w.lock(w.Host("a"))
		polite := w.held(l)
		released := bubble.Begin(func() error {
			<-polite.Revoked()
			time.Sleep(time.Second)
			return polite.Release(w.Context())
		})
		began := time.Now()
		require.NoError(w, lock.Break(w.Context(), admin.Session, polite.Path(), 5*time.Second))
		require.Equal(w, unwatched+time.Second, time.Since(began))
		require.NoError(w, lock.Break(w.Context(), admin.Session, polite.Path(), 5*time.Second), "gone is no error")
		require.NoError(w, bubble.Within(w, time.Second, released)) // who breaks may know of the end before the holder does

		g := w.held(l)
		defer w.deaf(admin, zktest.CutAfter)()
		require.NoError(w, lock.Break(w.Context(), admin.Session, g.Path(), time.Second))
		bubble.Within(w, time.Second, g.Done())
	})
}

// B75: one whose server lags behind can name a contender that its server has not heard of. A
// leader, which is the second of two here, does not catch up at a sync.
func TestB75_WhatIsAskedOfALaggingServerIsUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
				l, admin := w.lock(w.HostOn("a", server(1-lagging))), w.HostOn("b", server(lagging))
				w.Server.Lag(lagging, 5)
				watcher := w.lock(admin)
				stand := func(n int) {
					line, err := watcher.Contenders(w.Context())
					require.NoError(w, err)
					require.True(w, len(line) == n || name == "the leader") // who only looks is told what the leader knows
				}
				g := w.held(l)
				stand(1)
				require.NoError(w, lock.Revoke(w.Context(), admin.Session, g.Path()))
				bubble.Within(w, time.Second, g.Revoked())
				require.NoError(w, g.Release(w.Context()))
				stand(0)

				g = w.held(l)
				require.NoError(w, lock.Break(w.Context(), admin.Session, g.Path(), 0))
				bubble.Within(w, time.Second, g.Done())
				require.ErrorIs(w, g.Err(), session.ErrDeleted)
				require.ErrorIs(w, lock.Revoke(w.Context(), admin.Session, g.Path()), session.ErrNoNode)
			}, zktest.WithServers(2))
		})
	}
}
