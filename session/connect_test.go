// New does no I/O, a session connects by itself, its operations wait with their context, and a
// closed one answers at once; what is said while there is no connection. Helpers: helper_test.go.

package session_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	inBubble(t, func(w *harness) {
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
	leave := func(w *harness, s *session.Session) {
		for name, call := range operations(s, "/a") {
			begun := time.Now()
			ctx, cancel := context.WithTimeoutCause(w.ctx, time.Millisecond, errors.New("enough of "+name))
			err := call(ctx)
			require.ErrorContains(w, err, "enough of "+name)
			require.Equal(w, time.Millisecond, time.Since(begun), name)
			cancel()
		}
	}
	inBubble(t, func(w *harness) {
		s := w.open()
		heal := w.srv.Partition(id(s))
		leave(w, s)
		heal()
		w.srv.Kill(0)
		s = w.session()
		leave(w, s)
		// B46: a request that was made before a server runs is carried out when one does.
		done := bubble.Begin(func() error { return errOf(s.Create(w.ctx, "/late", nil)) })
		time.Sleep(time.Hour)
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-done)
		require.EqualValues(w, 1, s.Status().Epoch)
	})
}

// B18: a closed session says so at once to every request.
func TestB18_AClosedSessionAnswersAtOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		waiting := bubble.Begin(func() error {
			remove := w.meets(zktest.DropReply, func(r *zktest.Request) bool { return r.Op == zktest.OpGetData && r.Path == "/" })
			defer remove()
			_, _, err := s.Get(w.ctx, "/")
			return err
		})
		synctest.Wait()
		h := w.client(s).hold(w, 1, "/queue")
		require.NoError(w, s.Close(w.ctx))
		require.ErrorIs(w, <-waiting, session.ErrClosed)
		begun := time.Now()
		for name, call := range operations(s, "/a") {
			require.ErrorIs(w, call(w.ctx), session.ErrClosed, name)
		}
		require.ErrorIs(w, s.Connect(w.ctx), session.ErrClosed)
		require.ErrorIs(w, errOf(s.Client("late", func(session.ClientEvent) {})), session.ErrClosed)
		_, err := h.Commit(w.ctx, session.DeleteOp("/a", -1))
		isAll(w, err, session.ErrLost, session.ErrClosed)
		bubble.Closed(w, s.WatchData(w.ctx, "/a"))
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
		trouble func(w *harness)
		err     error
	}
	each(t, map[string]row{
		"no server is there":      {func(w *harness) { w.srv.Kill(0) }, context.DeadlineExceeded},
		"a credential is refused": {(*harness).refuseCredentials, session.ErrAuthFailed},
	}, func(w *harness, r row) {
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
	inBubble(t, func(w *harness) {
		var mu sync.Mutex // attempts may overlap
		dialled := map[string]bool{}
		networks := map[string]bool{}
		dial := w.srv.Dialer()
		s, err := session.New([]string{"127.0.0.1:1,127.0.0.1:2/app/x"}, session.WithNamespace("/ns"),
			session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				mu.Lock()
				dialled[addr], networks[network] = true, true
				mu.Unlock()
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
		require.NoError(w, s.Close(w.ctx)) // no dialer runs any more
		require.Subset(w, []string{"127.0.0.1:1", "127.0.0.1:2"}, slices.Collect(maps.Keys(dialled)))
		require.Equal(w, map[string]bool{"tcp": true}, networks)
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

// A credential is not seen where a program prints a session.
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

// A server that hangs takes connections and answers nothing, so that attempts last for minutes: the
// log tells every thirty seconds that there still is no connection, and what the attempt that is
// under way has seen.
func TestAServerThatHangsIsToldLikeOneThatIsDead(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s := w.open(log.warnings())
		log.reads(w)
		w.srv.Stop(0)
		time.Sleep(200 * time.Second)
		const still = `WARN msg="still no connection to ZooKeeper" epoch=1 %s for=`
		const silent = `s servers="192.0.2.1:2181: no answer for `
		log.reads(w,
			`WARN msg="no connection to ZooKeeper" epoch=1 %s server=192.0.2.1:2181 cause="no answer for 1\.\d+s since the connect request.*"`,
			still+`3\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`1m\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`1m3\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`2m\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`2m3\d\.\d+`+silent+`2m\S+s since the connect request"`,
			still+`3m\d\.\d+`+silent+`(2m\S+|3m0)s since the connect request"`,
		)
		w.srv.Continue(0)
		time.Sleep(time.Minute)
		require.Equal(w, session.Connected, s.Status().State)
		log.lines()
		time.Sleep(time.Hour)
		log.reads(w)
	})
}

// A wait that ends by its context says that there was no connection, for how long, and why. So does
// the status, until there is one again, and with it why the epoch before has ended.
func TestAWaitWithoutAConnectionSaysSo(t *testing.T) {
	const down = `no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused`
	inBubble(t, func(w *harness) {
		s := w.open()
		w.srv.Expire(id(s))
		time.Sleep(time.Second)
		require.EqualError(w, s.Status().Cause, session.ErrExpired.Error())
		w.srv.Kill(0)
		cause := errors.New("the shift is over")
		ctx, cancel := context.WithTimeoutCause(w.ctx, 40*time.Second, cause)
		defer cancel()
		calls := make(map[string]<-chan error)
		for name, call := range operations(s, "/a") {
			calls[name] = bubble.Begin(func() error { return call(ctx) })
		}
		for name, done := range calls {
			err := <-done
			require.ErrorIs(w, err, cause, name)
			require.Regexp(w, ": "+down+": the shift is over$", err.Error(), name)
		}
		was := s.Status()
		require.Regexp(w, "^"+down+"; before that: the ZooKeeper session has expired$", was.Cause.Error())
		require.ErrorIs(w, was.Cause, session.ErrExpired)
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, s.Connect(w.ctx))
		require.EqualError(w, s.Status().Cause, session.ErrExpired.Error())
		time.Sleep(time.Second) // requests of those calls are answered late: not during the next call
		ctx, cancel = context.WithTimeoutCause(w.ctx, time.Second, cause)
		defer cancel()
		defer w.meets(zktest.DropRequest, func(r *zktest.Request) bool { return r.Op == zktest.OpGetData })()
		require.EqualError(w, errOf(s.Get(ctx, "/a")), "get /a: the shift is over", "there was a connection")
	})
}

// An attempt that exceeds its own limit is not reported as a caller's context that has ended.
func TestAnOutageIsNoEndOfAContext(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.session(session.WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, context.DeadlineExceeded }))
		ctx, cancel := context.WithCancel(w.ctx)
		time.AfterFunc(time.Minute, cancel)
		err := s.Connect(ctx)
		require.ErrorIs(w, err, context.Canceled)
		require.NotErrorIs(w, err, context.DeadlineExceeded)
	})
}

// A close that has to wait for a connection logs that at once. If none comes, its error names the
// lack of a connection first, then that the session was not closed.
func TestACloseInAnOutageSaysWhatItWaitsFor(t *testing.T) {
	type row struct {
		within time.Duration
		upTo   string // how long it waits: no longer than the session lives, 10 s after the connection was lost a second ago
		err    string
	}
	each(t, map[string]row{
		"less than the session lives": {2 * time.Second, "2s", `close: no connection to ZooKeeper for 3(\.\d)?s: 192.0.2.1:2181: connection refused: not closed within 2s: .*`},
		"longer":                      {time.Minute, "9s", `close: no connection to ZooKeeper for 10(\.\d)?s: 192.0.2.1:2181: connection refused: .* left to expire: .*`},
	}, func(w *harness, r row) {
		var log journal
		s := w.open(log.warnings())
		w.srv.Kill(0)
		time.Sleep(time.Second)
		log.lines()
		done := bubble.Begin(func() error { return session.CloseWithin(s, r.within) })
		log.reads(w, `WARN msg="waiting for a connection, to close the ZooKeeper session" up_to=`+r.upTo+` cause="no connection to ZooKeeper for 1s: 192.0.2.1:2181: connection refused"`)
		require.Regexp(w, "^"+r.err+"$", (<-done).Error())
		time.Sleep(time.Minute)
	})
}

// A line of the log, and an error, names a server once, whatever the dialer's errors repeat; and an
// error names all servers, with what is wrong with each.
func TestAnOutageNamesEachServerOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s := w.session(log.logger())
		for i := range w.srv.Hosts() {
			w.srv.Kill(i)
		}
		err := s.Connect(w.within(40 * time.Second))
		require.Regexp(w, `^connect: no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused; 192.0.2.2:2181: connection refused: context deadline exceeded$`, err.Error())
		require.Regexp(w, `^no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused; 192.0.2.2:2181: connection refused$`, s.Status().Cause.Error())
		require.ErrorIs(w, err, syscall.ECONNREFUSED)
		require.Contains(w, log.String(), `server=192.0.2.`)
		for line := range strings.Lines(log.String()) {
			for _, host := range w.srv.Hosts() {
				require.LessOrEqual(w, strings.Count(line, host), 1, line)
			}
		}
	}, zktest.WithServers(2))
}
