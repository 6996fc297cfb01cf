package consume_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// A consumer that closes while its journal is being made takes it away again.
func TestClosingBeforeItHasAJournal(t *testing.T) {
	t.Parallel()
	h := &hand{t: t, machine: consume.New(consume.Config{Root: root, Dead: graves, GUID: "me", Stream: true})}
	h.step(machine.EpochBegan{Epoch: 1, Trusted: true})
	h.step(machine.Closing{})
	require.Empty(t, told[machine.Stop](h))
	h.done("create /q/work/alive/me-1", 0)
	h.done("delete /q/journal/me-1 v0, delete /q/work/alive/me-1", 0)
	require.Len(t, told[machine.Stop](h), 1)
}

// A consumer that closes leaves the line at once, however long its last settlements take.
func TestClosingLeavesTheLine(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Prefetch: 4})
	z := pack(0, 1)
	h.claims(z)
	h.step(consume.Received{No: 1})
	h.step(consume.Settle{No: 1, How: consume.Nack, After: 1000})
	h.step(machine.Closing{})
	h.done("set /q/journal/me-1", 2) // which tells when the pause is over
	require.False(t, h.asks("read /q/line"))
	require.True(t, h.asks("delete /q/line/me-1-1-0000000001"))
}

// As many items come at once as there are workers.
func TestEachWorkerHasAnItemAtOnce(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Workers: 3})
	h.claims(pack(0, 1), pack(1, 1), pack(2, 1))
	require.Len(t, told[consume.Deliver](h), 3)
	require.False(t, h.asks("set /q/journal/me-1"))
}
