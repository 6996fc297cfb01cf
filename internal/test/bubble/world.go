package bubble

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// limit is the virtual time after which a test counts as hung. The runtime would not notice that,
// since sessions go on pinging.
const limit = 7 * 24 * time.Hour

// World is a test in virtual time: a server in memory, and the clients on it.
type World struct {
	*testing.T
	Server *zktest.Server

	// System is the actor system of all sessions here; the first one that needs it makes it.
	System func() *actors.System
}

// Run runs a test in virtual time, on a server with these options. Sessions and the server are
// closed when it ends, and the test fails if they do not end then.
func Run(t *testing.T, test func(w *World), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{T: t, Server: zktest.Start(t, opts...)}
		t.Cleanup(func() { // sessions have been closed by then: cleanups run last in, first out
			require.NoError(t, w.Server.Close())
			synctest.Wait()
		})
		w.System = sync.OnceValue(func() *actors.System {
			system, _ := actors.New()
			t.Cleanup(func() { _ = system.Close(Minute(t)) })
			return system
		})
		endless := time.AfterFunc(limit, func() {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			panic(fmt.Sprintf("%s has not ended within %v\n%s\n%s", t.Name(), limit, w.Server.Dump(), stacks))
		})
		t.Cleanup(func() { endless.Stop() })
		defer unexpected(w)
		test(w)
	})
}

// unexpected fails the test for an error that it panicked with. A test may do that for a call that
// has to succeed, as must functions do.
func unexpected(t testing.TB) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		panic(p)
	case error:
		t.Fatalf("%v\n%s", p, debug.Stack())
	default:
		panic(p)
	}
}

// EachRow runs a test for each row of a table, in a bubble of its own.
func EachRow[R any](t *testing.T, rows map[string]R, test func(w *World, row R), opts ...zktest.Option) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, func(w *World) { test(w, row) }, opts...)
		})
	}
}

// Brisk are options of a server that expires sessions of a few seconds soon after their time, with
// more options behind them.
func Brisk(opts ...zktest.Option) []zktest.Option {
	return append([]zktest.Option{zktest.WithTick(500 * time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute)}, opts...)
}

// Unconnected is a session that has not been connected yet.
func (w *World) Unconnected(opts ...session.Option) *session.Session {
	w.Helper()
	return w.new(w.Server.Hosts(), opts)
}

// Session is a connected session.
func (w *World) Session(opts ...session.Option) *session.Session {
	w.Helper()
	return w.connected(w.Server.Hosts(), opts)
}

// SessionOn is Session for one that knows only one of the servers.
func (w *World) SessionOn(server int, opts ...session.Option) *session.Session {
	w.Helper()
	return w.connected(w.Server.Hosts()[server:server+1], opts)
}

func (w *World) connected(servers []string, opts []session.Option) *session.Session {
	w.Helper()
	s := w.new(servers, opts)
	require.NoError(w, s.Connect(Minute(w)))
	return s
}

func (w *World) new(servers []string, opts []session.Option) *session.Session {
	w.Helper()
	s, err := session.New(servers, append([]session.Option{session.WithDialer(w.Server.Dialer()), session.WithSystem(w.System())}, opts...)...)
	require.NoError(w, err)
	w.Cleanup(func() { _ = s.Close(Minute(w)) }) // after a fault it may be unable to end its session
	return s
}

// Host is a machine with one session on it.
type Host struct {
	*session.Session
	Machine zktest.Host
}

// Host connects a session of six seconds from a machine of this name.
func (w *World) Host(name string, opts ...session.Option) *Host {
	w.Helper()
	return w.HostOn(name, w.Server.Hosts(), opts...)
}

// HostOn is Host for a session that knows only some of the servers.
func (w *World) HostOn(name string, servers []string, opts ...session.Option) *Host {
	w.Helper()
	machine := w.Server.Host(name)
	opts = append([]session.Option{session.WithDialer(machine.Dialer()), session.WithTimeout(6 * time.Second)}, opts...)
	return &Host{w.connected(servers, opts), machine}
}

// Die is kill -9: nothing of the host is sent any more, and its session is left to expire.
func (h *Host) Die() {
	h.Machine.Partition()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.Close(ctx)
}

// state is the server's state, for the message of a test that fails.
func (w *World) state() string { return w.Server.Dump() }

// Watches is how many watches a session has on the server when everything has settled.
func (w *World) Watches(s *session.Session) int {
	w.Helper()
	synctest.Wait()
	info, found := w.Server.Session(s.Status().SessionID)
	require.True(w, found)
	return info.Watches
}
