package naming_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/zktest"
)

// What docs/recipes/naming.md says about costs.
func TestCosts(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		watcher, _ := names(w)
		require.NoError(w, n.Bind(w.Context(), "db/primary", []byte("a")))
		seen := watcher.Observe(w.Context(), "db/primary")
		bubble.Within(w, time.Second, seen)
		cost := func(f func()) (requests, fired int) {
			synctest.Wait()
			w.Server.ClearJournal()
			f()
			synctest.Wait()
			for _, q := range w.Server.Journal() {
				fired += q.Fired
				if q.SessionID == s.Status().SessionID && q.Op != zktest.OpPing {
					requests++
				}
			}
			return requests, fired
		}
		requests, fired := cost(func() { require.NoError(w, n.Bind(w.Context(), "db/primary", []byte("b"))) })
		require.Equal(w, 3, requests, "Bind")
		require.Equal(w, 1, fired)
		require.Equal(w, "b", string(bubble.Within(w, time.Second, seen).Value))
		requests, _ = cost(func() { require.Equal(w, "b", means(w, n, "db/primary")) })
		require.Equal(w, 2, requests, "Lookup")
		requests, _ = cost(func() {
			all, err := n.List(w.Context(), "")
			require.NoError(w, err)
			require.Len(w, all, 1)
		})
		require.Equal(w, 1+2*3, requests, "List: of /names, db and db/primary")
		requests, _ = cost(func() { require.NoError(w, n.Unbind(w.Context(), "db/primary")) })
		require.Equal(w, 5+2, requests, "Unbind, and db, which nobody needs any more")
	})
}
