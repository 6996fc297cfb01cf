// What New accepts, and which servers it dials; a session connects by itself, its operations wait
// with their context, and a closed one answers at once.

package session_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAnOperationConnectsByItself(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session()
		require.Equal(w, session.Connecting, s.Status().State)
		require.Empty(w, w.srv.Sessions(), "New did I/O")
		require.False(w, w.exists(s, "/nothing"))
		st := s.Status()
		require.Equal(w, session.Connected, st.State)
		require.EqualValues(w, 1, st.Epoch)
		require.NotZero(w, st.SessionID)
		require.NotEmpty(w, st.Server)
	})
}

// Every operation returns promptly when its context ends, also while it is under way.
func TestOperationsWaitWithTheirContext(t *testing.T) {
	leave := func(w *world, s *session.Session) {
		for name, call := range operations(s, "/a") {
			begun := time.Now()
			ctx, cancel := context.WithTimeoutCause(w.ctx, time.Millisecond, errors.New("enough of "+name))
			err := call(ctx)
			require.ErrorContains(w, err, "enough of "+name)
			require.Equal(w, time.Millisecond, time.Since(begun), name)
			cancel()
		}
	}
	inBubble(t, func(w *world) {
		s := w.open()
		heal := w.srv.Partition(id(s))
		leave(w, s)
		heal()
		w.srv.Kill(0)
		s = w.session()
		leave(w, s)
		// B46: what was begun before there is a server goes on when there is one.
		done := bubble.Begin(func() error { return errOf(s.Create(w.ctx, "/late", nil)) })
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
		err := s.Connect(w.within(5 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorIs(w, err, refused)
		require.ErrorContains(w, err, w.srv.Hosts()[0])
	})
}

// B18: a closed session says so at once, whatever is asked.
func TestB18_AClosedSessionAnswersAtOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		waiting := bubble.Begin(func() error {
			remove := w.meets(zktest.DropReply, func(r *zktest.Request) bool { return r.Op == zktest.OpGetData && r.Path == "/" })
			defer remove()
			_, _, err := s.Get(w.ctx, "/")
			return err
		})
		synctest.Wait()
		h := w.client(s).hold(w, 1, "/line")
		require.NoError(w, s.Close(w.ctx))
		require.ErrorIs(w, <-waiting, session.ErrClosed)
		begun := time.Now()
		for name, call := range operations(s, "/a") {
			require.ErrorIs(w, call(w.ctx), session.ErrClosed, name)
		}
		require.ErrorIs(w, s.Connect(w.ctx), session.ErrClosed)
		require.ErrorIs(w, errOf(s.Client("late", func(session.Event) {})), session.ErrClosed)
		_, err := h.Commit(w.ctx, session.DeleteOp("/a", -1))
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

// Open closes what it opened, if that fails: nothing is left.
func TestOpenThatFailsLeavesNothing(t *testing.T) {
	type row struct {
		trouble func(w *world)
		err     error
	}
	each(t, map[string]row{
		"nobody there":            {func(w *world) { w.srv.Kill(0) }, context.DeadlineExceeded},
		"a credential is refused": {(*world).refuseCredentials, session.ErrAuthFailed},
	}, func(w *world, r row) {
		r.trouble(w)
		_, err := session.Open(w.within(5*time.Second), w.srv.Hosts(), session.WithDialer(w.srv.Dialer()), session.WithAuth("digest", []byte("a:secret")))
		require.ErrorIs(w, err, r.err)
		require.NotContains(w, err.Error(), "secret")
		require.Empty(w, w.srv.Sessions())
	})
}

func TestServersNeedNoPort(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"a", "a.b", "127.0.0.1", "::1", "[::1]", "fe80::1%eth0"} {
		s, err := session.New([]string{addr})
		require.NoError(t, err, addr)
		require.NoError(t, s.Close(t.Context()))
	}
}

func TestServersInTheFormOfTheJavaClient(t *testing.T) {
	inBubble(t, func(w *world) {
		var dialled []string
		dial := w.srv.Dialer()
		s, err := session.New([]string{"127.0.0.1:1,127.0.0.1:2/app/x"}, session.WithNamespace("/ns"),
			session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				require.Equal(w, "tcp", network)
				dialled = append(dialled, addr)
				return dial(ctx, network, addr)
			}))
		require.NoError(w, err)
		require.Equal(w, "/app/x/ns/a", s.Path("/a"))
		require.Equal(w, "/app/x/ns", s.Path("/"))
		for path, want := range map[string]string{"/app/x/ns": "/", "/app/x/ns/a": "/a", "/app/x/nsa": "", "/b": ""} {
			got, ok := s.Relative(path)
			require.Equal(w, want, got)
			require.Equal(w, want != "", ok)
		}
		require.Empty(w, dialled, "New did I/O")
		w.create(s, "/a", nil)
		require.Subset(w, []string{"127.0.0.1:1", "127.0.0.1:2"}, dialled)
		require.NoError(w, s.Close(w.ctx))
	})
}

// secured is a server that is talked to over TLS: its address, and what its clients trust.
func secured(t *testing.T) (addr string, roots *x509.CertPool) {
	t.Helper()
	issuer := httptest.NewTLSServer(nil) // for its certificate alone
	issuer.Close()
	roots = x509.NewCertPool()
	roots.AddCert(issuer.Certificate())
	server, err := zkserver.New(zkserver.Config{Listen: func(_ context.Context, network, address string) (net.Listener, error) {
		return tls.Listen(network, address, issuer.TLS)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	addr, err = server.Front(0).Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	return addr, roots
}

// A server that cannot be verified is not talked to.
func TestASessionOverTLSVerifiesTheServer(t *testing.T) {
	t.Parallel()
	addr, roots := secured(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := session.Open(ctx, []string{addr}, session.WithTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	require.NoError(t, err)
	require.NoError(t, s.EnsurePath(ctx, "/secret"))
	require.NoError(t, s.Close(ctx))
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, errOf(session.Open(ctx, []string{addr}, session.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12}))), context.DeadlineExceeded)
}

// A credential is not even seen where somebody prints a session.
func TestASessionThatIsPrintedKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	s, err := session.New([]string{"a:1"}, session.WithAuth("digest", []byte("me:hunter2")))
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context())) // so that nothing changes while it is printed
	for _, form := range []string{"%v", "%+v", "%#v"} {
		said := fmt.Sprintf(form, s)
		require.NotContains(t, said, "hunter2")
		require.NotContains(t, said, "109 101 58", "me: as bytes")
		require.NotContains(t, said, "0x6d, 0x65, 0x3a")
	}
}
