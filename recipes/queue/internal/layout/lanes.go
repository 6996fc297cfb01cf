package layout

import (
	"slices"

	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

func sortLanes(lanes []place.Lane) { slices.SortFunc(lanes, place.Lane.Compare) }
