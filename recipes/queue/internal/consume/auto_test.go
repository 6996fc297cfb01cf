package consume_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// At most once: what no transaction deletes yet goes back when the consumer closes, also if it was
// chosen to be deleted.
func TestChosenAndNotTakenGoesBack(t *testing.T) {
	t.Parallel()
	z := pack(0, 1)
	z.Room = true
	h := newHand(t, consume.Config{Auto: true, Stream: true, Workers: 1})
	h.claims(z) // it is to be deleted as soon as it is known how much room there is
	h.step(machine.Closing{})
	h.seen("read /q/room/00", 0, "7")
	require.False(t, h.asks("delete "+bucket0))
	h.done("delete /q/line/me-1-1-", 2)
	h.done("create /q/work/returned/ready-0-0000000000:0:1:0", 3)
	require.Empty(t, told[consume.Deliver](h))
}

// At most once: an item whose neighbour was removed meanwhile is chosen again, before those behind
// it.
func TestChosenAgainInOrder(t *testing.T) {
	t.Parallel()
	one, two := pack(0, 2), pack(1, 1)
	h := newHand(t, consume.Config{Auto: true, Stream: true, Workers: 1, Prefetch: 3})
	h.claims(one, two)
	h.failed("delete "+bucket0+"/"+one.Name(), 0, machine.BadVersion)
	require.False(t, h.asks("delete "+bucket0+"/"+two.Name()))
	h.seen("read "+bucket0+"/"+one.Name(), 1, data(one))
	h.done("delete "+bucket0+"/"+one.Name()+" v1", 2)
	var got []string
	for _, d := range told[consume.Deliver](h) {
		got = append(got, string(d.Record.Body))
	}
	require.Equal(t, []string{"0.0", "0.1", "1.0"}, got)
	require.False(t, h.asks("delete "+bucket0))
}
