package consume_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// The journal marks an item before it is handed out, so that one that kills its process counts as
// an attempt. One that finds no receiver loses the mark, and gets it when it finds one.
func TestMarkOfAnItemThatLies(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Workers: 1, Prefetch: 2})
	h.claims(pack(0, 2))
	all := told[consume.Deliver](h)
	require.Len(t, all, 1, "marked with the claim")
	h.wokeAfter(10)
	h.done(`set /q/journal/me-1 v1 "2 fixed\nready-0-0000000000:0 3"`, 2)
	h.step(consume.Received{No: all[0].No})
	h.done(`ready-0-0000000000:0 3 `, 3)
	for _, d := range told[consume.Deliver](h)[1:] {
		require.NotEqual(t, all[0].ID, d.ID, "it is not handed out twice")
	}
}

// What is settled before the mark is written needs none.
func TestSettledWhileItLies(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Workers: 1, Prefetch: 1})
	h.claims(pack(0, 1))
	d := told[consume.Deliver](h)[0]
	h.wokeAfter(10)
	h.done(`set /q/journal/me-1 v1 "2 fixed\nready-0-0000000000:0 1"`, 2)
	h.step(consume.Received{No: d.No})
	h.failed(`set /q/journal/me-1 v2 "3 fixed\nready-0-0000000000:0 1 1"`, -1, machine.Unknown)
	h.step(consume.Settle{No: d.No, How: consume.Ack})
	h.seen("read /q/journal/me-1", 2, "2 fixed\nready-0-0000000000:0 1")
	h.done("delete "+bucket0+"/"+pack(0, 1).Name(), 3)
	require.Len(t, told[consume.Settled](h), 1)
}

// wokeAfter lets the timer go off that takes so long.
func (h *hand) wokeAfter(ms int64) {
	h.t.Helper()
	for n, e := range h.pending {
		if w, ok := e.(machine.Wake); ok && w.After == ms {
			h.pending = slices.Delete(h.pending, n, n+1)
			h.step(machine.Woke{Ask: w.Ask})
			return
		}
	}
	require.Fail(h.t, "no such timer")
}
