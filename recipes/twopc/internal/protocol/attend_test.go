package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// A site dies, and its successor is there before the coordinator has looked: it died all the same.
// One that outlives its session replaces its own presence.
func TestAPresenceThatWasReplacedUnseen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after string
		died          bool
	}{
		"by a successor":                 {"old", "new", true},
		"by one that had asked":          {"\nwho", "new", true},
		"by one that answered a third":   {"old", "new\nhere", true},
		"by its own of the next session": {"own", "own", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := []byte(`{"guid":"` + guid(1) + `","sites":["x"],"coordinator":"c","state":"undecided"}`)
			alive := root.Alive("x")
			a := &answerer{tr: recipetest.NewTrace(t, protocol.NewCoordinator(root, "c", 1000))}
			a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
			a.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
			a.transact(machine.Done)
			a.seen(root.Coordinator("c"), []byte("c"), machine.Stat{Owner: 7})
			a.seen(root.Inbox("x"), nil, machine.Stat{})
			a.transact(machine.Done)
			a.seen(root.Tx("t"), record, machine.Stat{})
			a.seen(root.Vote("t", guid(1), "x"), []byte{}, machine.Stat{})
			a.seen(alive, []byte(c.before), machine.Stat{Czxid: 5, Owner: 8})
			a.tell(machine.Fired{Epoch: 1, Path: alive, Change: machine.Deleted})
			a.seen(alive, []byte(c.after), machine.Stat{Czxid: 6, Owner: 9})
			if !c.died {
				_, ok := has[machine.Transact](a.asked)
				require.False(t, ok)
				return
			}
			a.transact(machine.Done)
			decided, ok := has[protocol.Decided](a.asked)
			require.True(t, ok)
			require.Equal(t, protocol.Aborted, decided.Outcome)
			require.Contains(t, decided.Reason, "died")
		})
	}
}
