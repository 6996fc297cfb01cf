package zktest

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// TB is the part of testing.TB that [Start] and [Server.Znodes] need.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// untested takes the place of a test for a server of [New]: it panics.
type untested struct{}

func (untested) Helper()                           {}
func (untested) Cleanup(func())                    {}
func (untested) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Server is an in-process ZooKeeper, or several that share one tree. All its methods are safe for
// concurrent use.
type Server struct {
	inner *zkserver.Server
	test  TB
	shown sync.Map // by name, the failed tests that have logged the state
}

// New creates a server. It uses no socket and no goroutine until a client connects. The caller
// closes it.
func New(opts ...Option) (*Server, error) {
	cfg := config{Journal: 1 << 16}
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("option %d of %d is nil", i+1, len(opts))
		}
		if err := o(&cfg); err != nil {
			return nil, err
		}
	}
	if text := os.Getenv(seedVariable); cfg.Seed == 0 && text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", seedVariable, err)
		}
		cfg.Seed = seed
	}
	if version := os.Getenv(versionVariable); cfg.Version == "" && version != "" {
		if !slices.Contains(Versions(), version) {
			return nil, fmt.Errorf("%s: %q is not one of %s", versionVariable, version, strings.Join(Versions(), ", "))
		}
		cfg.Version = version
	}
	if len(cfg.Addresses) > 0 && inBubble() {
		return nil, fmt.Errorf("WithAddress in %s", noSockets)
	}
	inner, err := zkserver.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Server{inner: inner, test: untested{}}, nil
}

// The environment variables that [WithSeed] and [WithVersion] tell of.
const (
	seedVariable    = "ZKTEST_SEED"
	versionVariable = "ZKTEST_VERSION"
)

// Seed is the seed of the server's random choices: see [WithSeed].
func (s *Server) Seed() uint64 { return s.inner.Seed() }

// Start creates a server that is closed at the end of the test. If the test has failed by then, the
// server's seed and its [Server.Dump], at most 32 KB, are logged; with [Server.Znodes] or package
// zksession, as they were before the session was closed.
func Start(t TB, opts ...Option) *Server {
	t.Helper()
	s, err := New(opts...)
	if err != nil {
		t.Fatalf("zktest.Start: %v", err)
	}
	s.test = t
	t.Cleanup(func() { _ = s.Close() })
	showIfFailed(s, t)
	return s
}

// showIfFailed logs the server's state when a test ends that has failed, once a test. Cleanups run
// in reverse order: what is registered late sees what is still open.
func showIfFailed(s *Server, t TB) {
	if f, ok := t.(interface {
		Name() string
		Failed() bool
		Logf(format string, args ...any)
	}); ok {
		t.Cleanup(func() {
			if !f.Failed() {
				return
			}
			if _, again := s.shown.LoadOrStore(f.Name(), true); !again {
				f.Logf("zktest: %s=%d repeats what was drawn at random; the state of the server:\n%s", seedVariable, s.Seed(), shownOf(s))
			}
		})
	}
}

// shownOf is the server's Dump, cut off where it would drown a log.
func shownOf(s *Server) string {
	const most = 32 << 10
	all := s.Dump()
	if len(all) <= most {
		return all
	}
	return fmt.Sprintf("%s…\nand %d bytes more", strings.ToValidUTF8(all[:most], ""), len(all)-most)
}

// Close drops all clients and ends every goroutine of the server before it returns. It may be
// called more than once.
func (s *Server) Close() error { return s.inner.Close() }

// Servers are the TCP addresses, on 127.0.0.1. The first call opens the sockets. If the machine has
// no free port the test fails (without a test, Servers panics). So it does in a testing/synctest
// bubble, where sockets don't work: use [Server.Hosts] and [Server.Dialer], or package zksession.
func (s *Server) Servers() []string {
	if inBubble() {
		s.test.Fatalf("zktest: Server.Servers in %s", noSockets)
	}
	all := make([]string, s.inner.Fronts())
	for i := range all {
		address, err := s.inner.Front(i).Listen(context.Background(), "127.0.0.1:0") // binding to loopback doesn't wait
		if err != nil {
			s.test.Fatalf("zktest: %v", err)
		}
		all[i] = address
	}
	return all
}

// noSockets is what to use in a bubble, where a goroutine that waits for a socket stops the clock.
const noSockets = "a testing/synctest bubble, where sockets hang: use Server.Hosts with Server.Dialer, or zksession.Open"

// inBubble tells whether the caller runs in a testing/synctest bubble. Only the head of a stack
// shows that: "goroutine 8 [running, synctest bubble 3]:".
func inBubble() bool {
	head := make([]byte, 64)
	line, _, _ := strings.Cut(string(head[:runtime.Stack(head, false)]), "\n")
	return strings.Contains(line, "synctest bubble")
}

// Hosts are the addresses that [Server.Dialer] knows, without a socket behind them.
func (s *Server) Hosts() []string {
	all := make([]string, s.inner.Fronts())
	for i := range all {
		all[i] = s.inner.Front(i).Name()
	}
	return all
}

// Dialer connects in memory, also inside testing/synctest: to the addresses of [Server.Hosts] and
// [Server.Servers], and, if there is just one server, to any other address as well.
func (s *Server) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.inner.Dialer("")
}

// DialTimeout is [Server.Dialer] with the signature that go-zookeeper needs:
// zk.Connect(server.Hosts(), timeout, zk.WithDialer(server.DialTimeout)).
func (s *Server) DialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	return dialTimeout(s.Dialer(), network, addr, timeout)
}

func dialTimeout(dial func(ctx context.Context, network, addr string) (net.Conn, error), network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout) // the caller has none
	defer cancel()
	return dial(ctx, network, addr)
}
