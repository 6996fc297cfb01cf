package barrier_test

// What constructors and calls refuse, and what is logged of passages that are forgotten.

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := w.Host("a").Session
		for _, bad := range []struct {
			says string
			s    *session.Session
			path string
			n    int
			opts []barrier.Option
		}{
			{says: "s: nil", path: path, n: 1},
			{says: "path", s: s, path: "x", n: 1},
			{says: "path", s: s, path: "/", n: 1},
			{says: "path", s: s, path: "/a/", n: 1},
			{says: "parties: 0", s: s, path: path},
			{says: "parties: -1", s: s, path: path, n: -1},
			{says: "parties: 1001", s: s, path: path, n: 1001},
			{says: "opts[0]", s: s, path: path, n: 1, opts: []barrier.Option{nil}},
			{says: "id: empty", s: s, path: path, n: 1, opts: []barrier.Option{barrier.WithID("")}},
			{says: "id: contains a slash", s: s, path: path, n: 1, opts: []barrier.Option{barrier.WithID("a/b")}},
			{says: "WithWarnAfter", s: s, path: path, n: 2, opts: []barrier.Option{barrier.WithWarnAfter(-1)}},
			{says: "id: ", s: s, path: path, n: 1, opts: []barrier.Option{barrier.WithID("a\nb")}},
		} {
			_, err := barrier.NewDouble(bad.s, bad.path, bad.n, bad.opts...)
			require.ErrorContains(w, err, bad.says)
			if bad.n == 1 {
				_, err = barrier.New(bad.s, bad.path, bad.opts...)
				require.ErrorContains(w, err, bad.says)
			}
		}
		_, exists, err := s.Exists(w.Context(), path)
		require.NoError(w, err)
		require.False(w, exists)
	})
}

// Constructors do no I/O, and a closed session is an error at once.
func TestConstructorsDoNoIO(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		dials := 0
		s, err := session.New(w.Server.Hosts(), session.WithDialer(func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, errors.New("not now")
		}))
		require.NoError(w, err)
		d, err := barrier.NewDouble(s, path, 2)
		require.NoError(w, err)
		time.Sleep(time.Minute)
		require.Zero(w, dials)
		require.NoError(w, d.Err())
		require.NoError(w, s.Close(w.Context()))
		require.ErrorIs(w, d.Err(), session.ErrClosed)
		_, err = d.Enter(w.Context())
		require.ErrorIs(w, err, session.ErrClosed)
		require.ErrorIs(w, d.Break(w.Context()), session.ErrClosed)
		_, err = barrier.NewDouble(s, path, 2)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

// Whoever may not write is told so.
func TestARefusalIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		d := w.double(h, 2)
		_, err = d.Enter(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		d.Arrive()
		bubble.Within(w, time.Second, d.Done())
		require.ErrorIs(w, d.Err(), session.ErrNoAuth)
	})
}

// A passage that nobody receives, or that is never left, is logged, with the place where it
// was asked for: the others wait for it.
func TestAForgottenPassageIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		log := new(bubble.Log)
		d := w.double(w.Host("a", log.Option()), 1, barrier.WithWarnAfter(3*time.Second))
		at := bubble.After(1)
		d.Arrive()
		time.Sleep(3*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(w, log.Warnings(path))
		time.Sleep(2 * time.Minute)
		require.Len(w, log.Warnings(path), 3, "after three seconds, ten, and a minute")
		require.Contains(w, log.Warnings(path)[0], "received")
		require.Contains(w, log.Warnings(path)[0], at)
		leave(w, <-d.Entered())

		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(11 * time.Minute)
		require.Len(w, log.Warnings(path), 7, "the fourth after ten minutes")
		require.Contains(w, log.Warnings(path)[3], "a party has not departed, and the others go no further")
		leave(w, p)
	})
}
