package tail

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// What is delayed has a lane for each time slot: those that are over are forgotten.
func TestLanesAreForgotten(t *testing.T) {
	t.Parallel()
	end := New(layout.Root("/q"), Usual)
	var names []string
	for slot := range 1000 {
		end.Listed(names)
		l := place.SlotOf(int64(slot*10_000), 0)
		end.Append([]Addition{{Lane: l}, {}})
		names = []string{place.Bucket{Lane: l}.Name(), place.Bucket{}.Name()}
	}
	end.Listed(names)
	require.Len(t, end.lanes, 2)
}
