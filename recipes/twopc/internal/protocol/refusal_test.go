package protocol_test

import (
	"errors"
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

// take removes the oldest effect that is not answered and that is meant.
func take[E machine.Effect](a *answerer, meant func(E) bool) E {
	for i, e := range a.asked {
		if e, ok := e.(E); ok && meant(e) {
			a.asked = append(a.asked[:i], a.asked[i+1:]...)
			return e
		}
	}
	panic("nothing was asked")
}

// transact answers the oldest transaction.
func (a *answerer) transact(code machine.Code) {
	t := take(a, func(machine.Transact) bool { return true })
	ev := machine.Transacted{Epoch: 1, Ask: t.Ask, Code: code, Failed: -1, Results: make([]machine.Result, len(t.Ops))}
	if code == machine.Refused {
		ev.Err = errRefused
	}
	a.tell(ev)
}

// seen answers the oldest read of a path.
func (a *answerer) seen(path string, data []byte, stat machine.Stat) {
	r := take(a, func(r machine.Read) bool { return r.Path == path })
	a.tell(machine.Seen{Epoch: 1, Ask: r.Ask, Path: path, Exists: data != nil, Data: data, Stat: stat})
}

// refused refuses the oldest read of a path.
func (a *answerer) refused(path string) {
	r := take(a, func(r machine.Read) bool { return r.Path == path })
	a.tell(machine.Seen{Epoch: 1, Ask: r.Ask, Path: path, Code: machine.Refused, Err: errRefused})
}

func has[E machine.Effect](effects []machine.Effect) (found E, ok bool) {
	for _, e := range effects {
		if found, ok = e.(E); ok {
			return found, true
		}
	}
	return found, false
}

var undecided = []byte(`{"guid":"` + guid(1) + `","sites":["x"],"coordinator":"c","state":"undecided"}`)

// coordinator is one whose presence exists, and that was asked for something.
func coordinator(t *testing.T, request machine.Event) *answerer {
	t.Helper()
	a := &answerer{tr: recipetest.NewTrace(t, protocol.NewCoordinator(root, "c", 1000))}
	a.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
	a.tell(request)
	a.transact(machine.Done)
	a.seen(root.Coordinator("c"), []byte("c"), machine.Stat{Owner: 7, Czxid: 4})
	return a
}

// preparing is one that has begun a transaction and waits for the vote of x.
func preparing(t *testing.T) *answerer {
	t.Helper()
	a := coordinator(t, protocol.Request{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
	a.transact(machine.Done)
	a.seen(root.Tx("t"), undecided, machine.Stat{})
	return a
}

// What ZooKeeper refuses ends the transaction at its coordinator, with that error. If it is not
// known whether the transaction has begun, that is told, too.
func TestWhatIsRefusedEndsATransaction(t *testing.T) {
	t.Parallel()
	begin := protocol.Request{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}}
	vote, alive := root.Vote("t", guid(1), "x"), root.Alive("x")
	others := []byte(`{"guid":"` + guid(1) + `","sites":["x"],"coordinator":"b","state":"undecided"}`)
	for name, refused := range map[string]func() (a *answerer, inDoubt bool){
		"a begin": func() (*answerer, bool) {
			a := coordinator(t, begin)
			a.transact(machine.Refused)
			return a, false
		},
		"the record of a begin whose reply is lost": func() (*answerer, bool) {
			a := coordinator(t, begin)
			a.transact(machine.Unknown)
			a.refused(root.Tx("t"))
			return a, true
		},
		"the presence, after such a begin has left nothing": func() (*answerer, bool) {
			a := coordinator(t, begin)
			a.transact(machine.Unknown)
			a.seen(root.Tx("t"), nil, machine.Stat{})
			a.refused(root.Coordinator("c"))
			return a, true
		},
		"the record": func() (*answerer, bool) {
			a := coordinator(t, begin)
			a.transact(machine.Done)
			a.refused(root.Tx("t"))
			return a, false
		},
		"a vote": func() (*answerer, bool) {
			a := preparing(t)
			a.refused(vote)
			return a, false
		},
		"the presence of a site": func() (*answerer, bool) {
			a := preparing(t)
			a.refused(alive)
			return a, false
		},
		"the decision": func() (*answerer, bool) {
			a := preparing(t)
			a.seen(vote, []byte("commit"), machine.Stat{Version: 1})
			a.transact(machine.Refused)
			return a, false
		},
		"another coordinator": func() (*answerer, bool) {
			a := coordinator(t, protocol.Request{N: 1, Stage: protocol.Asking, ID: "b"})
			a.refused(root.Coordinator("b"))
			return a, false
		},
		"the question to another coordinator": func() (*answerer, bool) {
			a := coordinator(t, protocol.Request{N: 1, Stage: protocol.Asking, ID: "b"})
			a.seen(root.Coordinator("b"), []byte("b"), machine.Stat{Owner: 9, Czxid: 3})
			a.transact(machine.Refused)
			a.seen(root.Coordinator("b"), []byte("b"), machine.Stat{Owner: 9, Czxid: 3})
			return a, false
		},
		"a takeover": func() (*answerer, bool) {
			a := coordinator(t, protocol.Request{N: 1, Stage: protocol.Recovering, ID: "t"})
			a.seen(root.Tx("t"), others, machine.Stat{})
			a.seen(root.Coordinator("b"), nil, machine.Stat{})
			a.transact(machine.Refused)
			return a, false
		},
		"an acknowledgement": func() (*answerer, bool) {
			a := coordinator(t, protocol.Request{N: 1, Stage: protocol.Acknowledging, ID: "t", GUID: guid(1)})
			l := take(a, func(machine.List) bool { return true })
			a.tell(machine.Listed{Epoch: 1, Ask: l.Ask, Path: l.Path, Names: []string{"_c_" + guid(1) + "-open"}})
			a.transact(machine.Refused)
			return a, false
		},
	} {
		a, inDoubt := refused()
		ended, is := has[protocol.Ended](a.asked)
		require.True(t, is, name)
		require.ErrorIs(t, ended.Err, errRefused, name)
		require.Equal(t, inDoubt, ended.InDoubt, name)
		a.tell(machine.Closing{})
		_, leaves := has[machine.Remove](a.asked)
		require.True(t, leaves, "%s: nothing is left to do", name)
	}
}

// A listing of who comes may be refused: the transaction goes on without it.
func TestARefusedListingOfPresences(t *testing.T) {
	t.Parallel()
	a := preparing(t)
	a.seen(root.Alive("x"), nil, machine.Stat{})
	l := take(a, func(machine.List) bool { return true })
	a.tell(machine.Listed{Epoch: 1, Ask: l.Ask, Path: l.Path, Code: machine.Refused, Err: errRefused})
	_, ended := has[protocol.Ended](a.asked)
	require.False(t, ended)
	a.seen(root.Vote("t", guid(1), "x"), []byte("commit"), machine.Stat{Version: 1})
	a.transact(machine.Done)
	decided, is := has[protocol.Decided](a.asked)
	require.True(t, is)
	require.Equal(t, protocol.Committed, decided.Outcome)
}

// A site that may not read what it needs, or decide, ends with the reason; a vote and an
// acknowledgement that are refused are answered, and can be tried again.
func TestWhatIsRefusedToASite(t *testing.T) {
	t.Parallel()
	const record = `{"guid":"00000001-0000-4000-8000-000000000000","sites":["x"],"coordinator":"c","state":"undecided"}`
	site := func() *answerer {
		s := &answerer{tr: recipetest.NewTrace(t, protocol.NewSite(root, "x", "g"))}
		s.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true})
		s.transact(machine.Done)
		s.seen(root.Alive("x"), []byte("g"), machine.Stat{Owner: 7})
		s.seen(root.Inbox("x"), []byte{}, machine.Stat{})
		l := take(s, func(machine.List) bool { return true })
		s.tell(machine.Listed{Epoch: 1, Ask: l.Ask, Path: l.Path, Names: []string{"_c_" + guid(1) + "-t-0000000000", "foreign"}})
		return s
	}
	voted := func(s *answerer, vote machine.Seen) {
		l := take(s, func(machine.Look) bool { return true })
		payload := machine.Seen{Epoch: 1, Exists: true, Data: []byte("pay")}
		s.tell(machine.Looked{Epoch: 1, Ask: l.Ask, Answers: []machine.Event{vote, payload}})
	}
	for name, refuse := range map[string]func(s *answerer){
		"the record": func(s *answerer) { s.refused(root.Tx("t")) },
		"its vote":   func(s *answerer) { voted(s, machine.Seen{Code: machine.Refused, Err: errRefused}) },
		"the coordinator's presence": func(s *answerer) {
			s.seen(root.Tx("t"), []byte(record), machine.Stat{})
			s.refused(root.Coordinator("c"))
		},
		"a decision": func(s *answerer) {
			s.seen(root.Tx("t"), []byte(record), machine.Stat{})
			voted(s, machine.Seen{Exists: true})
			s.seen(root.Coordinator("c"), nil, machine.Stat{})
			s.transact(machine.Refused)
		},
	} {
		s := site()
		refuse(s)
		stop, is := has[machine.Stop](s.asked)
		require.True(t, is, name)
		require.ErrorIs(t, stop.Err, errRefused, name)
	}

	s := site()
	s.seen(root.Tx("t"), []byte(record), machine.Stat{})
	voted(s, machine.Seen{Exists: true})
	for range 2 {
		s.tell(protocol.Cast{GUID: guid(1), Commit: true})
		s.transact(machine.Refused)
		done := take(s, func(protocol.CastDone) bool { return true })
		require.ErrorIs(t, done.Err, errRefused)
	}
	s.tell(machine.Fired{Epoch: 1, Path: root.Tx("t"), Change: machine.DataChanged})
	s.seen(root.Tx("t"), []byte(`{"guid":"`+guid(1)+`","sites":["x"],"coordinator":"c","state":"aborted"}`), machine.Stat{Version: 1})
	for _, code := range []machine.Code{machine.Refused, machine.Done} {
		s.tell(protocol.Ack{GUID: guid(1)})
		l := take(s, func(machine.List) bool { return true })
		s.tell(machine.Listed{Epoch: 1, Ask: l.Ask, Path: l.Path, Names: []string{"_c_" + guid(1) + "-vote-x"}})
		s.transact(code)
		acked := take(s, func(protocol.Acked) bool { return true })
		require.Equal(t, code == machine.Refused, errors.Is(acked.Err, errRefused))
	}
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
			a.tell(protocol.Request{N: 1, ID: "t", GUID: guid(1), Sites: []string{"x"}})
		}
		a.transact(machine.Refused)
		stop, ok := has[machine.Stop](a.asked)
		require.True(t, ok, name)
		require.ErrorIs(t, stop.Err, errRefused, name)
		require.Empty(t, a.tr.Tell(machine.EpochEnded{Epoch: 1}), "it is over")
	}
}
