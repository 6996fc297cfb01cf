package actors_test

// An actor and its messages, from its spawning to its end; the cost of an idle one; panics are
// logged, and nothing else is written. The helpers of all tests here begin with TestMain.

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/tier"
)

func TestMessagesArriveInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem()
		ref := spawn(t, sys.Scope(), polly(nil))
		var got []int
		for i := range 1000 {
			require.True(t, ref.Tell(func(*parrot) { got = append(got, i) }))
		}
		synctest.Wait()
		require.Len(t, got, 1000)
		for i := range got {
			require.Equal(t, i, got[i])
		}
		closeSystem(t, sys)
	})
}

func TestAnActorMayTellItselfAndKnowsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem()
		heard := make(chan string, 1)
		ref := spawn(t, sys.Scope(), actors.Spec[say]{New: func(self actors.Self[say]) actors.Receiver[say] {
			self.Ref().Tell(func(p *parrot) { heard <- "from New" })
			return &parrot{self: self}
		}})
		require.Equal(t, "from New", <-heard)
		require.Equal(t, ref, ask(t, ref, func(p *parrot) actors.Ref[say] { return p.self.Ref() }))
		closeSystem(t, sys)
	})
}

func TestAStoppedActorIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem()
		var causes, ended []error
		spec := polly(func(cause error) { causes = append(causes, cause) })
		spec.Ended = func(cause error) { ended = append(ended, cause) }
		ref := spawn(t, sys.Scope(), spec)
		require.Equal(t, 1, ask(t, ref, incarnation))
		ref.Stop()
		ref.Stop()
		require.False(t, ref.Tell(func(*parrot) { t.Error("received after the stop") }))
		<-ref.Done()
		require.Equal(t, []error{actors.ErrStopped}, causes)
		require.Equal(t, []error{nil}, ended)
		require.Empty(t, sys.Tree())
		closeSystem(t, sys)
	})
}

func TestZeroValuesReachNobody(t *testing.T) {
	t.Parallel()
	var ref actors.Ref[say]
	require.False(t, ref.Tell(func(*parrot) {}))
	ref.Stop()
	<-ref.Done()

	var nowhere actors.Scope
	nowhere.Stop()
	<-nowhere.Done()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// say is a message: what the parrot is to do.
type say func(p *parrot)

// parrot calls the functions that it receives.
type parrot struct {
	self actors.Self[say]
	said []string
	stop func(error)
}

func (p *parrot) Receive(m say) { m(p) }
func (p *parrot) Phase() string { return "said " + strconv.Itoa(len(p.said)) }

func (p *parrot) Stopping(cause error) {
	if p.stop != nil {
		p.stop(cause)
	}
}

// polly describes a parrot; stop, if not nil, is called by its Stopping.
func polly(stop func(error)) actors.Spec[say] {
	return actors.Spec[say]{Name: "polly", Kind: "parrot", New: func(self actors.Self[say]) actors.Receiver[say] {
		return &parrot{self: self, stop: stop}
	}}
}

func spawn(t *testing.T, in actors.Scope, spec actors.Spec[say]) actors.Ref[say] {
	t.Helper()
	ref, err := actors.Spawn(in, spec)
	require.NoError(t, err)
	return ref
}

// ask has the actor call f, and waits for what it returns.
func ask[A any](t *testing.T, ref actors.Ref[say], f func(p *parrot) A) A {
	t.Helper()
	answer := make(chan A, 1)
	require.True(t, ref.Tell(func(p *parrot) { answer <- f(p) }))
	select {
	case a := <-answer:
		return a
	case <-ref.Done():
		require.Fail(t, "the actor has ended")
		panic("unreachable")
	}
}

func incarnation(p *parrot) int { return p.self.Incarnation() }

func scope(p *parrot) actors.Scope { return p.self.Scope() }

// fewRestarts makes pauses of 0.5–1 s, 1–2 s, 2–4 s, and then no more.
var fewRestarts = actors.WithRestarts(actors.Restarts{Min: time.Second, Max: 4 * time.Second, Limit: 3, Within: time.Hour})

// newSystem is a system with options that are known to be right.
func newSystem(opts ...actors.Option) *actors.System {
	sys, err := actors.New(opts...)
	if err != nil {
		panic(err)
	}
	return sys
}

func closeSystem(t *testing.T, sys *actors.System) {
	t.Helper()
	require.NoError(t, sys.Close(t.Context()))
}

// counter counts its messages down.
type counter struct{ left *sync.WaitGroup }

func (c counter) Receive(struct{}) { c.left.Done() }

// An idle actor has no goroutine; in soak, it has a kilobyte and a half of memory at the most. Not
// parallel: it measures the process.
func TestIdleActorsAreSmall(t *testing.T) {
	const n = 10_000
	sys := newSystem()
	refs := make([]actors.Ref[struct{}], n)
	var left sync.WaitGroup
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range refs {
		var err error
		refs[i], err = actors.Spawn(sys.Scope(), actors.Spec[struct{}]{Name: "one", Kind: "of many", New: func(actors.Self[struct{}]) actors.Receiver[struct{}] {
			return counter{&left}
		}})
		require.NoError(t, err)
	}
	for _, ref := range refs { // one after the other: it is the actors' memory that is measured, not that of as many goroutines at once
		left.Add(10)
		for range 10 {
			ref.Tell(struct{}{})
		}
		left.Wait()
	}
	each := (heap() - before) / n
	t.Logf("%d bytes an actor", each)
	if tier.Soaking() { // what the library's pools keep differs from run to run
		require.LessOrEqual(t, each, uint64(1536))
	}
	require.Less(t, runtime.NumGoroutine(), goroutines+20)
	require.Len(t, sys.Tree(), n)
	closeSystem(t, sys)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTheLoggerHearsOfPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		sys := newSystem(actors.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ref := spawn(t, sys.Scope(), polly(nil))
		ref.Tell(func(p *parrot) { p.self.Log().Info("hello") })
		ref.Tell(func(*parrot) { panic("squawk") })
		require.Equal(t, 2, ask(t, ref, incarnation))
		closeSystem(t, sys)
		synctest.Wait()
		require.Contains(t, log.String(), `level=INFO msg=hello actor=polly kind=parrot`)
		require.Contains(t, log.String(), `level=ERROR msg="an actor panicked" actor=polly kind=parrot while="handling a message" panic=squawk`)
		require.Contains(t, log.String(), `actors_test.go`, "where it happened")
	})
}

// hoarse is a logger's handler that panics.
type hoarse struct{ slog.Handler }

func (hoarse) Handle(context.Context, slog.Record) error { panic("the logger") }

func TestALoggerThatPanicsDoesNoHarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem(fewRestarts, actors.WithLogger(slog.New(hoarse{slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})}))) //nolint:sloglint // the discarding handler is never asked to handle anything
		ref := spawn(t, sys.Scope(), polly(func(error) { panic("in Stopping") }))
		ref.Tell(func(*parrot) { panic("squawk") })
		require.Equal(t, 2, ask(t, ref, incarnation))
		closeSystem(t, sys)
	})
}

// TestNothingIsWritten is not parallel: it takes the process's standard channels.
func TestNothingIsWritten(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()

	sys := newSystem(actors.WithRestarts(actors.Restarts{Min: 1, Max: 1, Limit: 2}))
	ref := spawn(t, sys.Scope(), polly(nil))
	for range 10 {
		ref.Tell(func(*parrot) { panic("squawk") })
	}
	<-ref.Done()
	closeSystem(t, sys)
	require.NoError(t, w.Close())
	written, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Empty(t, string(written))
}
