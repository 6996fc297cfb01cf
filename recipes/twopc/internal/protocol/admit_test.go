package protocol_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// A coordinator that meets ever new sites keeps no more of their inboxes in mind than are worth it;
// and a few it does not look at each time.
func TestACoordinatorForgetsTheInboxesOfSitesOfBefore(t *testing.T) {
	t.Parallel()
	c := protocol.NewCoordinator(root, "c", 1000)
	a := &answerer{tr: recipetest.NewTrace(t, c)}
	a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	a.tell(protocol.Recover{N: 1, ID: "none"})
	a.transact(machine.Done)
	a.seen(root.Coordinator("c"), []byte("c"), machine.Stat{Owner: 7})
	a.seen(root.Tx("none"), nil, machine.Stat{})
	looks := 0
	begin := func(n int, site string) {
		a.asked = nil
		a.tell(protocol.Begin{N: uint64(n), ID: fmt.Sprint("t", n), GUID: guid(n), Sites: []string{site}})
		if read, is := has[machine.Read](a.asked); is {
			looks++
			a.seen(read.Path, nil, machine.Stat{})
		}
		a.transact(machine.Refused)
	}
	for n := range 100 {
		begin(2+n, fmt.Sprint("s", n%2))
	}
	require.Equal(t, 2, looks)
	for n := range 5000 {
		begin(1000+n, fmt.Sprint("site", n))
	}
	require.LessOrEqual(t, c.Rooms(), 1024)
}
