package twopc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/twopc"
)

// forms are the two of ZooKeeper's recipe page.
var forms = map[string][]twopc.Option{"coordinator decides": nil, "peers decide": {twopc.WithPeerDecision()}}

func inBothForms(t *testing.T, f func(w *world, form []twopc.Option)) {
	t.Helper()
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { f(w, form) })
		})
	}
}

func TestAllVoteToCommit(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.host("c"), form...)
		a, b := w.site(w.host("a"), "a"), w.site(w.host("b"), "b")
		tx, err := c.Begin(w.Context(), "t1", []byte("pay"), "a", "b")
		require.NoError(w, err)
		require.Equal(w, twopc.Undecided, tx.Outcome())
		pa, pb := within(w, time.Second, a.Proposals()), within(w, time.Second, b.Proposals())
		require.Equal(w, "t1", pa.ID())
		require.Equal(w, []byte("pay"), pb.Payload())
		require.Equal(w, twopc.Undecided, pa.Voted())
		require.NoError(w, pa.Commit(w.Context()))
		require.Equal(w, twopc.Committed, pa.Voted())
		never(w, tx.Decided(), "decided without b")
		require.ErrorIs(w, pa.Ack(w.Context()), twopc.ErrUndecided)
		require.NoError(w, pb.Commit(w.Context()))
		within(w, time.Second, tx.Decided())
		within(w, time.Second, pa.Decided())
		within(w, time.Second, pb.Decided())
		require.Equal(w, twopc.Committed, tx.Outcome())
		require.Equal(w, twopc.Committed, pa.Outcome())
		require.Equal(w, twopc.Committed, pb.Outcome())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.ErrorIs(w, tx.Abort(w.Context(), "late"), twopc.ErrDecided)
		require.NoError(w, pa.Ack(w.Context()))
		require.NotEmpty(w, w.nodes(), "b has not acknowledged")
		require.NoError(w, pb.Ack(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.Empty(w, w.nodes())
	})
}
