package zkconn

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// crowd is those that go through a gate.
type crowd struct {
	gate
	t  *testing.T
	mu sync.Mutex
	in []string // in order of entering
}

// atTheGate runs a test in a bubble.
func atTheGate(t *testing.T, test func(c *crowd)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(&crowd{gate: newGate(), t: t}) })
}

// enters lets somebody ask to enter, who waits if it must.
func (c *crowd) enters(ctx context.Context, name string, alone bool) {
	go func() {
		if c.enter(ctx, alone) == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.in = append(c.in, name)
		}
	}()
	synctest.Wait()
}

func (c *crowd) leaves(alone bool) {
	c.leave(alone)
	synctest.Wait()
}

// empty checks that nobody is inside, nor waits.
func (c *crowd) empty() {
	require.True(c.t, c.turn.TryAcquire(1))
	require.True(c.t, c.room.TryAcquire(wholeRoom))
}

// A request that is to be alone waits for those that are under way; those that come behind it wait
// for it, and go together.
func TestWhoIsToBeAloneIs(t *testing.T) {
	atTheGate(t, func(c *crowd) {
		ctx, gone := context.WithCancel(c.t.Context())
		c.enters(ctx, "a", false)
		c.enters(ctx, "b", false)
		require.Equal(c.t, []string{"a", "b"}, c.in)
		c.enters(ctx, "suspect", true)
		c.enters(ctx, "c", false)
		c.leaves(false)
		require.Len(c.t, c.in, 2)
		c.leaves(false)
		require.Equal(c.t, "suspect", c.in[2])
		require.Len(c.t, c.in, 3)
		c.enters(ctx, "another suspect", true)
		c.leaves(true)
		require.Equal(c.t, []string{"a", "b", "suspect", "c"}, c.in)
		c.leaves(false)
		require.Equal(c.t, "another suspect", c.in[4])
		c.leaves(true)
		c.enters(ctx, "d", true)
		require.Len(c.t, c.in, 6, "nobody is left inside")
		c.enters(ctx, "e", false)
		gone()
		synctest.Wait()
		require.Len(c.t, c.in, 6, "it is not sent any more")
		c.leaves(true)
		c.empty()
	})
}

// Whoever gives up no longer holds up those behind.
func TestASuspectThatGivesUpHoldsNobodyUp(t *testing.T) {
	atTheGate(t, func(c *crowd) {
		ctx, giveUp := context.WithCancel(c.t.Context())
		c.enters(c.t.Context(), "a", false)
		c.enters(ctx, "suspect", true)
		c.enters(c.t.Context(), "b", false)
		require.Equal(c.t, []string{"a"}, c.in)
		giveUp()
		synctest.Wait()
		require.Equal(c.t, []string{"a", "b"}, c.in)
		c.leaves(false)
		c.leaves(false)
		c.empty()
	})
}

// Of several suspects each waits until those are in that are none: nobody waits for more than one
// of them.
func TestSuspectsTakeTurnsWithTheOthers(t *testing.T) {
	atTheGate(t, func(c *crowd) {
		ctx := c.t.Context()
		c.enters(ctx, "a", false)
		c.enters(ctx, "first", true)
		c.enters(ctx, "second", true)
		c.enters(ctx, "x", false)
		c.enters(ctx, "y", false)
		c.leaves(false)
		require.Equal(c.t, []string{"a", "first"}, c.in)
		c.leaves(true)
		require.ElementsMatch(c.t, []string{"x", "y"}, c.in[2:])
		c.leaves(false)
		c.leaves(false)
		require.Equal(c.t, "second", c.in[4])
		c.leaves(true)
		c.empty()
	})
}
