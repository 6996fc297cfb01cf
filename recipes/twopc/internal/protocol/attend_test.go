package protocol_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// A site dies, and its successor is there before the coordinator has looked: it died all the same.
// One that outlives its session replaces its own presence. One that has voted before it died is not
// missed.
func TestAPresenceThatWasReplacedUnseen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after string
		died, voted   bool
	}{
		"by a successor":                 {"old", "new", true, false},
		"by one that had asked":          {"\nwho\nold", "new", true, false},
		"by one that answered a third":   {"old", "new\nhere", true, false},
		"by its own of the next session": {"own", "own", false, false},
		"by a successor, after its vote": {"old", "new", true, true},
	} {
		a := preparing(t)
		alive, vote := root.Alive("x"), root.Vote("t", guid(1), "x")
		a.seen(vote, []byte{}, machine.Stat{})
		a.seen(alive, []byte(c.before), machine.Stat{Czxid: 5, Owner: 8})
		a.tell(machine.Fired{Epoch: 1, Path: alive, Change: machine.Deleted})
		a.seen(alive, []byte(c.after), machine.Stat{Czxid: 6, Owner: 9})
		if !c.died {
			_, decides := has[machine.Transact](a.asked)
			require.False(t, decides, name)
			continue
		}
		if c.voted {
			a.seen(vote, []byte("commit"), machine.Stat{Version: 1})
		} else {
			a.seen(vote, []byte{}, machine.Stat{})
		}
		a.transact(machine.Done)
		decided, ok := has[protocol.Decided](a.asked)
		require.True(t, ok, name)
		if c.voted {
			require.Equal(t, protocol.Committed, decided.Outcome, name)
			continue
		}
		require.Equal(t, protocol.Aborted, decided.Outcome, name)
		require.Contains(t, decided.Reason, "died", name)
	}
}

// A commit checks the version of each vote that was read, and the mark. If another client has
// changed a vote since, the transaction is aborted. If the mark is gone, so is the transaction.
func TestACommitChecksTheVotesAndTheMark(t *testing.T) {
	t.Parallel()
	vote := root.Vote("t", guid(1), "x")
	for failed, code := range map[int]machine.Code{1: machine.NoNode, 2: machine.BadVersion} {
		a := preparing(t)
		a.seen(vote, []byte("commit"), machine.Stat{Version: 3})
		tx := take(a, func(machine.Transact) bool { return true })
		require.Equal(t, machine.Op{Do: machine.Set, Path: root.Tx("t"), Data: tx.Ops[0].Data, Version: 0}, tx.Ops[0])
		require.Equal(t, machine.Op{Do: machine.Check, Path: vote, Version: 3}, tx.Ops[2])
		a.tell(machine.Transacted{Epoch: 1, Ask: tx.Ask, Code: code, Failed: failed})
		ended, over := has[protocol.Ended](a.asked)
		if require.Equal(t, failed == 1, over); over { // the mark
			require.ErrorIs(t, ended.Err, protocol.ErrGone)
			continue
		}
		tx = take(a, func(machine.Transact) bool { return true })
		require.Contains(t, string(tx.Ops[0].Data), `"aborted"`)
	}
}

// Transactions come and go while their coordinator and their site live, whose presences each of
// them watches. Nothing is left of those that are over.
func TestWhatIsOverWaitsForNoWatch(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.votes["x"] = true
	l, a := s.leader("c")
	_, x := s.site("x", "x1")
	for n := range 50 {
		l.begin(a, fmt.Sprint("t", n), guid(n), false, "x")
		s.settle()
	}
	require.Equal(t, 50, s.truth.decided)
	require.LessOrEqual(t, a.Machine().(*mailbox).Machine.(*protocol.Coordinator).Armed(), 2, "its own presence, and who comes")
	require.LessOrEqual(t, x.Machine().(*protocol.Site).Armed(), 2, "its own presence, and its inbox")
}
