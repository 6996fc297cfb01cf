package zktest

import (
	"context"
	"fmt"
	"net"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// TB is what [Start] needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is an in-process ZooKeeper, or several that share one tree. All its methods are safe for concurrent use.
type Server struct {
	inner *zkserver.Server
	fatal func(format string, args ...any) // ends the test; without one it panics
}

// New makes a server. It uses no socket and no goroutine until a client connects. The caller closes it.
func New(opts ...Option) (*Server, error) {
	cfg := zkserver.Config{Journal: 1 << 16}
	for _, o := range opts {
		o(&cfg)
	}
	inner, err := zkserver.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{inner: inner, fatal: func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }}, nil
}

// Start makes a server that is closed at the end of the test.
func Start(t TB, opts ...Option) *Server {
	t.Helper()
	s, err := New(opts...)
	if err != nil {
		t.Fatalf("zktest: %v", err)
	}
	s.fatal = t.Fatalf
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Close drops all clients and ends every goroutine of the server before it returns. It may be called more than once.
func (s *Server) Close() error { return s.inner.Close() }

// Servers are the TCP addresses, on 127.0.0.1. The sockets are opened by the first call: a test inside testing/synctest, where sockets don't work,
// uses [Server.Hosts] and [Server.Dialer] instead. If the machine has no port left the test fails (without a test: it panics).
func (s *Server) Servers() []string {
	all := make([]string, s.inner.Fronts())
	for i := range all {
		address, err := s.inner.Front(i).Listen(context.Background(), "127.0.0.1:0") // binding to loopback doesn't wait
		if err != nil {
			s.fatal("zktest: %v", err)
		}
		all[i] = address
	}
	return all
}

// Hosts are the addresses that [Server.Dialer] knows, without a socket behind them.
func (s *Server) Hosts() []string {
	all := make([]string, s.inner.Fronts())
	for i := range all {
		all[i] = s.inner.Front(i).Name()
	}
	return all
}

// Dialer connects in memory, also inside testing/synctest: to the addresses of [Server.Hosts] and [Server.Servers], and, if there is just one server,
// to any other address as well.
func (s *Server) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.inner.Dial
}
