package twopc_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/pay/transfers"

// world is a server in memory and virtual time, and the clients on it.
type world struct {
	*testing.T
	server *zktest.Server
	system *actors.System // of all its processes: one costs megabytes
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts = append([]zktest.Option{zktest.WithTick(500 * time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute)}, opts...)
		w := &world{t, zktest.Start(t, opts...), actors.New()}
		w.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = w.system.Close(ctx)
		})
		f(w)
	})
}

// host is a machine with one session on it.
type host struct {
	*session.Session
	machine zktest.Host
	die     func() // as kill -9: nothing of it is sent any more, and ZooKeeper lets its session expire
}

func (w *world) host(name string, opts ...session.Option) *host {
	w.Helper()
	machine := w.server.Host(name)
	opts = append([]session.Option{session.WithDialer(machine.Dialer()), session.WithTimeout(6 * time.Second), session.WithSystem(w.system)}, opts...)
	s, err := session.Open(w.Context(), w.server.Hosts(), opts...)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
	return &host{Session: s, machine: machine, die: func() {
		machine.Partition()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ctx)
	}}
}

func (w *world) coordinator(h *host, opts ...twopc.Option) *twopc.Coordinator {
	w.Helper()
	c, err := twopc.NewCoordinator(h.Session, path, opts...)
	require.NoError(w, err)
	return c
}

// site registers one and waits for that.
func (w *world) site(h *host, name string) *twopc.Site {
	w.Helper()
	s, err := twopc.NewSite(h.Session, path, name)
	require.NoError(w, err)
	synctest.Wait()
	return s
}

// nodes are the znodes below the path but the containers and the presences.
func (w *world) nodes() []string {
	var all []string
	for line := range strings.Lines(w.server.Dump()) {
		node, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, below := strings.CutPrefix(node, path+"/")
		switch parts := strings.Split(rest, "/"); {
		case !below:
		case parts[0] == "tx" && len(parts) > 1, parts[0] == "inbox" && len(parts) > 2:
			all = append(all, node)
		}
	}
	return all
}

// within receives in at most d of virtual time.
func within[T any](w *world, d time.Duration, c <-chan T) T {
	w.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		w.Fatalf("nothing within %v\n%s", d, w.server.Dump())
		panic("unreachable")
	}
}

// never fails if the channel delivers while everything settles.
func never[T any](w *world, c <-chan T, what string) {
	w.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		w.Fatalf("%s: %v", what, v)
	default:
	}
}

// ended waits for all applications, which end with their sessions. One of them may wait for a
// decision, or for an end, that never comes.
func (w *world) ended(all *sync.WaitGroup) {
	w.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	within(w, 5*time.Minute, done)
}

// closed fails unless the channel has closed when everything has settled, and has nothing more to
// tell.
func closed[T any](w *world, c <-chan T) {
	w.Helper()
	synctest.Wait()
	select {
	case v, open := <-c:
		require.False(w, open, "%v", v)
	default:
		w.Fatal("it has not closed")
	}
}
