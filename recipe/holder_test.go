package recipe_test

// The holder that others wait for: when it is read, and the errors of waits that name it.

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipe"
)

// reads counts the reads of a holder that entered the queue when the test began.
func reads(n *atomic.Int64) func(context.Context) (recipe.Holder, error) {
	since := time.Now()
	return func(context.Context) (recipe.Holder, error) {
		n.Add(1)
		return recipe.Holder{By: "orders-7", Since: since, Waiting: 9}, nil
	}
}

// All waits of one session for one path share one read. A later wait has its own, and nothing to
// say before that.
func TestWaitsOfASessionShareTheReadOfTheHolder(t *testing.T) {
	inBubble(t, func(g *ground) {
		var read atomic.Int64
		cfg := recipe.ClaimsConfig{Machine: newWaiting, Holder: reads(&read)}
		var all []<-chan error
		for range 10 {
			i := g.claims(cfg)
			all = append(all, bubble.Begin(func() error { return g.gaveUp(i, 5*time.Second) }))
			time.Sleep(50 * time.Millisecond)
		}
		for _, wait := range all {
			require.ErrorContains(g, <-wait, "held by orders-7, queued 5 s ago; 9 wait")
		}
		require.EqualValues(g, 1, read.Load())
		i := g.claims(cfg)
		require.ErrorContains(g, g.gaveUp(i, time.Hour), "held by orders-7, queued 1h0m5s ago; 9 wait (seen 59m59s ago)")
		require.EqualValues(g, 2, read.Load())
		require.NotContains(g, g.gaveUp(i, 900*time.Millisecond).Error(), "held")
	})
}

// A hand-over within a second reads no holder.
func TestAHandOverWithinASecondReadsNoHolder(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"soon": 100 * time.Millisecond, "late": 900 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				var read atomic.Int64
				i := g.claims(recipe.ClaimsConfig{Holder: reads(&read)})
				first := g.claim(i)
				next := bubble.Begin(func() *recipe.Possession { return g.claim(i) })
				time.Sleep(pause)
				require.NoError(g, first.Release(g.ctx))
				bubble.Within(g, time.Millisecond, next)
				time.Sleep(time.Minute)
				require.Zero(g, read.Load())
			})
		})
	}
}

// A grant, or the end of the wait, does not wait for the read of the holder, and ends it.
func TestAWaitThatEndsWhileItsHolderIsRead(t *testing.T) {
	t.Parallel()
	for name, granted := range map[string]bool{"by a grant": true, "in vain": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				began, ended := make(chan struct{}), make(chan error, 1)
				read := func(ctx context.Context) (recipe.Holder, error) {
					close(began)
					<-ctx.Done()
					ended <- ctx.Err()
					return recipe.Holder{By: "orders-7"}, nil
				}
				i, rival := g.claims(recipe.ClaimsConfig{Holder: read}), g.claims(recipe.ClaimsConfig{Holder: read, Machine: newWaiting})
				first := g.claim(i)
				if !granted {
					i = rival
					require.NoError(g, first.Release(g.ctx))
				}
				ctx, cancel := context.WithCancelCause(g.ctx)
				wait := bubble.Begin(func() error { _, err := i.Claim(ctx, false, recipe.Asked{}); return err })
				<-began
				if granted {
					require.NoError(g, first.Release(g.ctx))
					require.NoError(g, bubble.Now(g, wait))
				} else {
					cancel(errors.New("enough"))
					require.EqualError(g, bubble.Now(g, wait), "enough")
				}
				require.ErrorIs(g, bubble.Now(g, ended), context.Canceled)
				cancel(nil)
			})
		})
	}
}

// A holder that cannot be read is not named, nor asked for again.
func TestAHolderThatCannotBeReadIsNotNamed(t *testing.T) {
	inBubble(t, func(g *ground) {
		var read atomic.Int64
		i := g.claims(recipe.ClaimsConfig{Machine: newWaiting, Holder: func(context.Context) (recipe.Holder, error) {
			read.Add(1)
			return recipe.Holder{}, errors.New("no right")
		}})
		require.EqualError(g, g.gaveUp(i, time.Minute), context.DeadlineExceeded.Error())
		time.Sleep(time.Minute)
		require.EqualValues(g, 1, read.Load())
	})
}

// The log names the holder that a standing intent waits for, at the level Debug. At other levels
// the holder is not read.
func TestTheLogTellsWhatAnIntentWaitsFor(t *testing.T) {
	t.Parallel()
	for name, debug := range map[string]bool{"at Debug": true, "at Info": false} {
		t.Run(name, func(t *testing.T) {
			var log bubble.Log
			option := log.Option()
			if debug {
				option = log.Debug()
			}
			inBubble(t, func(g *ground) {
				var read atomic.Int64
				i := g.claims(recipe.ClaimsConfig{Machine: newWaiting, Holder: reads(&read)})
				recipe.Logger(g.sess).Debug("by which the level is known")
				log.Count("") // when that is handed over
				i.Stand(recipe.Asked{})
				time.Sleep(time.Hour)
				times := map[bool]int{true: 1}[debug]
				require.EqualValues(g, times, read.Load())
				require.Equal(g, times, log.Count("what is wanted is held"))
				require.Equal(g, times, log.Count(`holder="held by orders-7, queued 1 s ago; 9 wait"`))
			}, option)
		})
	}
}
