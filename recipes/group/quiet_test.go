package group_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// A member holds nothing that it could lose to anybody, so it asks for no signs of life: it costs
// ZooKeeper its pings alone.
func TestAMemberSendsNoSyncs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		for _, id := range []string{"a", "b", "c"} {
			w.join(w.Host(id), id, "")
		}
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		for _, r := range w.Server.Journal() {
			require.Equal(w, zktest.OpPing, r.Op)
		}
	})
}
