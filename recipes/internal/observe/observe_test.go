package observe_test

// An observer is an actor: it is restarted, slows its sources down, and ends with its session.

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/internal/observe"
)

func TestMain(m *testing.M) { tier.Main(m) }

// A panic in a call on a separate goroutine restarts the actor.
func TestACallThatPanicsRestartsTheObservation(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		calls, answers := 0, make(chan int, 1)
		observe.Run(w.Context(), observe.Spec{Session: w.Session(), Kind: "test", Path: "/a", Ended: func(error) { close(answers) }, Begin: func(o *observe.Turn) {
			observe.Ask(o.Context(), o, func(context.Context) int {
				if calls++; calls < 3 {
					panic("on purpose")
				}
				return calls
			}, func(n int) { answers <- n; o.End() })
		}})
		require.Equal(w, 3, <-answers)
		_, open := <-answers
		require.False(w, open)
	})
}

// A slow observer keeps its source waiting: its mailbox stays short.
func TestWhatFeedsAnObservationWaitsForIt(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		ctx, cancel := context.WithCancel(w.Context())
		states, busy := make(chan int), make(chan struct{})
		observe.Run(ctx, observe.Spec{Session: w.Session(), Kind: "test", Path: "/a", Ended: func(error) {}, Begin: func(o *observe.Turn) {
			observe.Each(o.Context(), o, states, func(int, bool) { <-busy })
		}})
		states <- 1
		synctest.Wait()
		select {
		case states <- 2:
			require.Fail(w, "taken while f runs for the first")
		case <-time.After(time.Minute):
		}
		close(busy)
		states <- 2
		cancel()
		synctest.Wait()
		select {
		case states <- 3:
			require.Fail(w, "taken after the end")
		case <-time.After(time.Minute):
		}
	})
}

// A timer does nothing when its context or its incarnation has ended.
func TestWhatComesTooLateIsNotTaken(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		var inActor func(f func()) bool
		started := func(run func(func()) bool) { inActor = run }
		ctx, cancel := context.WithCancel(context.WithValue(w.Context(), observe.Started{}, started))
		defer cancel()
		var begun, taken atomic.Int32
		observe.Run(ctx, observe.Spec{Session: w.Session(), Kind: "test", Path: "/a", Ended: func(error) {}, Begin: func(o *observe.Turn) {
			part, endPart := context.WithCancel(o.Context())
			observe.After(part, o, time.Second, func() { taken.Add(1) })
			observe.After(o.Context(), o, time.Second, func() { taken.Add(10) })
			if begun.Add(1) == 2 {
				endPart()
			}
			w.Cleanup(endPart)
		}})
		synctest.Wait()
		inActor(func() { panic("on purpose") })
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(w, 2, begun.Load())
		require.EqualValues(w, 10, taken.Load(), "only the second timer of the second incarnation")
	})
}

// A session's end ends its observers, at once if it is closed already.
func TestObservationsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		ended := make(chan error, 2)
		s := w.Session()
		spec := observe.Spec{Session: s, Kind: "test", Path: "/a", Ended: func(err error) { ended <- err }, Begin: func(*observe.Turn) {}}
		observe.Run(w.Context(), spec)
		require.NoError(w, s.Close(w.Context()))
		require.NoError(w, <-ended)
		observe.Run(w.Context(), spec)
		require.NoError(w, <-ended)
	})
}
