// What the tests of this package share, in this order: the harness, which is a test with a server
// in memory and virtual time or with a real one; its sessions; znodes; waits; what befalls
// requests; clients, as recipes have them; the network and the log. The functions that reach into a
// session are in export_test.go. B and I numbers: docs/decisions, 6 and 2.

package session_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestMain(m *testing.M) {
	if os.Getenv(childServers) != "" {
		beChild() // of file_test.go
		return
	}
	tier.Fix()
	goleak.VerifyTestMain(tests{m})
}

// tests stops the real server that they share, if they started one, before goroutines are counted.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer stopReal()
	return t.M.Run()
}

// harness is a test with a server in memory and virtual time, or with a real one.
type harness struct {
	*testing.T
	srv *zktest.Server  // nil: a real one
	ctx context.Context // ends after the sessions

	scripting sync.Mutex // held while an interceptor decides: see script
}

// inBubble runs a test with virtual time. Every session that it opens is closed at the end, and
// every goroutine has to be gone then.
func inBubble(t *testing.T, test func(w *harness), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	inBubbleHere(t, test, opts...)
}

// inBubbleHere is inBubble for tests that run several, one after the other.
func inBubbleHere(t *testing.T, test func(w *harness), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(b *bubble.World) { test(harnessOf(b)) }, opts...)
}

// harnessOf is a harness in a bubble.
func harnessOf(b *bubble.World) *harness {
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel) // when the sessions have been closed
	return &harness{T: b.T, srv: b.Server, ctx: ctx}
}

// each runs a test for each row of a table, in bubbles.
func each[R any](t *testing.T, rows map[string]R, test func(w *harness, row R), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) { inBubble(t, func(w *harness) { test(w, row) }, opts...) })
	}
}

// pairs runs a test for each pair of rows of two tables, in bubbles.
func pairs[A, B any](t *testing.T, as map[string]A, bs map[string]B, test func(w *harness, a A, b B), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	for a, row := range as {
		t.Run(a, func(t *testing.T) { each(t, bs, func(w *harness, other B) { test(w, row, other) }, opts...) })
	}
}

// everywhere runs a test on the server in memory, without and with a namespace, and on a real
// server: all must show the same.
func everywhere(t *testing.T, test func(w *harness, s *session.Session)) {
	t.Parallel()
	for name, opts := range map[string][]session.Option{
		"plain":      nil,
		"namespaced": {session.WithNamespace("/some/where")},
	} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(w *harness) { test(w, w.open(opts...)) }) })
	}
	t.Run("real server", func(t *testing.T) {
		tier.Real(t)
		t.Parallel()
		w := onReal(t)
		test(w, w.open(session.WithNamespace(fmt.Sprintf("/%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), real.runs.Add(1)))))
	})
}

// onReal is a harness on the real server that the tests share.
func onReal(t *testing.T) *harness {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &harness{T: t, ctx: ctx}
	require.NoError(t, real.start())
	return w
}

// real is one server for all tests that need no more.
var real sharedServer

type sharedServer struct {
	runs atomic.Int64 // each has a namespace of its own
	once sync.Once
	e    *ensemble.Ensemble
	err  error
}

func (r *sharedServer) start() error {
	r.once.Do(func() { r.e, r.err = ensemble.New(1) })
	return r.err
}

func stopReal() {
	if real.e != nil {
		real.e.Close()
	}
}

// session makes a session that is closed at the end of the test.
func (w *harness) session(opts ...session.Option) *session.Session {
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
func (w *harness) open(opts ...session.Option) *session.Session {
	w.Helper()
	s := w.session(opts...)
	require.NoError(w, s.Connect(w.ctx))
	return s
}

// openOn opens a session on certain servers.
func (w *harness) openOn(servers []string, opts ...session.Option) *session.Session {
	w.Helper()
	s, err := session.Open(w.ctx, servers, opts...)
	require.NoError(w, err)
	w.Cleanup(func() { _ = s.Close(w.ctx) })
	return s
}

// openAt opens a session on one of the servers in memory alone.
func (w *harness) openAt(i int, opts ...session.Option) *session.Session {
	w.Helper()
	return w.openOn(w.srv.Hosts()[i:i+1], append(opts, session.WithDialer(w.srv.Dialer()))...)
}

// openClient opens a session with a client on it.
func (w *harness) openClient(opts ...session.Option) (*session.Session, *client) {
	w.Helper()
	s := w.open(opts...)
	return s, w.client(s)
}

// holding is a session with a client that holds something.
func (w *harness) holding(opts ...session.Option) (*session.Session, *client, *session.Hold) {
	w.Helper()
	s, t := w.openClient(opts...)
	return s, t, t.hold(w, 1, "/queue")
}

// id is the number of the present ZooKeeper session.
func id(s *session.Session) int64 { return s.Status().SessionID }

// shortTicks let the server expire sessions nearly to the instant.
var shortTicks = []zktest.Option{zktest.WithTick(200 * time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute)}

const timeout = 12 * time.Second // of sessions here: a proof is asked for each two seconds, and then good for six

// steady lets a session with something at stake run until its trust is as good as it gets, and
// stops right after a sync.
func steady(w *harness, s *session.Session) {
	w.Helper()
	time.Sleep(timeout)
	for range int(timeout / time.Millisecond) {
		synctest.Wait()
		if s.Status().TrustedUntil.Equal(time.Now().Add(timeout / 2)) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(w, "no sync", "%v", s.Status())
}

// operations are all that a session can be asked for, of a path.
func operations(s *session.Session, path string) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"create":    func(ctx context.Context) error { return errOf(s.Create(ctx, path, nil)) },
		"protected": func(ctx context.Context) error { return errOf(s.Create(ctx, path, nil, session.Protected())) },
		"get":       func(ctx context.Context) error { return errOf(s.Get(ctx, path)) },
		"exists":    func(ctx context.Context) error { return errOf(s.Exists(ctx, path)) },
		"children":  func(ctx context.Context) error { return errOf(s.Children(ctx, path)) },
		"set":       func(ctx context.Context) error { return errOf(s.Set(ctx, path, nil, -1)) },
		"delete":    func(ctx context.Context) error { return s.Delete(ctx, path, -1) },
		"acl":       func(ctx context.Context) error { return errOf(s.ACL(ctx, path)) },
		"set acl": func(ctx context.Context) error {
			return errOf(s.SetACL(ctx, path, session.AnyoneACL(session.PermAll), -1))
		},
		"delete all": func(ctx context.Context) error { return s.DeleteAll(ctx, path) },
		"ensure":     func(ctx context.Context) error { return s.EnsurePath(ctx, path) },
		"sync":       func(ctx context.Context) error { return s.Sync(ctx, path) },
		"quorum":     func(ctx context.Context) error { return s.SyncQuorum(ctx, path) },
		"multi":      func(ctx context.Context) error { return errOf(s.Multi(ctx, session.CheckOp(path, -1))) },
		"pipeline":   func(ctx context.Context) error { return errOf(s.Pipeline(ctx, session.SetOp(path, nil, -1))) },
	}
}

// errOf is the error that a call returns behind its results.
func errOf(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// isAll fails unless an error is each of these.
func isAll(t testing.TB, err error, all ...error) {
	t.Helper()
	for _, is := range all {
		require.ErrorIs(t, err, is)
	}
}

func (w *harness) create(s *session.Session, path string, data []byte, opts ...session.CreateOption) (made string) {
	w.Helper()
	made, err := s.Create(w.ctx, path, data, opts...)
	require.NoError(w, err)
	return made
}

func (w *harness) write(s *session.Session, path string, data []byte) {
	w.Helper()
	require.NoError(w, errOf(s.Set(w.ctx, path, data, -1)))
}

func (w *harness) children(s *session.Session, path string) []string {
	w.Helper()
	names, _, err := s.Children(w.ctx, path)
	require.NoError(w, err)
	return names
}

// exists tells whether a znode is there, as a session sees it.
func (w *harness) exists(s *session.Session, path string) bool {
	w.Helper()
	_, exists, err := s.Exists(w.ctx, path)
	require.NoError(w, err)
	return exists
}

// serverHas tells whether an ephemeral znode is there, by the server itself.
func (w *harness) serverHas(path string) bool {
	return slices.ContainsFunc(w.srv.Sessions(), func(s zktest.Session) bool { return slices.Contains(s.Ephemeral, path) })
}

// ephemerals are those of a ZooKeeper session.
func (w *harness) ephemerals(id int64) []string {
	info, _ := w.srv.Session(id)
	return info.Ephemeral
}

// within is a context for so long.
func (w *harness) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	w.Cleanup(cancel)
	return ctx
}

// settle waits until nothing goes on any more; on a real server it does nothing, since none tells.
func (w *harness) settle() {
	if w.srv != nil {
		synctest.Wait()
	}
}

// pass lets so much time pass, and waits until everything has settled.
func (w *harness) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// eventually waits for something that a real server may take its time for.
func (w *harness) eventually(what string, holds func() bool) {
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
	return bubble.Within(t, time.Minute, answers)
}

// newest is what a subscription has when everything has settled.
func newest[T any](w *harness, states <-chan T) (state T) {
	w.Helper()
	w.settle()
	patience := time.Nanosecond // of virtual time
	if w.srv == nil {
		patience = 20 * time.Second
	}
	select {
	case s, open := <-states:
		require.True(w, open)
		state = s
	case <-time.After(patience):
		require.Fail(w, "no news")
	}
	return state
}

// quiet: nothing has happened that a subscription would tell.
func quiet[T any](w *harness, states <-chan T) {
	w.Helper()
	w.settle()
	select {
	case s, open := <-states:
		require.Fail(w, "news", "%v %v", s, open)
	default:
	}
}

// intercept lets f decide on every request. What f reads is changed by script.
func (w *harness) intercept(f func(r *zktest.Request) zktest.Verdict) (remove func()) {
	return w.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		w.scripting.Lock()
		defer w.scripting.Unlock()
		return f(r)
	})
}

// script changes what an interceptor reads.
func (w *harness) script(change func()) {
	w.scripting.Lock()
	defer w.scripting.Unlock()
	change()
}

// meets gives every request for which when is true a verdict, until that is removed.
func (w *harness) meets(verdict zktest.Verdict, when func(r *zktest.Request) bool) (remove func()) {
	return w.intercept(func(r *zktest.Request) zktest.Verdict {
		if when(r) {
			return verdict
		}
		return zktest.Pass
	})
}

// cutOnce gives the first request for which when is true a verdict.
func (w *harness) cutOnce(verdict zktest.Verdict, when func(r *zktest.Request) bool) {
	w.meets(verdict, first(1, when))
}

// first is true of the first n requests of which when is.
func first(n int, when func(r *zktest.Request) bool) func(r *zktest.Request) bool {
	return func(r *zktest.Request) bool {
		if n == 0 || !when(r) {
			return false
		}
		n--
		return true
	}
}

// creates tells whether a request creates a contender, not a parent.
func creates(r *zktest.Request) bool {
	return r.Op == zktest.OpCreate2 || r.Op == zktest.OpCreate
}

// refuseAfterLoss loses the answer to the first request that matches, with the connection, and
// refuses the next five requests of a kind.
func (w *harness) refuseAfterLoss(lose func(r *zktest.Request) bool, op zktest.Op, refusal zktest.Verdict) {
	lost := false
	refused := first(5, func(r *zktest.Request) bool { return lost && r.Op == op })
	lose = first(1, lose)
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case lose(r):
			lost = true
			return zktest.CutAfter
		case refused(r):
			return refusal
		}
		return zktest.Pass
	})
}

// authFailed is how a server refuses a credential, or a request without one.
var authFailed = zktest.Fail(jute.AuthFailed)

// refuseCredentials lets the server refuse every credential from now on.
func (w *harness) refuseCredentials() {
	w.meets(authFailed, func(r *zktest.Request) bool { return r.Op == zktest.OpSetAuth })
}

// hangsUp lets the servers hang up at the requests that match, as servers do at what they don't
// know and at what is too large for them.
func (w *harness) hangsUp(at func(r *zktest.Request) bool) (times func() int) {
	n := 0
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		if !at(r) {
			return zktest.Pass
		}
		n++
		return zktest.CutBefore
	})
	return func() (all int) {
		w.script(func() { all = n })
		return all
	}
}

// requests are the journal's, but for pings and handshakes, in short.
func (w *harness) requests() []string {
	var ops []string
	for _, r := range w.srv.Journal() {
		if r.Op != zktest.OpPing && r.Op != zktest.OpConnect {
			ops = append(ops, strings.TrimSpace(r.Op.String()+" "+r.Path))
		}
	}
	w.srv.ClearJournal()
	return ops
}

// transactions counts the multis of the journal, and clears it.
func (w *harness) transactions() (n int) {
	for _, op := range w.requests() {
		if op == "multi" {
			n++
		}
	}
	return n
}

// client is a client that keeps what it is told.
type client struct {
	*session.Client
	mu     sync.Mutex
	events []session.ClientEvent
	times  []time.Time
}

func (w *harness) client(s *session.Session) *client {
	w.Helper()
	t := &client{}
	var err error
	t.Client, err = s.Client("test:/queue", t.take)
	require.NoError(w, err)
	return t
}

func (t *client) take(n session.ClientEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, n)
	t.times = append(t.times, time.Now())
}

// told is what the client was told since the last call, in short. In a bubble only.
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

func brief(n session.ClientEvent) string {
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
		return fmt.Sprint("fired ", n.Change, " ", n.Path)
	}
	return fmt.Sprintf("%#v", n)
}

// at is when the client was first told an event of this type.
func at[N session.ClientEvent](t *client) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, n := range t.events {
		if _, ok := n.(N); ok {
			return t.times[i]
		}
	}
	return time.Time{}
}

func last[T any](all []T) T { return all[len(all)-1] }

// join puts a contender into a queue and waits for it.
func (t *client) join(w *harness, epoch uint64, j session.Join) session.Joined {
	w.Helper()
	return wait(w, func(done func(session.Joined)) { t.Join(epoch, j, done) })
}

// inQueue puts a contender into a queue of the first epoch.
func (t *client) inQueue(w *harness) session.Joined {
	w.Helper()
	j := t.join(w, 1, session.Join{Parent: "/queue", Name: "lock-"})
	require.NoError(w, j.Err)
	return j
}

// hold joins a queue and holds its znode.
func (t *client) hold(w *harness, epoch uint64, parent string) *session.Hold {
	w.Helper()
	j := t.join(w, epoch, session.Join{Parent: parent, Name: "lock-"})
	require.NoError(w, j.Err)
	seen := t.read(w, epoch, j.Path, true)
	require.True(w, seen.Exists)
	h, err := t.Hold(epoch, j.Path, seen.Stat.Czxid, func(error) {})
	require.NoError(w, err)
	return h
}

func (t *client) read(w *harness, epoch uint64, path string, watch bool) session.Seen {
	w.Helper()
	return wait(w, func(done func(session.Seen)) { t.Read(epoch, path, watch, done) })
}

func (t *client) list(w *harness, epoch uint64, path string, watch bool) session.Listed {
	w.Helper()
	return wait(w, func(done func(session.Listed)) { t.List(epoch, path, watch, done) })
}

// commit carries a transaction out and waits for it.
func (t *client) commit(w *harness, epoch uint64, ops ...session.Op) error {
	w.Helper()
	return wait(w, func(done func(error)) { t.Commit(epoch, ops, func(_ []session.Result, err error) { done(err) }) })
}

func (t *client) remove(w *harness, epoch uint64, path string) {
	w.Helper()
	require.NoError(w, wait(w, func(done func(error)) { t.Remove(epoch, path, done) }))
}

// recovered is what came of a recovery.
type recovered struct {
	standing []string
	err      error
}

func (t *client) recover(w *harness, epoch uint64) recovered {
	w.Helper()
	return wait(w, func(done func(recovered)) {
		t.Recover(epoch, func(left []string, err error) { done(recovered{left, err}) })
	})
}

// standing are the znodes that a recovery finds in the first epoch.
func (t *client) standing(w *harness) []string {
	w.Helper()
	r := t.recover(w, 1)
	require.NoError(w, r.err)
	return r.standing
}

// joined makes one hold of several, and records how it ended.
func joined(parts ...*session.Hold) (h *session.Hold, end func(error) bool, causes *[]error) {
	causes = new([]error)
	h, end = session.JoinHolds(parts, func(cause error) { *causes = append(*causes, cause) })
	return h, end, causes
}

// network is one whose connections take nothing while it is clogged.
type network struct {
	mu     sync.Mutex
	free   chan struct{} // closed when it takes something again; nil: it does
	writes atomic.Int64  // that it took
}

func (n *network) clog() (unclog func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	free := make(chan struct{})
	n.free = free
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.free = nil
		close(free)
	}
}

func (n *network) dialer(srv *zktest.Server) session.Option {
	return session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := srv.Dialer()(ctx, network, addr)
		return &clogged{conn, n}, err
	})
}

type clogged struct {
	net.Conn
	network *network
}

func (c *clogged) Write(p []byte) (int, error) {
	c.network.mu.Lock()
	free := c.network.free
	c.network.mu.Unlock()
	if free != nil {
		<-free
	}
	c.network.writes.Add(1)
	return c.Conn.Write(p)
}

// journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() session.Option {
	return session.WithLogger(slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug})))
}
