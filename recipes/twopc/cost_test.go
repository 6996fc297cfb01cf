// What docs/recipes/twopc.md says about costs.

package twopc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/zktest"
)

// cost counts what one committed and acknowledged transaction of n sites costs, once everybody
// knows everybody.
func cost(w *world, n int, form ...twopc.Option) (requests, events int) {
	w.Helper()
	c := w.coordinator(w.Host("c"), form...)
	var names []string
	var sites []*twopc.Site
	for i := range n {
		names = append(names, fmt.Sprint("s", i))
		sites = append(sites, w.site(w.Host(names[i]), names[i]))
	}
	round := func(id string) {
		tx, err := c.Begin(w.Context(), id, []byte("pay"), names...)
		require.NoError(w, err)
		var open []*twopc.Proposal
		for _, site := range sites {
			p := bubble.Within(w, time.Second, site.Proposals())
			require.NoError(w, p.Commit(w.Context()))
			open = append(open, p)
		}
		bubble.Within(w, time.Second, tx.Decided())
		synctest.Wait()
		require.NoError(w, tx.Ack(w.Context()))
		for _, p := range open {
			require.NoError(w, p.Ack(w.Context()))
		}
		synctest.Wait()
		require.Empty(w, w.nodes())
	}
	round("first")
	w.Server.ClearJournal()
	round("second")
	for _, q := range w.Server.Journal() {
		events += q.Fired
		if q.Op != zktest.OpPing {
			requests++
		}
	}
	return requests, events
}

// The coordinator's form is linear in the number of sites; that of the peers is square.
func TestCosts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4, 8, 16} {
		inBothForms(t, func(w *world, form []twopc.Option) {
			requests, events := cost(w, n, form...)
			w.Logf("%d sites: %d requests, %d watch events", n, requests, events)
			if form == nil {
				require.LessOrEqual(w, requests, 12*n+8) // which of two looks comes first makes a request or two
				require.LessOrEqual(w, events, 3*n+1)
				return
			}
			require.GreaterOrEqual(w, events, n*n)
			require.LessOrEqual(w, events, 2*n*n+4*n+1)
		})
	}
}

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
