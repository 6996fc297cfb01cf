package consume_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// Where the room was deleted, items are settled without it. It is looked for each time: the queue
// may have been made again.
func TestRoomThatComesBack(t *testing.T) {
	t.Parallel()
	one, two := pack(0, 1), pack(1, 1)
	one.Room, two.Room = true, true
	h := newHand(t, consume.Config{Stream: true, Workers: 2})
	h.claims(one, two)
	h.none("read /q/room/00")
	h.step(consume.Received{No: 1})
	h.step(consume.Received{No: 2})
	h.step(consume.Settle{No: 1, How: consume.Ack})
	h.done("delete "+bucket0+"/"+one.Name(), 2)
	h.step(consume.Settle{No: 2, How: consume.Ack})
	h.seen("read /q/room/00", 4, "7")
	require.True(t, h.asks("set /q/room/00 v4 \"8\""))
}
