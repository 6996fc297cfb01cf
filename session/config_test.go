package session_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	closed := actors.New()
	require.NoError(t, closed.Close(t.Context()))
	good := []string{"a:2181"}
	for _, c := range []struct {
		name    string
		servers []string
		opts    []session.Option
		says    string
	}{
		{"no servers", nil, nil, "servers"},
		{"an empty list", []string{}, nil, "servers"},
		{"an empty address", []string{"a:1", ""}, nil, "servers[1]"},
		{"an address with a space", []string{"a b:1"}, nil, "servers[0]"},
		{"a port that is none", []string{"a:zookeeper"}, nil, "servers[0]"},
		{"a port out of range", []string{"a:65536"}, nil, "servers[0]"},
		{"no host", []string{":2181"}, nil, "servers[0]"},
		{"two ports", []string{"a:1:2"}, nil, "servers[0]"},
		{"half a bracket", []string{"[::1"}, nil, "servers[0]"},
		{"a bad chroot", []string{"a:1/b//c"}, nil, "chroot"},
		{"two chroots", []string{"a:1/b", "c:1/d"}, nil, "chroot"},
		{"a nil option", good, []session.Option{nil}, "opts[0]"},
		{"timeout zero", good, []session.Option{session.WithTimeout(0)}, "WithTimeout"},
		{"timeout negative", good, []session.Option{session.WithTimeout(-time.Second)}, "WithTimeout"},
		{"namespace relative", good, []session.Option{session.WithNamespace("a")}, "WithNamespace"},
		{"namespace with a slash at its end", good, []session.Option{session.WithNamespace("/a/")}, "WithNamespace"},
		{"auth without a scheme", good, []session.Option{session.WithAuth("", []byte("secret"))}, "WithAuth"},
		{"no ACL", good, []session.Option{session.WithACL()}, "WithACL"},
		{"an ACL without permissions", good, []session.Option{session.WithACL(session.ACL{Scheme: "world", ID: "anyone"})}, "WithACL"},
		{"nil TLS", good, []session.Option{session.WithTLS(nil)}, "WithTLS"},
		{"nil dialer", good, []session.Option{session.WithDialer(nil)}, "WithDialer"},
		{"nil logger", good, []session.Option{session.WithLogger(nil)}, "WithLogger"},
		{"nil system", good, []session.Option{session.WithSystem(nil)}, "WithSystem"},
		{"closed system", good, []session.Option{session.WithSystem(closed)}, "WithSystem"},
		{"tick zero", good, []session.Option{session.WithTick(0)}, "WithTick"},
		{"tick too long", good, []session.Option{session.WithTimeout(3 * time.Second), session.WithTick(2 * time.Second)}, "WithTick"},
		{"margin zero", good, []session.Option{session.WithTrustMargin(0)}, "WithTrustMargin"},
		{"margin of the whole timeout", good, []session.Option{session.WithTimeout(time.Second), session.WithTrustMargin(time.Second)}, "WithTrustMargin"},
		{"packet too small", good, []session.Option{session.WithMaxPacket(100)}, "WithMaxPacket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := session.New(c.servers, c.opts...)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestServersWithoutAPort(t *testing.T) {
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
		_, err = s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		require.Subset(w, []string{"127.0.0.1:1", "127.0.0.1:2"}, dialled)
		require.NoError(w, s.Close(w.ctx))
	})
}

func TestSecretsAreNotLogged(t *testing.T) {
	inBubble(t, func(w *world) {
		var log syncBuffer
		s := w.open(session.WithAuth("digest", []byte("user:geheim")),
			session.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		w.srv.Disconnect(id(s))
		synctest.Wait()
		_, err := s.Create(w.ctx, "/mine", nil, session.NodeACL(session.AuthACL(session.PermAll)...))
		require.NoError(w, err)
		require.NoError(w, s.Close(w.ctx))
		require.Contains(w, log.String(), "epoch began")
		require.NotContains(w, log.String(), "geheim")
	})
}
