package twopc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/twopc"
)

// unseen crashes a coordinator's actor while the sites are cut off: its presence blinks, which they would take for a death.
func (w *world) unseen(c *twopc.Coordinator, sites *host) {
	w.Helper()
	synctest.Wait()
	heal := sites.machine.Partition()
	c.Crash("while nobody looks")
	time.Sleep(time.Second)
	heal()
	time.Sleep(2 * time.Second)
}

// The actors are made anew between two votes, and look at all of them again: each vote is given once, and none is lost behind those that were seen twice.
func TestEachVoteIsGivenOnceAcrossCrashes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.host("c"), form...)
		h := w.host("sites")
		names := []string{"x", "y", "z"}
		sites := map[string]*twopc.Site{}
		for _, name := range names {
			sites[name] = w.site(h, name)
		}
		tx, err := c.Begin(w.Context(), "t", nil, names...)
		require.NoError(w, err)
		for _, name := range names {
			require.NoError(w, within(w, time.Second, sites[name].Proposals()).Commit(w.Context()))
			sites[name].Crash("behind its vote")
			w.unseen(c, h)
		}
		within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Committed, tx.Outcome())
		var votes []string
		for v := range tx.Votes() {
			require.True(w, v.Commit)
			votes = append(votes, v.Site)
		}
		require.Equal(w, names[:len(votes)], votes)
		if form == nil { // a decision of the peers may come before the last vote
			require.Len(w, votes, len(names))
		}
	})
}
