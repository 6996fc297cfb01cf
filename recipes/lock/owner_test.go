// Whose a contender's znode is: what is written of it in each kind of lock, and who reads it.

package lock_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// whose are the owners that the contenders name, in order, with their data.
func (w *world) whose(l *lock.Lock) (owners []session.Identity, data []string) {
	w.Helper()
	synctest.Wait()
	line, err := l.Contenders(w.Context())
	require.NoError(w, err)
	for _, c := range line {
		owners, data = append(owners, c.Owner), append(data, string(c.Data))
	}
	return owners, data
}

// content is what is in a znode.
func (w *world) content(s *session.Session, path string) string {
	w.Helper()
	data, _, err := s.Get(w.Context(), path)
	require.NoError(w, err)
	return string(data)
}

func TestContendersSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]builder{"lock": (*world).lock, "reader": (*world).reader, "writer": (*world).writer, "semaphore": permits(2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				mine := lock.WithData([]byte("mine"))
				first := build(w, w.Host("a", session.WithIdentity("orders-7")), mine)
				w.held(first)
				second := w.queued(build(w, w.Host("b"), mine))
				w.queued(build(w, w.Host("c", session.WithoutIdentity()), mine))
				host, err := os.Hostname()
				require.NoError(w, err)
				want := session.Identity{Host: host, PID: os.Getpid(), Program: filepath.Base(os.Args[0])}
				named := want
				named.Name = "orders-7"
				owners, data := w.whose(second)
				require.Equal(w, []session.Identity{named, want, {}}, owners)
				require.Equal(w, []string{"mine", "mine", "mine"}, data)

				line, err := first.Contenders(w.Context())
				require.NoError(w, err)
				for _, c := range line { // holders and waiters
					require.NoError(w, lock.Revoke(w.Context(), w.Host("admin").Session, c.Path))
				}
				owners, data = w.whose(second)
				require.Equal(w, []session.Identity{named, want, {}}, owners, "a request to release leaves it")
				require.Equal(w, []string{"unlock\nmine", "unlock\nmine", "unlock\nmine"}, data)
			})
		})
	}
}

// The mark of a semaphore's holder, and the note of a reader that was a writer, come before it.
func TestMarksAndDowngradesKeepWhoseItIs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a", session.WithIdentity("orders-7"))
		lease := w.semaphore(h, 1, lock.WithData([]byte("mine")))
		g := w.held(lease)
		require.Regexp(w, `^held\nby \{.*"name":"orders-7"\}\nmine$`, w.content(h.Session, g.Path()))
		_, err := h.Set(w.Context(), g.Path(), []byte(strings.TrimPrefix(w.content(h.Session, g.Path()), "held\n")), -1)
		require.NoError(w, err)
		synctest.Wait()
		require.Regexp(w, `^held\nby \{.*"name":"orders-7"\}\nmine$`, w.content(h.Session, g.Path()), "and one that is written again")
		require.NoError(w, lease.Close(w.Context()))
		require.NoError(w, h.Delete(w.Context(), path, -1))

		writer := w.writer(h, lock.WithData([]byte("mine")))
		g, err = w.held(writer).Downgrade(w.Context())
		require.NoError(w, err)
		require.Regexp(w, `^placed \d+\nby \{.*"name":"orders-7"\}\nmine$`, w.content(h.Session, g.Path()))
		owners, data := w.whose(writer)
		require.Equal(w, "orders-7", owners[0].Name)
		require.Equal(w, []string{"mine"}, data)
		views := writer.Observe(w.Context())
		require.Equal(w, "orders-7", bubble.Within(w, time.Second, views)[0].Owner.Name)
	})
}

// Others find in their layouts exactly what was given.
func TestLayoutsOfOthersDoNotSayWhoseItIs(t *testing.T) {
	t.Parallel()
	for _, layout := range []lock.Layout{lock.Simple, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper} {
		inBubble(t, func(w *world) {
			h := w.Host("a", session.WithIdentity("orders-7"))
			l := w.lock(h, lock.WithLayout(layout), lock.WithData([]byte("mine")))
			require.Equal(w, "mine", w.content(h.Session, w.held(l).Path()), layout)
			owners, _ := w.whose(l)
			require.Equal(w, []session.Identity{{}}, owners)
		})
	}
}
