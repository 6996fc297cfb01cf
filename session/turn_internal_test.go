package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// Contenders that only the record can tell apart are created one after the other, in later epochs
// too. One whose creation panics does not keep the others waiting.
func TestATurnThatPanicsIsOver(t *testing.T) {
	t.Parallel()
	s, err := New([]string{"a:1"})
	require.NoError(t, err)
	c := &contender{parent: "/line", form: znode.Plain, settled: notify.NewLatch()}
	broken := &znodes{requests: &s.requests} // without a namespace, which is a panic
	require.Panics(t, func() { _, _, _ = (&joining{znodes: broken, contender: c}).inTurn() })
	require.Empty(t, s.state.in.ledger.turns)
	require.NoError(t, s.Close(t.Context()))
}
