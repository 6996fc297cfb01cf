package recipe_test

// The holder that others wait for: its reads, the errors that name it. Helpers: harness_test.go.

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
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
		long := bubble.Begin(func() error { return g.gaveUp(i, time.Hour) })
		time.Sleep(2 * time.Second)
		require.NotContains(g, g.gaveUp(i, 900*time.Millisecond).Error(), "held")
		require.ErrorContains(g, <-long, "held by orders-7, queued 1h0m5s ago; 9 wait (seen 59m59s ago)")
		require.EqualValues(g, 2, read.Load())
	})
}

// A hand-over within a second reads no holder.
func TestAHandOverWithinASecondReadsNoHolder(t *testing.T) {
	inBubble(t, func(g *ground) {
		var read atomic.Int64
		i := g.claims(recipe.ClaimsConfig{Holder: reads(&read)})
		first := g.claim(i)
		next := bubble.Begin(func() *recipe.Possession { return g.claim(i) })
		time.Sleep(900 * time.Millisecond)
		require.NoError(g, first.Release(g.ctx))
		bubble.Within(g, time.Millisecond, next)
		time.Sleep(time.Minute)
		require.Zero(g, read.Load())
	})
}

// A grant, or the end of the wait, does not wait for the read of the holder, and ends it.
func TestAWaitThatEndsWhileItsHolderIsRead(t *testing.T) {
	inBubble(t, func(g *ground) {
		ended := make(chan error, 2)
		i := g.claims(recipe.ClaimsConfig{Holder: func(ctx context.Context) (recipe.Holder, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return recipe.Holder{By: "orders-7"}, nil
		}})
		first := g.claim(i)
		next := bubble.Begin(func() *recipe.Possession { return g.claim(i) })
		time.Sleep(2 * time.Second)
		bubble.Never(g, ended, "it is being read")
		require.NoError(g, first.Release(g.ctx))
		bubble.Now(g, next)
		require.ErrorIs(g, bubble.Now(g, ended), context.Canceled)

		ctx, cancel := context.WithCancelCause(g.ctx)
		wait := bubble.Begin(func() error { _, err := i.Claim(ctx, false, recipe.Asked{}); return err })
		time.Sleep(2 * time.Second)
		cancel(errors.New("enough"))
		require.Regexp(g, "^enough: held in this process", bubble.Now(g, wait).Error())
		require.ErrorIs(g, bubble.Now(g, ended), context.Canceled)
	})
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

// The log names the holder that a standing intent waits for, at the level Debug. It is read once in
// a wait, also at other levels, for snapshots.
func TestTheLogTellsWhatAnIntentWaitsFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		option func(*bubble.Log) session.Option
		times  int
	}{"at Debug": {(*bubble.Log).Debug, 1}, "at Info": {(*bubble.Log).Option, 0}} {
		t.Run(name, func(t *testing.T) {
			var log bubble.Log
			inBubble(t, func(g *ground) {
				var read atomic.Int64
				i := g.claims(recipe.ClaimsConfig{Machine: newWaiting, Holder: reads(&read)})
				recipe.Logger(g.sess).Debug("by which the level is known")
				log.Count("") // when that is handed over
				i.Stand(recipe.Asked{})
				time.Sleep(time.Hour)
				require.EqualValues(g, 1, read.Load())
				require.Equal(g, "orders-7", g.sess.Snapshot().Waiting[0].Holder)
				require.Equal(g, row.times, log.Count("what is wanted is held"))
				require.Equal(g, row.times, log.Count(`holder="held by orders-7, queued 1 s ago; 9 wait"`))
			}, row.option(&log))
		})
	}
}
