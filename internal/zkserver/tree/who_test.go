package tree_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// To take one more identity costs no more for somebody who has many: the server does it under its
// lock. One that is there is not taken again.
func TestIdentitiesCostTheSameHoweverManyThereAre(t *testing.T) {
	w := tree.NewWho()
	next := 0
	add := func() {
		next++
		w.Add(jute.Identity{Scheme: "digest", ID: strconv.Itoa(next)})
	}
	for range 10_000 {
		add()
	}
	require.Less(t, testing.AllocsPerRun(100, add), 10.0)
	require.Len(t, w.IDs(), next)
	w.Add(jute.Identity{Scheme: "digest", ID: "1"})
	require.Len(t, w.IDs(), next)
}
