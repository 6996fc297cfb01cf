package naming_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/zktest"
)

// B75: whatever is asked for sees each change that somebody was told of before, also where the
// server lags behind. A leader, which is the second of two here, does not catch up at a sync.
func TestB75_NamesAreUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) {
				on := func(i int) *naming.Names {
					n, err := naming.New(w.SessionOn(i), root)
					require.NoError(w, err)
					return n
				}
				near, far := on(1-lagging), on(lagging)
				bind := func(value string) {
					w.Server.Lag(lagging, 100)
					require.NoError(w, near.Bind(w.Context(), "db", []byte(value)))
				}
				bind("a")
				require.Equal(w, "a", means(w, far, "db"))
				bind("b")
				all, err := far.List(w.Context(), "")
				require.NoError(w, err)
				require.Len(w, all, 1)
				require.Equal(w, "b", string(all[0].Value))
				bind("c")
				require.NoError(w, far.Bind(w.Context(), "db", []byte("d")), "over what it did not know")
				require.Equal(w, "d", means(w, near, "db"))
				w.Server.Lag(lagging, 100)
				require.NoError(w, near.Unbind(w.Context(), "db"))
				require.NoError(w, far.Bind(w.Context(), "db", []byte("e"), naming.IfFree()))
				require.NoError(w, near.Unbind(w.Context(), "db"))
				require.Empty(w, means(w, far, "db"))
				bind("f")
				require.NoError(w, far.Unbind(w.Context(), "db"))
				require.Empty(w, means(w, near, "db"))
			}, zktest.WithServers(2))
		})
	}
}
