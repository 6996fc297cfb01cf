package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// commit has a transaction of one site committed, the first of the coordinator's.
func (a *answerer) commit(t *testing.T, n uint64, id string, czxid int64) {
	t.Helper()
	g := guid(int(n))
	record := []byte(`{"guid":"` + g + `","sites":["x"],"coordinator":"c","state":"undecided"}`)
	a.tell(protocol.Begin{N: n, ID: id, GUID: g, Sites: []string{"x"}})
	a.seen(root.Inbox("x"), nil, machine.Stat{})
	a.transact(machine.Done)
	a.seen(root.Tx(id), record, machine.Stat{Czxid: czxid})
	a.seen(root.Vote(id, g, "x"), []byte("commit"), machine.Stat{Version: 1})
	a.transact(machine.Done)
	_, over := has[protocol.Over](a.asked)
	require.True(t, over)
}

// lists tells whether the records are being listed, as the sweeper does.
func (a *answerer) lists() bool {
	for _, e := range a.asked {
		if l, is := e.(machine.List); is && l.Path == root.Transactions() {
			return true
		}
	}
	return false
}

// An epoch that ends while outcomes are gone through, or deleted, cuts that short. It is done in
// the next, also if nothing is decided there.
func TestASweepThatAnEpochsEndCutShortIsDoneInTheNext(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(a *answerer){
		"before the records are listed": func(*answerer) {},
		"while they are read": func(a *answerer) {
			a.list(root.Transactions(), "old")
		},
		"while one is deleted": func(a *answerer) {
			a.list(root.Transactions(), "old", "young")
			a.seen(root.Tx("old"), []byte(`{"guid":"`+guid(9)+`","sites":["x"],"coordinator":"d","state":"aborted"}`), machine.Stat{Czxid: 1, Children: 1})
			a.seen(root.Tx("young"), []byte(`{}`), machine.Stat{Mtime: 2 * protocol.DefaultAge})
			a.list(root.Tombstones())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := standing(t)
			a.commit(t, 1, "t", 5)
			require.True(t, a.lists())
			cut(a)
			a.asked = nil
			a.tell(machine.EpochEnded{Epoch: 1})
			a.tell(machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
			require.True(t, a.lists())
		})
	}
}

// What was gone through is not gone through again with each epoch.
func TestASweepThatIsDoneIsNotRepeated(t *testing.T) {
	t.Parallel()
	a := standing(t)
	a.commit(t, 1, "t", 5)
	a.list(root.Transactions())
	a.list(root.Tombstones())
	a.asked = nil
	a.tell(machine.EpochEnded{Epoch: 1})
	a.tell(machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	require.False(t, a.lists())
}

// Where nothing can be noted, since all around it is gone, the sweeper does not try for ever.
func TestASweepOfWhatIsGoneEnds(t *testing.T) {
	t.Parallel()
	c := protocol.NewCoordinator(root, "c", 1000).Retain(1, protocol.DefaultAge)
	a := &answerer{tr: recipetest.NewTrace(t, c)}
	a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	a.tell(protocol.Keep{ID: "t1", GUID: guid(1), Czxid: 3})
	a.tell(protocol.Keep{ID: "t2", GUID: guid(2), Czxid: 4}) // one too many
	a.seen(root.Swept(), nil, machine.Stat{})
	note, is := has[machine.Transact](a.asked)
	require.True(t, is)
	a.asked = nil
	a.tell(machine.Transacted{Epoch: 1, Ask: note.Ask, Code: machine.NoNode, Failed: 0})
	require.Empty(t, a.asked)
}
