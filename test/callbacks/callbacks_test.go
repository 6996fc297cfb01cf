// However a function of the application ends, nothing of Troupe's hangs or is lost. The table has
// each function that docs/architecture.md lists, and each way to end.
//
// Here are the harness, the functions that package fxmodule calls, loggers and connections; in
// recipes_test.go are those of recipes and actors.
package callbacks_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// The ways in which a function ends.
const panics, exits, never, slow = "it panics", "it ends its goroutine", "it never returns", "it is slow"

// functions are those of the list, by their names there.
var functions = map[string]func(w *world){
	"session.WithLogger": sessionLogger, "slog.Default": defaultLogger, "actors.WithLogger": actorsLogger,
	"session.WithEvents": events,
	"session.WithDialer": dialer, "session.WithTLS": secure,
	"Read": connection("Read"), "Write": connection("Write"), "Close": connection("Close"),
	"config.Codec.Decode":   decode,
	"recipe.Config.Machine": callback("Machine"), "recipe.Config.Standing": callback("Standing"), "recipe.Config.Perform": callback("Perform"),
	"recipe.Config.Ended": callback("Ended"), "machine.Machine": callback("Step"),
	"actors.Spec.New": actor("New"), "actors.Spec.Ended": actor("Ended"), "actors.Receiver": actor("Receive"), "Stopping": actor("Stopping"),
	"lock.Lock.Do": do, "lock.Multi.Do": doMulti, "election.Election.Run": run, "config.Cell.Update": update, "config.Codec.Encode": encode,
	"queue.WithBackoff":   backoff,
	"fxmodule.RunLeader":  runLeader,
	"fxmodule.Consume":    consume,
	"fxmodule.Queue":      consumeWithBackoff,
	"fxmodule.Follow":     follow,
	"fxmodule.FollowTree": followTree,
	"fxmodule.RunSite":    runSite,
}

// servers is how many servers there are besides the first. With another server nothing is lost when
// a connection is silent.
var servers = map[string]int{"Read": 1, "Write": 1}

func TestFunctionsOfTheApplication(t *testing.T) { //nolint:paralleltest // slog.Default is everybody's
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Functions of the application\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var listed, tested []string
	for line := range strings.Lines(section) {
		if first, _, row := strings.Cut(strings.TrimPrefix(line, "|"), "|"); row {
			for _, name := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(first, -1) {
				listed = append(listed, name[1])
			}
		}
	}
	for name := range functions {
		tested = append(tested, name)
	}
	require.ElementsMatch(t, listed, tested)
	for _, name := range slices.Sorted(slices.Values(tested)) {
		for _, way := range []string{panics, exits, never, slow} {
			t.Run(name+", "+way, func(t *testing.T) {
				if name != "slog.Default" {
					t.Parallel()
				}
				bubble.Run(t, func(b *bubble.World) {
					w := &world{World: b, way: way, letGo: make(chan struct{})}
					system := must(actors.New(actors.WithLogger(slog.New(slog.NewTextHandler(&w.log, nil)))))
					b.System = func() *actors.System { return system }
					defer func() {
						close(w.letGo)
						time.Sleep(3 * time.Minute) // all that was left alone ends
					}()
					functions[name](w)
					require.Positive(w, w.acted.Load(), "it was called")
				}, zktest.WithServers(servers[name]+1))
			})
		}
	}
}

// world is a bubble in which a function ends in one way, once each time it is armed.
type world struct {
	*bubble.World
	way   string // panics, exits, never or slow
	log   bubble.Log
	armed atomic.Bool
	acted atomic.Int32  // how often a function has ended in that way
	letGo chan struct{} // closed at the end of the test, for functions that never return
}

// act is called first by every function under test.
func (w *world) act() {
	if !w.armed.CompareAndSwap(true, false) {
		return
	}
	w.acted.Add(1)
	switch w.way {
	case panics:
		panic("on purpose")
	case exits:
		runtime.Goexit()
	case never:
		<-w.letGo
	case slow:
		time.Sleep(time.Minute)
	}
}

// named fails unless the log says what the function did.
func (w *world) named() {
	w.Helper()
	text := map[string]string{panics: "on purpose", exits: "runtime.Goexit was called", never: "does not return"}[w.way]
	require.NotZero(w, w.log.Count(text), "%q is not in the log", text)
}

// held makes a lock that the session holds.
func (w *world) held(s *session.Session, path string) *lock.Grant {
	w.Helper()
	return must(must(lock.New(s, path)).Lock(bubble.Minute(w)))
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sound fails if the session has lost anything.
func (w *world) sound(s *session.Session, g *lock.Grant) {
	w.Helper()
	require.NoError(w, s.Sync(bubble.Minute(w), "/"))
	require.EqualValues(w, 1, s.Status().Epoch)
	require.NoError(w, g.Err())
}

// closes closes a session, which takes at most so long, and leaves nothing at the server.
func (w *world) closes(s *session.Session, most time.Duration) {
	w.Helper()
	began := time.Now()
	require.NoError(w, s.Close(bubble.Minute(w)))
	require.LessOrEqual(w, time.Since(began), most)
	require.Empty(w, w.Server.Sessions())
}

// application runs an application with the function of an option, fxmodule.title("x"), and makes
// work for it with begin, twice: after the function has failed the second work is done too, unless
// such a failure ends the application (ends).
func application(w *world, title string, begin func(s *session.Session, n int), ends bool, opts ...fx.Option) {
	var s *session.Session
	a := fx.New(append(opts, fx.NopLogger, fxmodule.Module, fx.Supply(fxmodule.Default("zk:1"), slog.New(slog.NewTextHandler(&w.log, nil))),
		fxtest.Server(w.Server), fx.Populate(&s))...)
	require.NoError(w, a.Err())
	w.armed.Store(true)
	require.NoError(w, a.Start(bubble.Minute(w)))
	begin(s, 1)
	time.Sleep(2 * time.Minute)
	if w.way != never {
		begin(s, 2)
		time.Sleep(2 * time.Minute)
	}
	require.Equal(w, ends && (w.way == panics || w.way == exits), w.log.Count("the application is shut down") > 0)
	require.EqualValues(w, 1, s.Status().Epoch)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	err := a.Stop(ctx)
	require.NoError(w, ctx.Err())
	require.Empty(w, w.Server.Sessions())
	if w.way == never {
		require.ErrorContains(w, err, fmt.Sprintf("fxmodule.%s(%q): ", title, "x"))
		return
	}
	require.NoError(w, err)
	w.named()
}

func runLeader(w *world) {
	application(w, "RunLeader", func(*session.Session, int) {}, true, fxmodule.Election("x", "/x"),
		fxmodule.RunLeader("x", func(ctx context.Context, _ *election.Term) error { w.act(); <-ctx.Done(); return nil }))
}

func consume(w *world) {
	consumed(w, func(*queue.Item) error { w.act(); return nil })
}

func consumeWithBackoff(w *world) {
	consumed(w, func(i *queue.Item) error {
		if i.Attempt() == 1 {
			return errors.New("not yet")
		}
		return nil
	}, queue.WithBackoff(func(int) time.Duration { w.act(); return 0 }))
}

// consumed has each of two items processed, unless the function never returns.
func consumed(w *world, process func(i *queue.Item) error, opts ...queue.Option) {
	done := map[string]bool{}
	application(w, "Consume", func(s *session.Session, n int) {
		must(must(queue.New(s, "/x")).Put(bubble.Minute(w), fmt.Append(nil, n)))
	}, false, fxmodule.Queue("x", "/x", opts...), fxmodule.Consume("x", 1, func(_ context.Context, i *queue.Item) error {
		err := process(i)
		done[string(i.Data())] = err == nil
		return err
	}))
	if w.way != never {
		require.Equal(w, map[string]bool{"1": true, "2": true}, done)
	}
}

func follow(w *world) {
	last := ""
	application(w, "Follow", func(s *session.Session, n int) {
		c := must(config.Open(bubble.Minute(w), s, "/x", config.Text()))
		must(c.Update(bubble.Minute(w), func(string) (string, error) { return fmt.Sprint(n), nil }))
	}, false, fxmodule.Cell("x", "/x", config.Text()), fxmodule.Follow[string]("x", func(_ context.Context, s config.Snapshot[string]) error {
		w.act()
		last = s.Value
		return nil
	}))
	if w.way == never {
		require.Empty(w, last)
	} else {
		require.Equal(w, "2", last)
	}
}

func followTree(w *world) {
	second := false
	application(w, "FollowTree", func(s *session.Session, n int) {
		must(s.Create(bubble.Minute(w), fmt.Sprint("/", n), nil))
	}, false, fxmodule.FollowTree("x", "/", func(_ context.Context, tree *session.Tree) error {
		w.act()
		_, second = tree.At("2")
		return nil
	}))
	require.Equal(w, w.way != never, second)
}

func runSite(w *world) {
	var outcomes []twopc.Outcome
	application(w, "RunSite", func(s *session.Session, n int) {
		tx := must(must(twopc.NewCoordinator(s, "/x")).Begin(bubble.Minute(w), fmt.Sprint(n), nil, "x"))
		select {
		case <-tx.Decided():
		case <-time.After(2 * time.Minute):
		}
		outcomes = append(outcomes, tx.Outcome())
	}, false, fxmodule.Site("x", "/x"), fxmodule.RunSite("x", func(ctx context.Context, p *twopc.Proposal) error {
		w.act()
		return p.VoteCommit(ctx)
	}))
	if w.way == never {
		return
	}
	require.Equal(w, []twopc.Outcome{twopc.Aborted, twopc.Committed}, outcomes) // a slow vote comes after the vote timeout
}

// handler is a log handler.
type handler struct{ *world }

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h handler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h handler) WithGroup(string) slog.Handler                { return h }
func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.act()
	_, err := h.log.Write([]byte(r.Message + "\n"))
	return err
}

func sessionLogger(w *world) { logger(w, session.WithLogger(slog.New(handler{w}))) }

func defaultLogger(w *world) {
	before := slog.Default()
	slog.SetDefault(slog.New(handler{w}))
	defer slog.SetDefault(before)
	logger(w)
}

// logger has the session lose two epochs, of which it logs.
func logger(w *world, opts ...session.Option) {
	s := w.Session(opts...)
	for epoch := range 2 {
		w.armed.Store(true)
		g := w.held(s, "/a")
		w.Server.Disconnect(s.Status().SessionID)
		time.Sleep(time.Second)
		require.True(w, g.Valid())
		w.Server.Expire(s.Status().SessionID)
		time.Sleep(50 * time.Second)
		require.ErrorIs(w, g.Err(), session.ErrLost)
		require.Equal(w, session.Connected, s.Status().State)
		require.EqualValues(w, epoch+2, s.Status().Epoch)
	}
	w.closes(s, 100*time.Millisecond)
	if w.way != never {
		time.Sleep(3 * time.Minute)
		require.NotZero(w, w.log.Count("\n"), "other lines are there")
	}
}

// events has a hook fail at the third event. Nothing else notices; it is told what comes later.
func events(w *world) {
	var told []session.EventKind
	n := 0
	s := w.Session(session.WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))), session.WithEvents(func(_ *session.Session, ev session.Event) {
		if n++; n >= 3 {
			w.armed.Store(n == 3 || w.way == panics)
			w.act()
		}
		told = append(told, ev.Kind)
	}))
	g := w.held(s, "/a")
	time.Sleep(2 * time.Second)
	w.sound(s, g)
	require.NoError(w, g.Release(bubble.Minute(w)))
	time.Sleep(2 * time.Minute)
	if w.way == panics {
		require.Equal(w, 1, w.log.Count("on purpose"), "only the first is logged")
	}
	w.closes(s, 100*time.Millisecond)
	if w.way == exits || w.way == slow {
		time.Sleep(time.Minute)
		require.Equal(w, session.EventClosed, told[len(told)-1])
	}
}

// parrot is an actor that panics at each message but one.
type parrot struct{ heard chan string }

func (p parrot) Receive(m string) {
	if m != "hello" {
		panic(m)
	}
	p.heard <- m
}

func actorsLogger(w *world) {
	system, heard := must(actors.New(actors.WithLogger(slog.New(handler{w})))), make(chan string, 1)
	ref := must(actors.Spawn(system.Scope(), actors.Spec[string]{New: func(actors.Self[string]) actors.Receiver[string] { return parrot{heard} }}))
	for range 2 {
		w.armed.Store(true)
		require.True(w, ref.Tell("panic"))
		time.Sleep(time.Minute)
		require.True(w, ref.Tell("hello"))
		require.Equal(w, "hello", bubble.Get(w, heard))
	}
	began := time.Now()
	require.NoError(w, system.Close(bubble.Minute(w)))
	require.Zero(w, time.Since(began))
	time.Sleep(time.Minute)
}

func dialer(w *world) {
	connecting(w, true, session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.act()
		return w.Server.Dialer()(ctx, network, addr)
	}))
}

// secure has the server behind another that speaks TLS.
func secure(w *world) {
	issuer := httptest.NewUnstartedServer(nil)
	issuer.StartTLS()
	issuer.Close()
	connecting(w, true, session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, err := w.Server.Dialer()(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		from := tls.Server(far, issuer.TLS)
		for a, b := range map[net.Conn]net.Conn{from: to, to: from} {
			go func() { // ends with either
				_, _ = io.Copy(a, b)
				_, _ = to.Close(), far.Close()
			}()
		}
		return near, nil
	}), session.WithTLS(&tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
		w.act()
		return nil
	}}))
}

// odd is a connection of which one method acts.
type odd struct {
	net.Conn
	w      *world
	method string
}

func (o odd) act(method string) {
	if method == o.method {
		o.w.act()
	}
}

func (o odd) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	o.act("Read")
	return n, err
}

func (o odd) Write(p []byte) (int, error) {
	o.act("Write")
	return o.Conn.Write(p)
}

func (o odd) Close() error {
	_ = o.Conn.Close()
	o.act("Close")
	return nil
}

func connection(method string) func(w *world) {
	return func(w *world) {
		connecting(w, method == "Close", session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := w.Server.Dialer()(ctx, network, addr)
			return odd{conn, w, method}, err
		}))
	}
}

// connecting has a session act again and again: when it gets another connection, after it has lost
// one, or else while it pings.
func connecting(w *world, lost bool, opts ...session.Option) {
	s := w.Session(append(opts, w.log.Option())...)
	g := w.held(s, "/a")
	for range 5 {
		w.armed.Store(true)
		if lost {
			w.Server.Disconnect(s.Status().SessionID)
		}
		time.Sleep(2 * time.Minute)
		require.False(w, w.armed.Load())
		require.Equal(w, session.Connected, s.Status().State)
		w.sound(s, g)
	}
	w.named()
	w.armed.Store(true)
	if lost {
		w.Server.Disconnect(s.Status().SessionID)
		time.Sleep(time.Millisecond)
	}
	w.closes(s, 12*time.Second)
	time.Sleep(2 * time.Minute)
}
