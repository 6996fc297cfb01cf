package zkconn

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

// A request that is to be alone waits for those that are under way; those that come behind it wait
// for it, and go together.
func TestWhoIsToBeAloneIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g gate
		gone, shut := notify.NewLatch(), notify.NewLatch()
		var in []string
		enter := func(name string, alone bool) {
			go func() {
				if g.enter(alone, gone, shut) {
					in = append(in, name) // one after the other: each waits for all to come to rest
				}
			}()
			synctest.Wait()
		}
		leave := func() {
			g.leave()
			synctest.Wait()
		}
		enter("a", false)
		enter("b", false)
		require.Equal(t, []string{"a", "b"}, in)
		enter("suspect", true)
		enter("c", false)
		leave()
		require.Len(t, in, 2)
		leave()
		require.Equal(t, "suspect", in[2])
		require.Len(t, in, 3)
		enter("another suspect", true)
		leave()
		require.Equal(t, []string{"a", "b", "suspect", "c"}, in)
		leave()
		require.Equal(t, "another suspect", in[4])
		leave()
		enter("d", true)
		require.Len(t, in, 6, "nobody is left inside")
		enter("e", false)
		gone.Close()
		synctest.Wait()
		require.Len(t, in, 6, "it is not sent any more")
		leave()
		require.Zero(t, g.inside)
		require.Empty(t, g.waiting)
	})
}

// Whoever gives up no longer holds up those behind.
func TestASuspectThatGivesUpHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	var g gate
	require.Nil(t, g.tryEnter(false))
	suspect := g.tryEnter(true)
	other := g.tryEnter(false)
	require.False(t, other.admitted.Closed())
	require.True(t, g.cancel(suspect))
	require.True(t, other.admitted.Closed())
	require.False(t, g.cancel(other))
	require.Equal(t, 2, g.inside)
}

// Of several suspects each waits until those are in that are none: nobody waits for more than one
// of them.
func TestSuspectsTakeTurnsWithTheOthers(t *testing.T) {
	t.Parallel()
	var g gate
	require.Nil(t, g.tryEnter(false))
	first, second := g.tryEnter(true), g.tryEnter(true)
	x, y := g.tryEnter(false), g.tryEnter(false)
	g.leave()
	require.True(t, first.admitted.Closed())
	require.False(t, x.admitted.Closed())
	g.leave()
	require.True(t, x.admitted.Closed())
	require.True(t, y.admitted.Closed())
	require.False(t, second.admitted.Closed())
	g.leave()
	g.leave()
	require.True(t, second.admitted.Closed())
}
