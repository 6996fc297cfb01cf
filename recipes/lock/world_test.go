package lock_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/locks/orders"

// world is a server in memory and virtual time, and the clients on it.
type world struct {
	*testing.T
	server *zktest.Server
	system *actors.System // that all sessions share: one each would be half the work of most tests
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts = append([]zktest.Option{zktest.WithTick(500 * time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute)}, opts...)
		system := actors.New()
		t.Cleanup(func() { _ = system.Close(context.Background()) })
		f(&world{t, zktest.Start(t, opts...), system})
	})
}

// host is a machine with one session on it.
type host struct {
	*session.Session
	machine zktest.Host
}

func (w *world) host(name string, opts ...session.Option) *host {
	w.Helper()
	return w.hostOn(name, w.server.Hosts(), opts...)
}

func (w *world) hostOn(name string, servers []string, opts ...session.Option) *host {
	w.Helper()
	machine := w.server.Host(name)
	opts = append([]session.Option{session.WithDialer(machine.Dialer()), session.WithTimeout(6 * time.Second), session.WithSystem(w.system)}, opts...)
	s, err := session.Open(w.Context(), servers, opts...)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Close(ctx)
	})
	return &host{s, machine}
}

func (w *world) lock(h *host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.New(h.Session, path, opts...)
	require.NoError(w, err)
	return l
}

// held takes the lock, which must be free.
func (w *world) held(l *lock.Lock) *lock.Grant {
	w.Helper()
	g, err := l.Lock(w.Context())
	require.NoError(w, err)
	return g
}

// queued states the intent and sees to it that it stands in line.
func (w *world) queued(l *lock.Lock) *lock.Lock {
	w.Helper()
	l.Acquire()
	synctest.Wait()
	return l
}

// granted states the intent and receives what comes of it at once. The intent goes on standing,
// which one of held does not.
func (w *world) granted(l *lock.Lock) *lock.Grant {
	w.Helper()
	l.Acquire()
	return within(w, time.Second, l.Acquired())
}

// nodes counts the contenders in the tree.
func (w *world) nodes() int {
	n := 0
	for line := range strings.Lines(w.server.Dump()) {
		if strings.HasPrefix(line, path+"/_c_") {
			n++
		}
	}
	return n
}

// traffic counts requests, and watch events, since the journal was cleared.
func (w *world) traffic() (requests, events int) {
	for _, r := range w.server.Journal() {
		if r.Op != zktest.OpPing && r.Op != zktest.OpSync {
			requests++
		}
		events += r.Fired
	}
	return requests, events
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

// drained receives whatever comes until the channel closes, which has to be soon.
func drained[T any](w *world, c <-chan T) {
	w.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		case <-limit:
			w.Fatalf("it has not closed\n%s", w.server.Dump())
		}
	}
}

// first receives from whichever of two delivers first, in at most d of virtual time, and tells
// whether that was the second.
func first[T, U any](w *world, d time.Duration, a <-chan T, b <-chan U) (second bool) {
	w.Helper()
	select {
	case <-a:
		return false
	case <-b:
		return true
	case <-time.After(d):
		w.Fatalf("neither within %v\n%s", d, w.server.Dump())
		panic("unreachable")
	}
}

// slowly lets requests take some time, as on a network, so that virtual time passes.
func (w *world) slowly(seed uint64) func(*zktest.Request) zktest.Verdict {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 7))
	return func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		mu.Lock()
		defer mu.Unlock()
		return zktest.Delay(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
	}
}
