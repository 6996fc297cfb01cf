package protocol_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

var errRefused = errors.New("no authority")

// answerer answers what a machine asks, in order, so that a transaction gets as far as it has to.
type answerer struct {
	tr    *recipetest.Trace
	asked []machine.Effect
}

func (a *answerer) tell(ev machine.Event) { a.asked = append(a.asked, a.tr.Tell(ev)...) }

// transact answers the oldest transaction that is not answered.
func (a *answerer) transact(code machine.Code, results ...machine.Result) {
	for i, e := range a.asked {
		t, ok := e.(machine.Transact)
		if !ok {
			continue
		}
		a.asked = append(a.asked[:i], a.asked[i+1:]...)
		ev := machine.Transacted{Epoch: 1, Ask: t.Ask, Code: code, Failed: -1, Results: results}
		if code == machine.Refused {
			ev.Err = errRefused
		}
		a.tell(ev)
		return
	}
	panic("nothing was asked")
}

// fails answers the oldest transaction that is not answered: the check at an index has failed.
func (a *answerer) fails(at int) {
	for i, e := range a.asked {
		if t, ok := e.(machine.Transact); ok {
			a.asked = append(a.asked[:i], a.asked[i+1:]...)
			a.tell(machine.Transacted{Epoch: 1, Ask: t.Ask, Code: machine.BadVersion, Failed: at})
			return
		}
	}
	panic("nothing was asked")
}

// woke has the latest pause end.
func (a *answerer) woke() {
	for i, e := range slices.Backward(a.asked) {
		if w, ok := e.(machine.Wake); ok {
			a.asked = append(a.asked[:i], a.asked[i+1:]...)
			a.tell(machine.Woke{Ask: w.Ask})
			return
		}
	}
	panic("there is no pause")
}

// seen answers the oldest read of a path.
func (a *answerer) seen(path string, data []byte, stat machine.Stat) {
	for i, e := range a.asked {
		r, ok := e.(machine.Read)
		if !ok || r.Path != path {
			continue
		}
		a.asked = append(a.asked[:i], a.asked[i+1:]...)
		a.tell(machine.Seen{Epoch: 1, Ask: r.Ask, Path: path, Exists: data != nil, Data: data, Stat: stat})
		return
	}
	panic("nobody reads " + path)
}

// refused refuses the oldest read of a path, or its oldest listing.
func (a *answerer) refused(path string) {
	for i, e := range a.asked {
		switch e := e.(type) {
		case machine.Read:
			if e.Path == path {
				a.asked = append(a.asked[:i], a.asked[i+1:]...)
				a.tell(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: path, Code: machine.Refused, Err: errRefused})
				return
			}
		case machine.List:
			if e.Path == path {
				a.asked = append(a.asked[:i], a.asked[i+1:]...)
				a.tell(machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: path, Code: machine.Refused, Err: errRefused})
				return
			}
		}
	}
	panic("nobody asks for " + path)
}

// list answers the oldest listing of a path.
func (a *answerer) list(path string, names ...string) {
	for i, e := range a.asked {
		if l, ok := e.(machine.List); ok && l.Path == path {
			a.asked = append(a.asked[:i], a.asked[i+1:]...)
			a.tell(machine.Listed{Epoch: l.Epoch, Ask: l.Ask, Path: path, Names: names})
			return
		}
	}
	panic("nobody lists " + path)
}

func has[E machine.Effect](effects []machine.Effect) (found E, ok bool) {
	for _, e := range effects {
		if found, ok = e.(E); ok {
			return found, true
		}
	}
	return found, false
}

// refusals are what ZooKeeper refuses for want of rights, which the world never does.
func refusals(t *testing.T, moved func(from, to protocol.Phase)) (coordinator, site *recipetest.Trace) {
	t.Helper()
	record := []byte(`{"guid":"` + guid(1) + `","sites":["x"],"coordinator":"c","state":"undecided"}`)

	c := &answerer{tr: recipetest.NewTrace(t, protocol.NewCoordinator(root, "c", 1000).Moved(moved))}
	c.tr.Say("The decision may not be written: the application hears of it, and has nothing more to wait for.")
	c.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	c.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
	c.transact(machine.Done)
	c.seen(root.Coordinator("c"), []byte("c"), machine.Stat{Owner: 7})
	c.seen(root.Inbox("x"), nil, machine.Stat{})
	c.transact(machine.Done)
	c.seen(root.Tx("t"), record, machine.Stat{})
	c.seen(root.Vote("t", guid(1), "x"), []byte("commit"), machine.Stat{Version: 1})
	c.transact(machine.Refused)
	hindered, ok := has[protocol.Denied](c.asked)
	require.True(t, ok)
	require.ErrorIs(t, hindered.Err, errRefused)
	c.tr.Say("The coordinator tries on, with pauses, to abort it.")
	c.woke()
	c.refused(root.Tx("t"))
	c.woke()
	c.seen(root.Tx("t"), record, machine.Stat{})
	c.transact(machine.Done)
	decided, ok := has[protocol.Decided](c.asked)
	require.True(t, ok)
	require.Equal(t, protocol.Aborted, decided.Outcome)

	s := &answerer{tr: recipetest.NewTrace(t, protocol.NewSite(root, "x", "g").Moved(moved))}
	s.tr.Say("The site's znodes may not be deleted: the acknowledgement fails, and can be tried again.")
	s.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	s.transact(machine.Done)
	s.seen(root.Alive("x"), []byte("g"), machine.Stat{Owner: 7})
	list, ok := has[machine.List](s.asked)
	require.True(t, ok)
	s.seen(root.Inbox("x"), []byte{}, machine.Stat{})
	s.tell(machine.Listed{Epoch: 1, Ask: list.Ask, Path: list.Path, Names: []string{"_c_" + guid(1) + "-t-0000000000", "foreign"}})
	s.seen(root.Vote("t", guid(1), "x"), nil, machine.Stat{})
	s.seen(root.Payload("t", guid(1)), []byte("pay"), machine.Stat{})
	s.seen(root.Tx("t"), []byte(`{"guid":"`+guid(1)+`","sites":["x"],"coordinator":"c","state":"aborted"}`), machine.Stat{Version: 1})
	s.tell(protocol.Ack{GUID: guid(1)})
	s.transact(machine.Refused)
	acked, ok := has[protocol.Acked](s.asked)
	require.True(t, ok)
	require.ErrorIs(t, acked.Err, errRefused)
	s.tell(protocol.Ack{GUID: guid(1)})
	s.transact(machine.Done)
	return c.tr, s.tr
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c, s := refusals(t, checkDeclared)
	c.Compare("refused-decision")
	s.Compare("refused-acknowledgement")
}

// What can't be made, for want of rights, ends the machine with the reason.
func TestARefusedPresenceEndsTheMachine(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]machine.Machine{
		"coordinator": protocol.NewCoordinator(root, "c", 1000), "site": protocol.NewSite(root, "x", "g"),
	} {
		a := &answerer{tr: recipetest.NewTrace(t, m)}
		a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
		if name == "coordinator" {
			a.tell(protocol.Begin{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
		}
		a.transact(machine.Refused)
		stop, ok := has[machine.Stop](a.asked)
		require.True(t, ok, name)
		require.ErrorIs(t, stop.Err, errRefused, name)
		require.Empty(t, a.tr.Tell(machine.EpochEnded{Epoch: 1}), "it is over")
	}
}
