package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

var undecided = []byte(`{"guid":"` + guid(1) + `","sites":["x"],"coordinator":"c","state":"undecided"}`)

// lost is a coordinator whose beginning was sent, and whose answer is lost.
func lost(t *testing.T) *answerer {
	t.Helper()
	a := standing(t)
	a.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
	a.seen(root.Inbox("x"), nil, machine.Stat{})
	a.transact(machine.Unknown)
	return a
}

// hears is one that was refused, and whose application has heard of it.
func (a *answerer) hears(t *testing.T) {
	t.Helper()
	hindered, is := has[protocol.Denied](a.asked)
	require.True(t, is)
	require.ErrorIs(t, hindered.Err, errRefused)
}

// A beginning of which nobody knows whether it was carried out, and which may not be looked for:
// the application hears of it, and the machine looks on, until it has found it, and aborts it.
func TestABeginningThatMayNotBeLookedForIsAborted(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(a *answerer){
		"its record": func(a *answerer) { a.refused(root.Tx("t")) },
		"a tombstone": func(a *answerer) {
			a.seen(root.Tx("t"), nil, machine.Stat{})
			a.refused(root.Tombstone("t", guid(1)))
		},
		"what was swept": func(a *answerer) {
			a.seen(root.Tx("t"), nil, machine.Stat{})
			a.seen(root.Tombstone("t", guid(1)), nil, machine.Stat{})
			a.refused(root.Swept())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := lost(t)
			for range 3 {
				refuse(a)
				a.hears(t)
				a.woke()
			}
			a.seen(root.Tx("t"), undecided, machine.Stat{}) // it is found
			a.seen(root.Tx("t"), undecided, machine.Stat{}) // and followed
			a.transact(machine.Done)
			decided, is := has[protocol.Decided](a.asked)
			require.True(t, is)
			require.Equal(t, protocol.Aborted, decided.Outcome)
		})
	}
}

// ended is how a transaction was refused, nil if it was not.
func (a *answerer) ended(n uint64) error {
	for _, e := range a.asked {
		if r, is := e.(protocol.Refused); is && r.N == n {
			return r.Err
		}
	}
	return nil
}

// It was not carried out: there is nothing to abort, and it does not begin any more.
func TestABeginningThatMayNotBeLookedForDoesNotBegin(t *testing.T) {
	t.Parallel()
	a := lost(t)
	a.refused(root.Tx("t"))
	a.woke()
	a.seen(root.Tx("t"), nil, machine.Stat{})
	a.seen(root.Tombstone("t", guid(1)), nil, machine.Stat{})
	a.seen(root.Swept(), nil, machine.Stat{})
	require.ErrorIs(t, a.ended(1), protocol.ErrWithdrew)
	_, begins := has[machine.Transact](a.asked)
	require.False(t, begins)
}

// The next epoch does not wait for the pause, and the pause then does nothing.
func TestWhatIsRefusedIsAskedForInTheNextEpoch(t *testing.T) {
	t.Parallel()
	a := lost(t)
	a.refused(root.Tx("t"))
	a.asked = nil
	a.tell(machine.EpochEnded{Epoch: 1})
	_, cancelled := has[machine.Cancel](a.asked)
	require.True(t, cancelled)
	a.asked = nil
	a.tell(machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	create, is := has[machine.Transact](a.asked)
	require.True(t, is)
	a.tell(machine.Transacted{Epoch: 2, Ask: create.Ask, Failed: -1, Results: []machine.Result{{}}})
	own, is := has[machine.Read](a.asked)
	require.True(t, is)
	a.asked = nil
	a.tell(machine.Seen{Epoch: 2, Ask: own.Ask, Path: own.Path, Exists: true, Data: []byte("c"), Stat: machine.Stat{Owner: 8}})
	read, is := has[machine.Read](a.asked)
	require.True(t, is)
	require.Equal(t, root.Tx("t"), read.Path)
}

// Whoever closes does not wait for what is refused: when its presence is gone, the sites abort.
func TestClosingDoesNotWaitForWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]func(a *answerer){
		"in a pause": func(a *answerer) {
			a.refused(root.Tx("t"))
			a.tell(machine.Closing{})
		},
		"while it asks": func(a *answerer) {
			a.tell(machine.Closing{})
			a.refused(root.Tx("t"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := lost(t)
			closes(a)
			require.ErrorIs(t, a.ended(1), errRefused)
			remove, is := has[machine.Remove](a.asked)
			require.True(t, is)
			a.tell(machine.Removed{Epoch: 1, Ask: remove.Ask, Path: remove.Path})
			_, over := has[machine.Stop](a.asked)
			require.True(t, over)
		})
	}
}

// What is open and may not be read any more, the record or a vote, is aborted, too: nobody else
// would while this coordinator lives.
func TestWhatMayNotBeReadAnyMoreIsAborted(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(a *answerer){
		"the record": func(a *answerer) { a.refused(root.Tx("t")) },
		"a vote": func(a *answerer) {
			a.seen(root.Tx("t"), undecided, machine.Stat{})
			a.refused(root.Vote("t", guid(1), "x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := standing(t)
			a.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
			a.seen(root.Inbox("x"), nil, machine.Stat{})
			a.transact(machine.Done)
			refuse(a)
			a.hears(t)
			a.asked = a.asked[len(a.asked)-1:] // the pause
			a.woke()
			a.seen(root.Tx("t"), undecided, machine.Stat{})
			a.transact(machine.Done)
			decided, is := has[protocol.Decided](a.asked)
			require.True(t, is)
			require.Equal(t, protocol.Aborted, decided.Outcome)
		})
	}
}

// A takeover whose answer is lost, and which may not be looked for, would leave a transaction to a
// coordinator that does not know it.
func TestATakeoverThatMayNotBeLookedForIsAborted(t *testing.T) {
	t.Parallel()
	others := []byte(`{"guid":"` + guid(1) + `","sites":["x"],"coordinator":"b","state":"undecided"}`)
	for name, seen := range map[string][]byte{"it was carried out": undecided, "it was not": others} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := standing(t)
			a.tell(protocol.Recover{N: 1, ID: "t"})
			a.seen(root.Tx("t"), others, machine.Stat{})
			a.seen(root.Coordinator("b"), nil, machine.Stat{})
			a.transact(machine.Unknown)
			a.refused(root.Tx("t"))
			a.hears(t)
			a.woke()
			a.seen(root.Tx("t"), seen, machine.Stat{Version: 1})
			if name == "it was not" {
				require.ErrorIs(t, a.ended(1), protocol.ErrWithdrew)
				return
			}
			a.transact(machine.Done) // it makes sure that nobody has acknowledged it
			a.seen(root.Tx("t"), undecided, machine.Stat{Version: 1})
			a.transact(machine.Done)
			decided, is := has[protocol.Decided](a.asked)
			require.True(t, is)
			require.Equal(t, protocol.Aborted, decided.Outcome)
		})
	}
}

// A coordinator of which nobody may know whether it lives is not taken for alive: that can't be
// known.
func TestACoordinatorThatMayNotBeAskedIsNoneThatAnswered(t *testing.T) {
	t.Parallel()
	for name, adopt := range map[string]protocol.Recover{"its transaction": {N: 1, ID: "t"}, "the coordinator": {N: 1, Coordinator: "b"}} {
		for what, refuse := range map[string]func(a *answerer){
			"looked at": func(a *answerer) { a.refused(root.Coordinator("b")) },
			"asked": func(a *answerer) {
				a.seen(root.Coordinator("b"), []byte("b"), machine.Stat{Owner: 9, Czxid: 3})
				a.transact(machine.Refused)
				a.seen(root.Coordinator("b"), []byte("b"), machine.Stat{Owner: 9, Czxid: 3})
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				a := standing(t)
				a.tell(adopt)
				if adopt.ID != "" {
					a.seen(root.Tx("t"), []byte(`{"guid":"`+guid(1)+`","sites":["x"],"coordinator":"b","state":"undecided"}`), machine.Stat{})
				}
				refuse(a)
				require.ErrorIs(t, a.ended(1), errRefused)
			})
		}
	}
}

// Whether sites live may not be seen for a while: who died meanwhile is noticed, and so is who
// comes.
func TestPresencesThatMayNotBeSeenAreLookedForAgain(t *testing.T) {
	t.Parallel()
	begun := func() *answerer {
		a := standing(t)
		a.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
		a.seen(root.Inbox("x"), nil, machine.Stat{})
		a.transact(machine.Done)
		a.seen(root.Tx("t"), undecided, machine.Stat{})
		a.seen(root.Vote("t", guid(1), "x"), []byte{}, machine.Stat{})
		return a
	}
	a := begun()
	a.seen(root.Alive("x"), []byte("x1"), machine.Stat{Owner: 8, Czxid: 5})
	a.tell(machine.Fired{Epoch: 1, Path: root.Alive("x"), Change: machine.Deleted})
	a.refused(root.Alive("x"))
	a.woke()
	a.seen(root.Alive("x"), nil, machine.Stat{})
	a.transact(machine.Done)
	decided, is := has[protocol.Decided](a.asked)
	require.True(t, is)
	require.Contains(t, decided.Reason, "died")

	a = begun()
	a.seen(root.Alive("x"), nil, machine.Stat{})
	a.refused(root.Presences())
	a.woke()
	a.list(root.Presences(), "x")
	a.seen(root.Alive("x"), []byte("x1"), machine.Stat{Owner: 8, Czxid: 5})
}

// member is a site that has voted, as it is told, on a transaction of the coordinator c, and goes
// on from there.
func member(t *testing.T, record string) *answerer {
	t.Helper()
	s := &answerer{tr: recipetest.NewTrace(t, protocol.NewSite(root, "x", "g"))}
	s.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	s.transact(machine.Done)
	s.seen(root.Alive("x"), []byte("g"), machine.Stat{Owner: 7})
	s.seen(root.Inbox("x"), []byte{}, machine.Stat{})
	s.list(root.Inbox("x"), "_c_"+guid(1)+"-t-0000000000")
	s.seen(root.Payload("t", guid(1)), []byte("pay"), machine.Stat{})
	s.seen(root.Tx("t"), []byte(record), machine.Stat{})
	return s
}

// A site that may not see for a while whether the coordinator lives notices its death all the same.
func TestACoordinatorThatMayNotBeSeenIsLookedForAgain(t *testing.T) {
	t.Parallel()
	s := member(t, string(undecided))
	s.seen(root.Vote("t", guid(1), "x"), []byte("commit"), machine.Stat{Version: 1})
	s.seen(root.Coordinator("c"), []byte("c"), machine.Stat{Owner: 9})
	s.tell(machine.Fired{Epoch: 1, Path: root.Coordinator("c"), Change: machine.Deleted})
	for range 3 {
		s.refused(root.Coordinator("c"))
		s.woke()
	}
	s.seen(root.Coordinator("c"), nil, machine.Stat{})
	s.transact(machine.Done)
	learned, is := has[protocol.Learned](s.asked)
	require.True(t, is)
	require.Equal(t, protocol.Aborted, learned.Outcome)
}

// A site that may not read its own vote does not know what it has promised: it ends, with the
// reason. Another's vote is read again.
func TestVotesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	s := member(t, string(undecided))
	s.refused(root.Vote("t", guid(1), "x"))
	stop, is := has[machine.Stop](s.asked)
	require.True(t, is)
	require.ErrorIs(t, stop.Err, errRefused)

	s = member(t, `{"guid":"`+guid(1)+`","sites":["x","y"],"coordinator":"c","peers":true,"state":"undecided"}`)
	s.seen(root.Vote("t", guid(1), "x"), []byte("commit"), machine.Stat{Version: 1})
	s.seen(root.Vote("t", guid(1), "x"), []byte("commit"), machine.Stat{Version: 1}) // among those of all
	s.refused(root.Vote("t", guid(1), "y"))
	s.woke()
	s.seen(root.Vote("t", guid(1), "y"), []byte("commit"), machine.Stat{Version: 1})
	s.transact(machine.Done)
	learned, is := has[protocol.Learned](s.asked)
	require.True(t, is)
	require.Equal(t, protocol.Committed, learned.Outcome)
}
