package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// world is a test with a server in memory and virtual time, or with a real one.
type world struct {
	*testing.T
	srv *zktest.Server // nil: a real one
	ctx context.Context

	scripting sync.Mutex // held while an interceptor judges, so that the test may change what it goes by
}

// intercept lets f judge every request; what f goes by is changed with script.
func (w *world) intercept(f func(r *zktest.Request) zktest.Verdict) (remove func()) {
	return w.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		w.scripting.Lock()
		defer w.scripting.Unlock()
		return f(r)
	})
}

func (w *world) script(change func()) {
	w.scripting.Lock()
	defer w.scripting.Unlock()
	change()
}

// inBubble runs a test with virtual time. Every session that it opens is closed at the end, and
// every goroutine has to be gone then.
func inBubble(t *testing.T, test func(w *world), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	inBubbleHere(t, test, opts...)
}

// inBubbleHere is inBubble for tests that run several, one after the other.
func inBubbleHere(t *testing.T, test func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(b *bubble.World) {
		ctx, cancel := context.WithCancel(context.Background())
		b.Cleanup(cancel) // when the sessions have been closed
		test(&world{T: b.T, srv: b.Server, ctx: ctx})
	}, opts...)
}

// session makes a session that is closed at the end of the test.
func (w *world) session(opts ...session.Option) *session.Session {
	w.Helper()
	var servers []string
	if w.srv == nil {
		servers = real.e.Servers()
	} else {
		servers = w.srv.Hosts()
		opts = append([]session.Option{session.WithDialer(w.srv.Dialer())}, opts...)
	}
	s, err := session.New(servers, opts...)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Close(ctx) // whether the server could be told depends on what the test did to it
	})
	return s
}

// open makes a session and connects it.
func (w *world) open(opts ...session.Option) *session.Session {
	w.Helper()
	s := w.session(opts...)
	require.NoError(w, s.Connect(w.ctx))
	return s
}

// id is the number of the present ZooKeeper session.
func id(s *session.Session) int64 { return s.Status().SessionID }

// client is a client that writes down what it is told.
type client struct {
	*session.Client
	mu     sync.Mutex
	events []session.Event
	times  []time.Time
}

func (w *world) client(s *session.Session) *client {
	w.Helper()
	t := &client{}
	var err error
	t.Client, err = s.Client("test", t.take)
	require.NoError(w, err)
	return t
}

func (t *client) take(n session.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, n)
	t.times = append(t.times, time.Now())
}

// settle waits until nothing goes on any more. A real server tells nobody when that is.
func (w *world) settle() {
	if w.srv != nil {
		synctest.Wait()
	}
}

// told is what it was told since it was last asked for, in short. In a bubble only.
func (t *client) told() []string {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	var short []string
	for _, n := range t.events {
		short = append(short, brief(n))
	}
	t.events, t.times = nil, nil
	return short
}

// at is when it was told something of this type first.
func at[N session.Event](t *client) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, n := range t.events {
		if _, ok := n.(N); ok {
			return t.times[i]
		}
	}
	return time.Time{}
}

func brief(n session.Event) string {
	switch n := n.(type) {
	case session.EpochBegan:
		if n.Trusted {
			return fmt.Sprint("began ", n.Epoch)
		}
		return fmt.Sprint("began ", n.Epoch, " untrusted")
	case session.EpochEnded:
		return fmt.Sprint("ended ", n.Epoch, ": ", n.Cause)
	case session.Disconnected:
		return "disconnected"
	case session.Reconnected:
		return "reconnected"
	case session.TrustEnded:
		return "trust ended"
	case session.TrustGained:
		return "trust gained"
	case session.SessionEnded:
		return fmt.Sprint("session ended: ", n.Cause)
	case session.Fired:
		return fmt.Sprint("fired ", n.Type, " ", n.Path)
	}
	return fmt.Sprintf("%#v", n)
}

// join puts a contender into a line and waits for it.
func (t *client) join(w *world, epoch uint64, j session.Join) session.Joined {
	w.Helper()
	return wait(w, func(done func(session.Joined)) { t.Join(epoch, j, done) })
}

func (t *client) read(w *world, epoch uint64, path string, watch bool) session.Seen {
	w.Helper()
	return wait(w, func(done func(session.Seen)) { t.Read(epoch, path, watch, done) })
}

func (t *client) list(w *world, epoch uint64, path string, watch bool) session.Listed {
	w.Helper()
	return wait(w, func(done func(session.Listed)) { t.List(epoch, path, watch, done) })
}

func (t *client) remove(w *world, epoch uint64, path string) {
	w.Helper()
	require.NoError(w, wait(w, func(done func(error)) { t.Remove(epoch, path, done) }))
}

// hold joins a line and holds it.
func (t *client) hold(w *world, epoch uint64, parent string) *session.Hold {
	w.Helper()
	j := t.join(w, epoch, session.Join{Parent: parent, Name: "lock-"})
	require.NoError(w, j.Err)
	seen := t.read(w, epoch, j.Path, true)
	require.True(w, seen.Exists)
	h, err := t.Hold(epoch, j.Path, seen.Stat.Czxid, func(error) {})
	require.NoError(w, err)
	return h
}

// eventually waits for something that a real server may take its time for.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	w.settle()
	if w.srv != nil {
		require.True(w, holds(), what)
		return
	}
	require.Eventually(w, holds, 20*time.Second, 5*time.Millisecond, what)
}

// wait asks something and waits for the answer; it fails if there is none in a minute.
func wait[A any](t testing.TB, ask func(done func(A))) A {
	t.Helper()
	answers := make(chan A, 2)
	ask(func(a A) { answers <- a })
	select {
	case a := <-answers:
		return a
	case <-time.After(time.Minute):
		require.Fail(t, "no answer")
	}
	panic("unreachable")
}

// requests are the journal's, but for pings and handshakes, in short.
func (w *world) requests() []string {
	var ops []string
	for _, r := range w.srv.Journal() {
		if r.Op != zktest.OpPing && r.Op != zktest.OpConnect {
			ops = append(ops, strings.TrimSpace(r.Op.String()+" "+r.Path))
		}
	}
	w.srv.ClearJournal()
	return ops
}

// ephemerals are those of a ZooKeeper session.
func (w *world) ephemerals(id int64) []string {
	info, _ := w.srv.Session(id)
	return info.Ephemeral
}
