package actors_test

// Failures of an actor, and their effect on the actors below it. Helpers: actors_test.go.

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

var errBoom = errors.New("boom")

// failure is a way in which an actor fails. An assertion of package testing that fails inside an
// actor ends its goroutine, by Goexit.
type failure struct {
	do     func()
	says   string // part of the error with which the actor is given up
	isBoom bool   // that error wraps errBoom
}

// eachFailure runs a test in a bubble for each way to fail.
func eachFailure(t *testing.T, test func(t *testing.T, f failure)) {
	t.Helper()
	for name, f := range map[string]failure{
		"an error": {func() { panic(errBoom) }, "boom", true}, "a word": {func() { panic("boom") }, "boom", false}, "Goexit": {runtime.Goexit, "Goexit", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, f) })
		})
	}
}

func TestAFailureMakesANewIncarnationAndKeepsWhatIsQueued(t *testing.T) {
	t.Parallel()
	eachFailure(t, func(t *testing.T, f failure) {
		var causes []error
		sys := newSystem(fewRestarts)
		ref := spawn(t, sys.Scope(), polly(func(cause error) {
			causes = append(causes, cause)
			f.do()
		}))
		ref.Tell(func(p *parrot) { p.said = append(p.said, "before") })
		ref.Tell(func(*parrot) { f.do() })
		for _, word := range []string{"a", "b", "c"} {
			ref.Tell(func(p *parrot) { p.said = append(p.said, word) })
		}
		began := time.Now()
		require.Equal(t, []string{"a", "b", "c"}, ask(t, ref, func(p *parrot) []string { return p.said }))
		require.Equal(t, 2, ask(t, ref, incarnation))
		require.GreaterOrEqual(t, time.Since(began), time.Second/2, "half the pause at least")
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.Equal(t, []error{actors.ErrRestarting}, causes)
		require.Equal(t, []actors.Node{{Name: "polly", Kind: "parrot", Phase: "said 3", Restarts: 1}}, sys.Tree())
		closeSystem(t, sys)
		require.Equal(t, []error{actors.ErrRestarting, actors.ErrStopped}, causes)
	})
}

func TestTooManyFailuresGiveUpThatOneActor(t *testing.T) {
	t.Parallel()
	eachFailure(t, func(t *testing.T, f failure) {
		var ended, causes []error
		sys := newSystem(fewRestarts)
		spec := polly(func(cause error) { causes = append(causes, cause) })
		spec.Ended = func(cause error) {
			ended = append(ended, cause)
			f.do()
		}
		sick, well := spawn(t, sys.Scope(), spec), spawn(t, sys.Scope(), polly(nil))
		for range 6 {
			sick.Tell(func(*parrot) { f.do() })
		}
		began := time.Now()
		<-sick.Done()
		require.GreaterOrEqual(t, time.Since(began), (1+2+4)*time.Second/2)
		require.LessOrEqual(t, time.Since(began), (1+2+4)*time.Second)
		require.Len(t, ended, 1)
		require.ErrorIs(t, ended[0], actors.ErrGivenUp)
		require.ErrorContains(t, ended[0], f.says)
		require.Equal(t, f.isBoom, errors.Is(ended[0], errBoom))
		require.Equal(t, []error{actors.ErrRestarting, actors.ErrRestarting, actors.ErrRestarting, actors.ErrStopped}, causes)
		require.False(t, sick.Tell(func(*parrot) {}))
		require.Equal(t, 1, ask(t, well, incarnation), "nothing else is touched")
		closeSystem(t, sys)
	})
}

// A New that fails is tried again after the same pauses, and given up if it always does.
func TestAFailureInNewGoesThroughTheSameBackoff(t *testing.T) {
	t.Parallel()
	eachFailure(t, func(t *testing.T, f failure) {
		sys := newSystem(fewRestarts)
		for _, succeeds := range []int{4, 5} {
			var made []time.Time
			ended := make(chan error, 1)
			ref := spawn(t, sys.Scope(), actors.Spec[say]{
				New: func(self actors.Self[say]) actors.Receiver[say] {
					made = append(made, time.Now())
					if self.Incarnation() < succeeds {
						f.do()
					}
					return &parrot{self: self}
				},
				Ended: func(cause error) { ended <- cause },
			})
			if succeeds == 4 {
				require.Equal(t, 4, ask(t, ref, incarnation))
			} else {
				err := <-ended
				require.ErrorIs(t, err, actors.ErrGivenUp)
				require.ErrorContains(t, err, f.says)
				<-ref.Done()
				require.False(t, ref.Tell(func(*parrot) {}))
				require.Len(t, sys.Tree(), 1, "the first one")
			}
			require.Len(t, made, 4)
			for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				require.GreaterOrEqual(t, made[i+1].Sub(made[i]), pause/2)
				require.LessOrEqual(t, made[i+1].Sub(made[i]), pause)
			}
		}
		closeSystem(t, sys)
	})
}

func TestWhatIsBelowAnActorEndsBeforeTheNextIncarnation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem(fewRestarts)
		beside, err := sys.Scope().Group("beside", "group")
		require.NoError(t, err)
		friend := spawn(t, beside, polly(nil))
		parent := spawn(t, sys.Scope(), polly(nil))
		below := ask(t, parent, scope)
		slow := polly(nil)
		slow.Ended = func(error) { time.Sleep(time.Hour) }
		child := spawn(t, below, slow)
		group, err := below.Group("nest", "group")
		require.NoError(t, err)
		grandchild := spawn(t, group, polly(nil))

		began := time.Now()
		parent.Tell(func(*parrot) { panic("x") })
		<-grandchild.Done()
		<-group.Done()
		synctest.Wait()
		_, err = actors.Spawn(below, polly(nil))
		require.ErrorIs(t, err, actors.ErrStopped, "nothing is spawned between two incarnations")
		require.Equal(t, 2, ask(t, parent, incarnation))
		require.Greater(t, time.Since(began), time.Hour)
		<-child.Done()
		spawn(t, below, polly(nil))
		require.Equal(t, 1, ask(t, friend, incarnation))
		closeSystem(t, sys)
	})
}

func TestAPanicWhileBeingStoppedIsTheEnd(t *testing.T) {
	t.Parallel()
	for name, panicking := range map[string]func(p *parrot){
		"it stopped itself": func(p *parrot) { p.self.Ref().Stop(); panic("x") },
		"it stopped itself, with something below": func(p *parrot) {
			if _, err := actors.Spawn(p.self.Scope(), polly(nil)); err != nil {
				panic(err)
			}
			p.self.Ref().Stop()
			panic("x")
		},
		"stopped by another": func(p *parrot) {
			done := make(chan struct{})
			go func() { p.self.Ref().Stop(); close(done) }() // ends by itself
			<-done
			panic("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sys := newSystem(actors.WithRestarts(actors.Restarts{Min: time.Hour, Max: time.Hour}))
				var causes []error
				ref := spawn(t, sys.Scope(), polly(func(cause error) { causes = append(causes, cause) }))
				began := time.Now()
				ref.Tell(panicking)
				<-ref.Done()
				require.Zero(t, time.Since(began))
				require.Equal(t, []error{actors.ErrStopped}, causes)
				time.Sleep(2 * time.Hour) // no restart comes
				require.Len(t, causes, 1)
				closeSystem(t, sys)
			})
		})
	}
}

func TestAStopDuringThePauseEndsItAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem(actors.WithRestarts(actors.Restarts{Min: time.Hour, Max: time.Hour}))
		made := 0
		ref := spawn(t, sys.Scope(), actors.Spec[say]{New: func(self actors.Self[say]) actors.Receiver[say] {
			made++
			return &parrot{self: self}
		}})
		ref.Tell(func(*parrot) { panic("x") })
		synctest.Wait()
		require.Equal(t, "failed", sys.Tree()[0].Phase)
		began := time.Now()
		closeSystem(t, sys)
		require.Zero(t, time.Since(began))
		<-ref.Done()
		time.Sleep(2 * time.Hour)
		require.Equal(t, 1, made)
	})
}

func TestPauses(t *testing.T) {
	t.Parallel()
	now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(n int, apart time.Duration) []time.Time {
		times := make([]time.Time, n)
		for i := range times {
			times[i] = now.Add(time.Duration(i) * apart)
		}
		return times
	}
	for name, c := range map[string]struct {
		restarts actors.Restarts
		at       []time.Time
		most     []time.Duration // the longest that each pause may be; half of it is the shortest. −1: given up
	}{
		"doubled up to the longest":    {actors.Restarts{Min: 1, Max: 5, Limit: 5}, at(6, 0), []time.Duration{1, 2, 4, 5, 5, -1}},
		"defaults":                     {actors.Restarts{Limit: 2}, at(3, 0), []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, -1}},
		"the first above the default":  {actors.Restarts{Min: time.Hour}, at(2, 0), []time.Duration{time.Hour, time.Hour}},
		"the longest by default only":  {actors.Restarts{Min: 4 * time.Second}, at(2, 0), []time.Duration{4 * time.Second, 5 * time.Second}},
		"old panics are forgotten":     {actors.Restarts{Min: 1, Max: 8, Limit: 1, Within: time.Minute}, at(4, time.Minute), []time.Duration{1, 1, 1, 1}},
		"no overflow, however it is":   {actors.Restarts{Min: 1 << 61, Max: 1<<63 - 1, Limit: 9}, at(4, 0), []time.Duration{1 << 61, 1 << 62, 1<<63 - 1, 1<<63 - 1}},
		"as many as allowed, for ever": {actors.Restarts{Min: 2, Max: 2, Limit: 3, Within: 3}, at(6, 1), []time.Duration{2, 2, 2, 2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := actors.Pauses(c.restarts, c.at...)
			require.Len(t, got, len(c.most))
			for i, most := range c.most {
				if most < 0 {
					require.Equal(t, most, got[i])
					continue
				}
				require.GreaterOrEqual(t, got[i], most/2)
				require.LessOrEqual(t, got[i], most)
			}
		})
	}
}

func TestPausesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 20 {
		seen[actors.Pauses(actors.Restarts{}, time.Now())[0]] = true
	}
	require.Greater(t, len(seen), 1)
}
