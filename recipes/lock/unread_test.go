package lock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// onAllVersions runs a test on each version of ZooKeeper that the server knows: since 3.8.4 exists
// is refused where a znode may not be read.
func onAllVersions(t *testing.T, f func(w *world, version string)) {
	t.Helper()
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { f(w, version) }, zktest.WithVersion(version))
		})
	}
}

// secretive are znodes that nobody may read.
func secretive() session.Option {
	return session.WithACL(session.AnyoneACL(session.PermAll &^ session.PermRead)...)
}

// private are znodes that only their session may read, and others of its credential.
func private() []session.Option {
	return []session.Option{session.WithAuth("digest", []byte("bob:hunter2")), session.WithACL(session.AuthACL(session.PermAll)...)}
}

// What may not be read is a contender without data.
func TestContendersThatMayNotBeRead(t *testing.T) {
	onAllVersions(t, func(w *world, _ string) {
		reader := w.Host("reader")
		require.NoError(w, reader.EnsurePath(w.Context(), path))
		views := w.lock(reader).Observe(w.Context())
		secret, open := w.Host("secret", private()...), w.Host("open")
		w.queued(w.lock(open, lock.WithData([]byte("a"))))
		w.queued(w.lock(secret, lock.WithData([]byte("b"))))
		w.queued(w.lock(secret, lock.WithData([]byte("c"))))
		all, err := w.lock(reader).Contenders(w.Context())
		require.NoError(w, err)
		synctest.Wait()
		require.Equal(w, all, bubble.Within(w, time.Second, views))
		require.Len(w, all, 3)
		for i, data := range []string{"a", "", ""} {
			require.Equal(w, data, string(all[i].Data))
			require.Equal(w, i == 0, all[i].Holding, "the first holds")
			require.Equal(w, i > 0, all[i].Unread)
			require.NotEmpty(w, all[i].Path)
		}
	})
}

// A create whose answer was lost is made up for, also where the session may not read what it
// creates: in every layout, on every version.
func TestLostCreateOfWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, layout := range []lock.Layout{lock.Troupe, lock.Simple, lock.GoZooKeeper, lock.Kazoo} {
		t.Run(layout.String(), func(t *testing.T) {
			onAllVersions(t, func(w *world, version string) {
				reader := w.Host("reader")
				parents := path
				if layout == lock.Simple {
					parents = "/locks"
				}
				require.NoError(w, reader.EnsurePath(w.Context(), parents))
				h := w.Host("secret", secretive())
				l := w.lock(h, lock.WithLayout(layout))
				own, cut := h.Status().SessionID, false
				defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.SessionID == own && strings.HasPrefix(r.Path, path) && !cut && (r.Op == zktest.OpCreate || r.Op == zktest.OpCreate2) {
						cut = true
						return zktest.CutAfter
					}
					return zktest.Pass
				})()
				ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
				defer cancel()
				_, err := l.Lock(ctx)
				require.True(w, cut)
				if layout == lock.Simple && version == "3.8.0" {
					require.NoError(w, err, "it can watch its own znode")
					return
				}
				require.ErrorIs(w, err, session.ErrNoAuth, "a holder has to watch its own znode")
				synctest.Wait()
				for _, s := range w.Server.Sessions() {
					require.Empty(w, s.Ephemeral, "what was created was found, and deleted")
				}
			})
		})
	}
}
