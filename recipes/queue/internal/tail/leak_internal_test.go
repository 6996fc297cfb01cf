package tail

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Each second has a slot of its own, for short delays: those whose time is over are forgotten, also
// if nothing is ever listed again.
func TestSlotsAreForgotten(t *testing.T) {
	t.Parallel()
	tail := New("/q", Usual)
	tail.Listed(nil, nil)
	for n := range int64(5_000) {
		_, parts := tail.Append([]Addition{{Lane: layout.SlotOf(n*1024, 1000)}})
		require.NotEmpty(t, parts)
	}
	require.LessOrEqual(t, len(tail.lanes), 2000)
}
