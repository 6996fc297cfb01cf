package consume_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// backs are the names of the entries that a transaction makes.
func backs(e machine.Effect) (names []string) {
	for _, op := range e.(machine.Transact).Ops {
		if name, ok := strings.CutPrefix(op.Path, layout.Root(root).Returned()+"/"); ok && op.Do == machine.Create {
			names = append(names, name)
		}
	}
	return names
}

// Neighbours that go back together share a znode, however often that was cut out before.
func TestNeighboursGoBackTogether(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Prefetch: 8, Workers: 8})
	z := pack(0, 8).Cut(2, 6)
	h.first(1)
	h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("list /q/work/returned", 0, layout.Returned{Entry: layout.Whole(place.Bucket{}, z)}.Name())
	h.seen("read /q/cursor", 0, "ready-0-0000000000 0")
	h.listed("list "+bucket0, 0, pack(0, 8).Name(), z.Name())
	h.done("delete /q/work/returned/ready-0-0000000000:0.3to8:3f:0", 1)
	h.listed("list "+bucket0, 0, pack(0, 8).Name(), z.Name())
	if h.asks("list " + bucket0) { // the sweep's came first
		h.listed("list "+bucket0, 0, pack(0, 8).Name(), z.Name())
	}
	h.seen("read "+bucket0+"/"+z.Name(), 0, data(z))
	items := told[consume.Deliver](h)
	require.Len(t, items, 6)
	h.step(consume.Settle{No: items[0].No, How: consume.Ack}) // under way, while three are returned
	for _, n := range []int{1, 2, 4} {
		h.step(consume.Settle{No: items[n].No, How: consume.Return})
	}
	h.done("set /q/journal/me-1", 2)
	e := h.take("create " + bucket0)
	require.Equal(t, []string{"ready-0-0000000000:0.4to5:3:0", "ready-0-0000000000:0.7:1:0"}, backs(e))
	require.Contains(t, asked(e), "create "+bucket0+"/"+z.Cut(1, 2).Name())
}
