package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What goes ahead of a request, since a znode above is missing, is given up like the request itself
// when servers hang up at it: the session does not lose its connection for ever.
func TestAParentAtWhichServersHangUpIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(w *world, s *session.Session) error{
		"joining": func(w *world, s *session.Session) error {
			return w.client(s).join(w, 1, session.Join{Parent: "/bad/line", Name: "lock-"}).Err
		},
		"ensuring": func(w *world, s *session.Session) error {
			t := w.client(s)
			return wait(w, func(done func(error)) { t.Ensure(1, "/bad/line", false, nil, done) })
		},
		"ensuring a path": func(w *world, s *session.Session) error { return s.EnsurePath(w.ctx, "/bad/line") },
		"creating": func(w *world, s *session.Session) error {
			_, err := s.Create(w.ctx, "/bad/a", nil, session.Parents())
			return err
		},
		"creating, protected": func(w *world, s *session.Session) error {
			_, err := s.Create(w.ctx, "/bad/a", nil, session.Parents(), session.Protected())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.isGivenUp(w.open(session.WithRetry(session.RetryTimes(8))), "/bad", ask)
			})
		})
	}
}

// So is the namespace's own znode.
func TestANamespaceAtWhichServersHangUpIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(w *world, s *session.Session) error{
		"creating": func(w *world, s *session.Session) error {
			_, err := s.Create(w.ctx, "/a", nil)
			return err
		},
		"a transaction": func(w *world, s *session.Session) error {
			_, err := s.Multi(w.ctx, session.CreateOp("/a", nil))
			return err
		},
		"reading": func(w *world, s *session.Session) error {
			_, _, err := s.Children(w.ctx, "/")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.isGivenUp(w.open(session.WithNamespace("/bad"), session.WithRetry(session.RetryTimes(8))), "/bad", ask)
			})
		})
	}
}

// isGivenUp has the servers hang up whenever a znode is to be created, and sees that what needs it
// ends, and is asked no more.
func (w *world) isGivenUp(s *session.Session, bad string, ask func(w *world, s *session.Session) error) {
	w.Helper()
	times := w.hangsUp(func(r *zktest.Request) bool {
		return r.Path == bad && strings.HasPrefix(r.Op.String(), "create")
	})
	done := bubble.Begin(func() error { return ask(w, s) })
	select {
	case err := <-done:
		require.ErrorIs(w, err, session.ErrHungUp)
	case <-time.After(10 * time.Second):
		require.Failf(w, "it is asked for ever", "%d times so far", times())
	}
	require.LessOrEqual(w, times(), 10, "those of containers among them")
	before := times()
	time.Sleep(time.Hour)
	require.Equal(w, before, times(), "it is still asked")
	require.EqualValues(w, 1, s.Status().Epoch)
	require.Equal(w, session.Connected, s.Status().State)
}
