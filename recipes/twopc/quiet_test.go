package twopc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// A site that waits for proposals asks for no signs of life: it costs ZooKeeper its pings alone.
func TestASiteSendsNoSyncs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.site(w.Host(name), name)
		}
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		for _, r := range w.Server.Journal() {
			require.Equal(w, zktest.OpPing, r.Op)
		}
	})
}
