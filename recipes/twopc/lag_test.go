package twopc_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// B75: Recover takes over what a dead coordinator was told that it had begun, also where the server
// lags behind. A leader, which is the second of two here, does not catch up at a sync.
func TestB75_RecoverIsUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
				near, far := w.HostOn("a", server(1-lagging)), w.HostOn("b", server(lagging))
				next := w.coordinator(far)
				taken, err := next.Recover(w.Context())
				require.NoError(w, err)
				require.Empty(w, taken)
				synctest.Wait()
				w.Server.Lag(lagging, 100)
				_, err = w.coordinator(near).Begin(w.Context(), "t", nil, "x")
				require.NoError(w, err)
				near.Die()
				w.Server.Expire(near.Status().SessionID)
				taken, err = next.Recover(w.Context())
				require.NoError(w, err)
				require.Len(w, taken, 1)
			}, zktest.WithServers(2))
		})
	}
}
