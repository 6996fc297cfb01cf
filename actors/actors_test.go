package actors_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

type say func(r *parrot)

// parrot runs what it is told.
type parrot struct {
	self actors.Self[say]
	said []string
	stop func(error)
}

func (p *parrot) Receive(m say) { m(p) }
func (p *parrot) Phase() string { return "said " + string(rune('0'+len(p.said))) }
func (p *parrot) Stopping(cause error) {
	if p.stop != nil {
		p.stop(cause)
	}
}

func spawn(t *testing.T, in actors.Scope, mutate func(*actors.Spec[say]), stop func(error)) actors.Ref[say] {
	t.Helper()
	spec := actors.Spec[say]{Name: "polly", Kind: "parrot", New: func(self actors.Self[say]) actors.Receiver[say] {
		return &parrot{self: self, stop: stop}
	}}
	if mutate != nil {
		mutate(&spec)
	}
	ref, err := actors.Spawn(in, spec)
	require.NoError(t, err)
	return ref
}

func ask[A any](t *testing.T, ref actors.Ref[say], f func(p *parrot) A) A {
	t.Helper()
	a, err := actors.Ask(t.Context(), ref, func(reply func(A)) say { return func(p *parrot) { reply(f(p)) } })
	require.NoError(t, err)
	return a
}

func TestMessagesArriveInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		ref := spawn(t, sys.Scope(), nil, nil)
		var got []int
		for i := range 1000 {
			require.True(t, ref.Tell(func(*parrot) { got = append(got, i) }))
		}
		synctest.Wait()
		for i := range 1000 {
			require.Equal(t, i, got[i])
		}
		require.NoError(t, sys.Close(t.Context()))
	})
}

func TestAPanicMakesANewIncarnationAndKeepsWhatIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		sys := actors.New(actors.WithRestarts(actors.Restarts{Min: time.Second, Max: 4 * time.Second, Limit: 3, Within: time.Hour}))
		ref := spawn(t, sys.Scope(), nil, func(err error) { causes = append(causes, err) })
		ref.Tell(func(p *parrot) { p.said = append(p.said, "hello") })
		require.Equal(t, 1, ask(t, ref, func(p *parrot) int { return len(p.said) }))

		began := time.Now()
		ref.Tell(func(*parrot) { panic("ouch") })
		require.Equal(t, 0, ask(t, ref, func(p *parrot) int { return len(p.said) }), "state is fresh")
		require.Equal(t, 2, ask(t, ref, func(p *parrot) int { return p.self.Incarnation() }))
		require.GreaterOrEqual(t, time.Since(began), time.Second/2, "half the pause at least")
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.ErrorIs(t, causes[0], actors.ErrRestarting)
		require.Equal(t, []actors.Node{{Name: "polly", Kind: "parrot", Phase: "said 0", Restarts: 1}}, sys.Tree())
		require.NoError(t, sys.Close(t.Context()))
		require.ErrorIs(t, causes[1], actors.ErrStopped)
	})
}

func TestTooManyPanicsGiveUpThatOneActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var ended []error
		sys := actors.New(actors.WithRestarts(actors.Restarts{Min: time.Second, Max: 4 * time.Second, Limit: 3, Within: time.Hour}))
		sick := spawn(t, sys.Scope(), func(s *actors.Spec[say]) { s.Ended = func(err error) { ended = append(ended, err) } }, nil)
		well := spawn(t, sys.Scope(), nil, nil)
		for range 4 {
			sick.Tell(func(*parrot) { panic(boom) })
		}
		began := time.Now()
		<-sick.Done()
		require.GreaterOrEqual(t, time.Since(began), (1+2+4)*time.Second/2)
		require.Len(t, ended, 1)
		require.ErrorIs(t, ended[0], actors.ErrGivenUp)
		require.ErrorIs(t, ended[0], boom)
		require.False(t, sick.Tell(func(*parrot) {}))
		_, err := actors.Ask(t.Context(), sick, func(reply func(int)) say { return func(*parrot) { reply(1) } })
		require.ErrorIs(t, err, actors.ErrStopped)
		require.Equal(t, 1, ask(t, well, func(p *parrot) int { return p.self.Incarnation() }), "nothing else is touched")
		require.NoError(t, sys.Close(t.Context()))
	})
}

func TestAPanicInNewGoesThroughTheSameBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made []time.Time
		sys := actors.New(actors.WithRestarts(actors.Restarts{Min: time.Second, Max: time.Second, Limit: 4, Within: time.Hour}))
		ref := spawn(t, sys.Scope(), func(s *actors.Spec[say]) {
			s.New = func(self actors.Self[say]) actors.Receiver[say] {
				made = append(made, time.Now())
				if self.Incarnation() < 3 {
					panic("not yet")
				}
				return &parrot{self: self}
			}
		}, nil)
		require.Equal(t, 3, ask(t, ref, func(p *parrot) int { return p.self.Incarnation() }))
		require.Len(t, made, 3)
		require.GreaterOrEqual(t, made[1].Sub(made[0]), time.Second/2)
		require.NoError(t, sys.Close(t.Context()))
	})
}

func TestAnAskIsAskedAgainOfTheNextIncarnation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		ref := spawn(t, sys.Scope(), nil, nil)
		answer, err := actors.Ask(t.Context(), ref, func(reply func(int)) say {
			return func(p *parrot) {
				if p.self.Incarnation() == 1 {
					panic("before the answer")
				}
				reply(p.self.Incarnation())
			}
		})
		require.NoError(t, err)
		require.Equal(t, 2, answer)
		require.NoError(t, sys.Close(t.Context()))
	})
}

func TestAnAskEndsWithItsContextAndWithTheActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		ref := spawn(t, sys.Scope(), nil, nil)
		silent := func(func(int)) say { return func(*parrot) {} }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := actors.Ask(ctx, ref, silent)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, ref.Stop)
		_, err = actors.Ask(t.Context(), ref, silent)
		require.ErrorIs(t, err, actors.ErrStopped)
		require.NoError(t, sys.Close(t.Context()))
	})
}

func TestStoppingEndsWhatIsBelowFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		note := func(name string) func(*actors.Spec[say]) {
			return func(s *actors.Spec[say]) {
				s.Name = name
				s.Ended = func(error) { mu.Lock(); defer mu.Unlock(); order = append(order, name) }
			}
		}
		sys := actors.New()
		group, err := sys.Scope().Group("family", "group")
		require.NoError(t, err)
		parent := spawn(t, group, note("parent"), nil)
		scope := ask(t, parent, func(p *parrot) actors.Scope { return p.self.Scope() })
		spawn(t, scope, note("child"), nil)
		require.Equal(t, "child", sys.Tree()[0].Children[0].Children[0].Name)
		group.Stop()
		<-group.Done()
		require.Equal(t, []string{"child", "parent"}, order)
		_, err = group.Group("late", "group")
		require.ErrorIs(t, err, actors.ErrStopped)
		_, err = actors.Spawn(scope, actors.Spec[say]{New: func(actors.Self[say]) actors.Receiver[say] { return &parrot{} }})
		require.ErrorIs(t, err, actors.ErrStopped)
		require.Empty(t, sys.Tree())
		require.NoError(t, sys.Close(t.Context()))
	})
}

func TestAStopDuringThePauseAfterAPanicEndsItAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New(actors.WithRestarts(actors.Restarts{Min: time.Hour, Max: time.Hour}))
		ref := spawn(t, sys.Scope(), nil, nil)
		ref.Tell(func(*parrot) { panic("x") })
		synctest.Wait()
		require.Equal(t, "failed", sys.Tree()[0].Phase)
		began := time.Now()
		require.NoError(t, sys.Close(t.Context()))
		require.Zero(t, time.Since(began))
		<-ref.Done()
	})
}

func TestTheLoggerHearsOfPanicsAndNothingElseIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		sys := actors.New(actors.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ref := spawn(t, sys.Scope(), nil, nil)
		ref.Tell(func(*parrot) { panic("squawk") })
		require.Equal(t, 2, ask(t, ref, func(p *parrot) int { return p.self.Incarnation() }))
		require.NoError(t, sys.Close(t.Context()))
		require.Contains(t, log.String(), "squawk")
		require.Contains(t, log.String(), "polly")
	})
}

func TestIdleActorsAreSmallAndHaveNoGoroutine(t *testing.T) {
	const n = 10_000
	sys := actors.New()
	before := heap()
	goroutines := runtime.NumGoroutine()
	refs := make([]actors.Ref[say], n)
	for i := range refs {
		refs[i] = spawn(t, sys.Scope(), nil, nil)
	}
	for _, ref := range refs {
		require.Equal(t, 1, ask(t, ref, func(p *parrot) int { return p.self.Incarnation() }))
	}
	each := (heap() - before) / n
	t.Logf("%d bytes an actor", each)
	require.Less(t, each, uint64(2048))
	require.Less(t, runtime.NumGoroutine(), goroutines+20)
	require.NoError(t, sys.Close(t.Context()))
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkTell(b *testing.B) {
	sys := actors.New()
	ref, err := actors.Spawn(sys.Scope(), actors.Spec[say]{New: func(actors.Self[say]) actors.Receiver[say] { return &parrot{} }})
	require.NoError(b, err)
	for b.Loop() {
		ref.Tell(func(*parrot) {})
	}
	require.NoError(b, sys.Close(b.Context()))
}
