package session_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAnOperationConnectsByItself(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session()
		require.Equal(w, session.Connecting, s.Status().State)
		require.Empty(w, w.srv.Sessions(), "New did I/O")
		_, exists, err := s.Exists(w.ctx, "/nothing")
		require.NoError(w, err)
		require.False(w, exists)
		st := s.Status()
		require.Equal(w, session.Connected, st.State)
		require.EqualValues(w, 1, st.Epoch)
		require.NotZero(w, st.SessionID)
		require.NotEmpty(w, st.Server)
	})
}

func TestOperationsWaitWithTheirContext(t *testing.T) {
	inBubble(t, func(w *world) {
		w.srv.Kill(0)
		s := w.session()
		for name, call := range operations(s) {
			begun := time.Now()
			ctx, cancel := context.WithTimeoutCause(w.ctx, 3*time.Second, errors.New("enough of "+name))
			err := call(ctx)
			require.EqualError(w, errors.Unwrap(err), "enough of "+name)
			require.Equal(w, 3*time.Second, time.Since(begun), name)
			cancel()
		}
		// B46: what was begun before there is a server goes on when there is one.
		done := bubble.Begin(func() error { _, err := s.Create(w.ctx, "/late", nil); return err })
		time.Sleep(time.Hour)
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-done)
		require.EqualValues(w, 1, s.Status().Epoch)
	})
}

// TestConnectSaysWhyThereIsNoConnection: an operator reads the servers and the reason, not only
// that time is up.
func TestConnectSaysWhyThereIsNoConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		refused := errors.New("refused on purpose")
		s := w.session(session.WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, refused }))
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
		defer cancel()
		err := s.Connect(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorIs(w, err, refused)
		require.ErrorContains(w, err, w.srv.Hosts()[0])
	})
}

func TestOpenClosesWhatItOpened(t *testing.T) {
	inBubble(t, func(w *world) {
		w.srv.Kill(0)
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
		defer cancel()
		_, err := session.Open(ctx, w.srv.Hosts(), session.WithDialer(w.srv.Dialer()))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		synctest.Wait()
	})
}

// B18: a closed session says so at once, whatever is asked.
func TestB18_AClosedSessionAnswersAtOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		waiting := bubble.Begin(func() error {
			remove := w.intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpGetData && r.Path == "/" {
					return zktest.DropReply
				}
				return zktest.Pass
			})
			defer remove()
			_, _, err := s.Get(w.ctx, "/")
			return err
		})
		synctest.Wait()
		h := w.client(s).hold(w, 1, "/line")
		require.NoError(w, s.Close(w.ctx))
		require.ErrorIs(w, <-waiting, session.ErrClosed)
		begun := time.Now()
		for name, call := range operations(s) {
			require.ErrorIs(w, call(w.ctx), session.ErrClosed, name)
		}
		require.ErrorIs(w, s.Connect(w.ctx), session.ErrClosed)
		_, err := s.Client("late", func(session.Event) {})
		require.ErrorIs(w, err, session.ErrClosed)
		_, err = h.Commit(w.ctx, session.DeleteOp("/a", -1))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrClosed)
		_, open := <-s.WatchData(w.ctx, "/a")
		require.False(w, open)
		require.Equal(w, begun, time.Now())
		<-s.Done()
		require.ErrorIs(w, s.Err(), session.ErrClosed)
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, session.Closed, s.Status().State)
	})
}

// operations are all that a session can be asked for.
func operations(s *session.Session) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"create":    func(ctx context.Context) error { _, err := s.Create(ctx, "/a", nil); return err },
		"protected": func(ctx context.Context) error { _, err := s.Create(ctx, "/a", nil, session.Protected()); return err },
		"get":       func(ctx context.Context) error { _, _, err := s.Get(ctx, "/a"); return err },
		"exists":    func(ctx context.Context) error { _, _, err := s.Exists(ctx, "/a"); return err },
		"children":  func(ctx context.Context) error { _, _, err := s.Children(ctx, "/a"); return err },
		"set":       func(ctx context.Context) error { _, err := s.Set(ctx, "/a", nil, -1); return err },
		"delete":    func(ctx context.Context) error { return s.Delete(ctx, "/a", -1) },
		"acl":       func(ctx context.Context) error { _, _, err := s.ACL(ctx, "/a"); return err },
		"set acl": func(ctx context.Context) error {
			_, err := s.SetACL(ctx, "/a", session.AnyoneACL(session.PermAll), -1)
			return err
		},
		"delete all": func(ctx context.Context) error { return s.DeleteAll(ctx, "/a") },
		"ensure":     func(ctx context.Context) error { return s.EnsurePath(ctx, "/a") },
		"sync":       func(ctx context.Context) error { return s.Sync(ctx, "/a") },
		"quorum":     func(ctx context.Context) error { return s.SyncQuorum(ctx, "/a") },
		"multi":      func(ctx context.Context) error { _, err := s.Multi(ctx, session.CheckOp("/a", -1)); return err },
	}
}

// Every operation returns promptly when its context ends, also while it is under way.
func TestOperationsLeaveWithTheirContext(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		heal := w.srv.Partition(id(s))
		for name, call := range operations(s) {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(w.ctx, time.Millisecond)
			err := call(ctx)
			require.ErrorIs(w, err, context.DeadlineExceeded, name)
			require.Equal(w, time.Millisecond, time.Since(begun), name)
			cancel()
		}
		heal()
	})
}

func TestReconnectionKeepsTheEpoch(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		first := s.Status()
		for i := range 3 {
			w.srv.Kill(i)
			_, _, err := s.Exists(w.ctx, "/")
			require.NoError(w, err)
			require.NoError(w, w.srv.Restart(i))
		}
		now := s.Status()
		require.Equal(w, first.SessionID, now.SessionID)
		require.EqualValues(w, 1, now.Epoch)
	}, zktest.WithServers(3))
}

func TestDialerGetsTheName(t *testing.T) {
	inBubble(t, func(w *world) {
		dial := w.srv.Dialer()
		s, err := session.New([]string{"zk.example"}, session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			require.Equal(w, "tcp", network)
			require.Equal(w, "zk.example:2181", addr)
			return dial(ctx, network, addr)
		}))
		require.NoError(w, err)
		require.NoError(w, s.Connect(w.ctx))
		require.NoError(w, s.Close(w.ctx))
	})
}
