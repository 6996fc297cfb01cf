package protocol_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// Transactions come and go while their coordinator and their site live, whose presences each of
// them watches. Nothing is left of those that are over.
func TestWhoeverIsThroughWaitsForNoWatch(t *testing.T) {
	t.Parallel()
	s := newStory(t, checkDeclared)
	s.votes["x"] = true
	var c *protocol.Coordinator
	var x *protocol.Site
	l := newLeader(s.truth)
	leads := l.player("c", 1000, s.moved)
	fresh := leads.Machine
	leads.Machine = func() machine.Machine {
		m := fresh()
		c = m.(*prompt).Machine.(*protocol.Coordinator)
		return m
	}
	a := s.world.Add(leads)
	votes := newVoter(s.truth, "x", func(string) (bool, bool) { return true, true }).player("x1", s.moved)
	site := votes.Machine
	votes.Machine = func() machine.Machine {
		m := site()
		x = m.(*protocol.Site)
		return m
	}
	s.world.Add(votes)
	for n := range 50 {
		l.begin(a, fmt.Sprint("t", n), guid(n), false, "x")
		s.settle()
	}
	require.Equal(t, 50, s.truth.decided)
	require.LessOrEqual(t, c.Armed(), 2, "its own presence, and who comes")
	require.LessOrEqual(t, x.Armed(), 2, "its own presence, and its inbox")
}

// deciding is a coordinator with a transaction of two sites of which one has died; the decision to
// abort is on its way, and the site has voted before it died.
func deciding(t *testing.T) *answerer {
	t.Helper()
	a := standing(t)
	record := []byte(`{"guid":"` + guid(1) + `","sites":["x","y"],"coordinator":"c","state":"undecided"}`)
	a.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x", "y"}})
	a.seen(root.Inbox("x"), nil, machine.Stat{})
	a.seen(root.Inbox("y"), nil, machine.Stat{})
	a.transact(machine.Done)
	a.seen(root.Tx("t"), record, machine.Stat{})
	for _, site := range []string{"x", "y"} {
		a.seen(root.Vote("t", guid(1), site), []byte{}, machine.Stat{})
		a.seen(root.Alive(site), []byte(site), machine.Stat{Czxid: 5, Owner: 8})
	}
	a.tell(machine.Fired{Epoch: 1, Path: root.Alive("x"), Change: machine.Deleted})
	a.seen(root.Alive("x"), nil, machine.Stat{})
	return a
}

// standing is a coordinator whose presence stands.
func standing(t *testing.T) *answerer {
	t.Helper()
	a := &answerer{tr: recipetest.NewTrace(t, protocol.NewCoordinator(root, "c", 1000))}
	a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	a.tell(protocol.Begin{N: 9, ID: "first", GUID: guid(9), Sites: []string{"z"}})
	a.transact(machine.Done)
	a.seen(root.Coordinator("c"), []byte("c"), machine.Stat{Owner: 7})
	a.seen(root.Inbox("z"), nil, machine.Stat{})
	a.transact(machine.Refused)
	return a
}

// What comes while an abort for a site's death is on its way counts, if that site turns out to have
// voted before.
func TestWhatComesWhileADeathIsWrittenCounts(t *testing.T) {
	t.Parallel()
	for name, come := range map[string]func(a *answerer){
		"the application's abort": func(a *answerer) { a.tell(protocol.Abort{N: 1, Reason: "no more"}) },
		"the end of the time":     func(a *answerer) { a.woke() },
		"the end":                 func(a *answerer) { a.tell(machine.Closing{}) },
		"another death": func(a *answerer) {
			a.tell(machine.Fired{Epoch: 1, Path: root.Alive("y"), Change: machine.Deleted})
			a.seen(root.Alive("y"), nil, machine.Stat{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := deciding(t)
			come(a)
			a.fails(1) // the check of x's vote, behind that of the mark
			a.seen(root.Vote("t", guid(1), "x"), []byte("commit"), machine.Stat{Version: 1})
			a.seen(root.Tx("t"), []byte(`{"guid":"`+guid(1)+`","sites":["x","y"],"coordinator":"c","state":"undecided"}`), machine.Stat{})
			a.transact(machine.Done)
			decided, ok := has[protocol.Decided](a.asked)
			require.True(t, ok)
			require.Equal(t, protocol.Aborted, decided.Outcome)
		})
	}
}

// Who closes while its presence is being made, or before it has been seen, ends when it is gone.
func TestClosingTakesThePresenceDown(t *testing.T) {
	t.Parallel()
	alive := root.Alive("x")
	removed := func(a *answerer) {
		remove, ok := has[machine.Remove](a.asked)
		require.True(t, ok)
		require.Equal(t, alive, remove.Path)
		a.tell(machine.Removed{Epoch: 1, Ask: remove.Ask, Path: alive})
		_, ok = has[machine.Stop](a.asked)
		require.True(t, ok)
	}
	begun := func() *answerer {
		a := &answerer{tr: recipetest.NewTrace(t, protocol.NewSite(root, "x", "own"))}
		a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
		return a
	}
	stays := func(a *answerer) {
		_, ok := has[machine.Stop](a.asked)
		require.False(t, ok)
	}

	a := begun()
	a.tell(machine.Closing{})
	stays(a)
	a.transact(machine.Unknown)
	stays(a)
	a.seen(alive, []byte("own"), machine.Stat{Owner: 7})
	removed(a)

	a = begun()
	a.transact(machine.Done)
	a.tell(machine.Closing{})
	stays(a)
	a.seen(alive, []byte("own"), machine.Stat{Owner: 7}) // the follower's
	a.seen(alive, []byte("\nwho"), machine.Stat{Owner: 7})
	removed(a)

	a = begun()
	a.tell(machine.Closing{})
	a.transact(machine.NodeExists)
	a.seen(alive, []byte("\nwho"), machine.Stat{Owner: 7}) // another one's, of the same session
	_, ok := has[machine.Remove](a.asked)
	require.False(t, ok)
	_, ok = has[machine.Stop](a.asked)
	require.True(t, ok)
}
