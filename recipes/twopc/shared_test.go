// What two coordinators learn of one transaction: one began it, and the other took it over while
// the first lived on.

package twopc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// Each learns the outcome, and the first to acknowledge it leaves nothing to do for the other. If
// the other was cut off until then, it can't know, and says so, never that it was another outcome.
func TestTwoCoordinatorsOfOneTransaction(t *testing.T) {
	t.Parallel()
	for first := range 2 {
		for _, cutOff := range []bool{false, true} {
			t.Run(fmt.Sprint(first, " acknowledges, the other is cut off: ", cutOff), func(t *testing.T) {
				t.Parallel()
				inBothForms(t, func(w *world, form []twopc.Option) { share(w, form, first, cutOff) })
			})
		}
	}
}

func share(w *world, form []twopc.Option, first int, cutOff bool) {
	form = append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)
	hosts := []*bubble.Host{w.Host("c"), w.Host("d")}
	far := w.Host("a", session.WithTimeout(time.Minute))
	w.agreeable(w.site(far, "a"))
	reach := far.Machine.Partition()
	tx, err := w.coordinator(hosts[0], form...).Begin(w.Context(), "t", nil, "a")
	require.NoError(w, err)
	w.Server.Expire(hosts[0].Status().SessionID)
	taken, err := w.coordinator(hosts[1], form...).Recover(w.Context())
	require.NoError(w, err)
	require.Len(w, taken, 1)
	time.Sleep(time.Second)

	both := []*twopc.Tx{tx, taken[0]}
	one, other, heal := both[first], both[1-first], func() {}
	if cutOff {
		heal = hosts[1-first].Machine.Partition()
	}
	require.NoError(w, one.Abort(w.Context(), "no longer wanted"))
	reach()
	time.Sleep(10 * time.Second) // the site has acknowledged
	if !cutOff {
		bubble.Within(w, time.Minute, other.Done())
		require.Equal(w, twopc.Aborted, other.Outcome())
		require.Equal(w, "no longer wanted", other.Reason())
	}
	require.NoError(w, one.Ack(w.Context()))
	require.Empty(w, w.nodes())
	heal()
	bubble.Within(w, time.Minute, other.Done())
	if !cutOff {
		require.NoError(w, other.Ack(w.Context()))
		return
	}
	require.ErrorIs(w, other.Err(), twopc.ErrGone)
	require.Equal(w, twopc.Undecided, other.Outcome())
	require.ErrorIs(w, other.Ack(w.Context()), twopc.ErrGone)
}
