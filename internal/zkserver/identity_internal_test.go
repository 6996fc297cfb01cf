package zkserver

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// To take one more identity costs no more for a connection that has many: the server does it under
// its lock.
func TestIdentitiesCostTheSameHoweverManyThereAre(t *testing.T) {
	c := &conn{who: tree.NewWho()}
	const many = 10_000
	for i := range many {
		c.identify(jute.Identity{Scheme: "digest", ID: strconv.Itoa(i)})
	}
	next := many
	require.Less(t, testing.AllocsPerRun(100, func() {
		next++
		c.identify(jute.Identity{Scheme: "digest", ID: strconv.Itoa(next)})
	}), 10.0)
	require.Len(t, c.identities(), next)
	c.identify(jute.Identity{Scheme: "digest", ID: "1"})
	require.Len(t, c.identities(), next)
}
