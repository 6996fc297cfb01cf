package prio //nolint:testpackage // the machine and its phases are looked at from inside

// Stories of one machine, and its table of transitions.

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// taken are the transitions that the stories and the schedules have taken.
var taken = struct {
	sync.Mutex
	all map[string]bool
}{all: map[string]bool{}}

func note(t recipetest.T, from, to string) {
	t.Helper()
	if from == to {
		return
	}
	if step := from + " → " + to; !slices.Contains(declared, step) {
		t.Fatalf("undeclared: %s", step)
	} else {
		taken.Lock()
		defer taken.Unlock()
		taken.all[step] = true
	}
}

// declared is the table of transitions: the diagram of the package, arrow by arrow.
var declared = []string{
	"idle → standing",
	"standing → idle", "standing → looking", "standing → leaving",
	"looking → idle", "looking → standing", "looking → waiting", "looking → taking", "looking → holding", "looking → leaving",
	"waiting → idle", "waiting → standing", "waiting → looking", "waiting → leaving",
	"taking → idle", "taking → looking", "taking → holding", "taking → leaving",
	"holding → idle", "holding → leaving",
	"leaving → idle", "leaving → standing",
}

// tale is a machine to which a story is told.
type tale struct {
	*recipetest.Trace
	m *lockMachine
}

func newTale(t *testing.T, mode Mode, priority int) *tale {
	m := newMachine("/l", mode, priority)
	tr := recipetest.NewTrace(t, m)
	tr.Transitions(func(from string, _ machine.Event, to string) { note(t, from, to) })
	return &tale{tr, m}
}

const me = "me.1-w-010-"

// stand brings the machine into the line, with these others there, of whom some hold.
func (s *tale) stand(names string, holders string) {
	s.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, want{Claim: 1, ID: "me"})
	s.Tell(machine.Transacted{Epoch: 1, Ask: s.m.requests.Last(), Failed: -1, Results: []machine.Result{{Path: "/l/line/" + me + "0000000005"}}})
	s.see(names, holders)
}

// see answers a look.
func (s *tale) see(names string, holders string) {
	first := s.m.requests.Last() - 2
	s.Tell(
		machine.Listed{Epoch: 1, Ask: first, Path: "/l/line", Names: append(strings.Fields(names), me+"0000000005")},
		machine.Seen{Epoch: 1, Ask: first + 1, Path: "/l/state", Exists: true, Data: []byte(holders), Stat: machine.Stat{Version: 3}},
		machine.Seen{Epoch: 1, Ask: first + 2, Path: "/l/line/" + me + "0000000005", Exists: true, Stat: machine.Stat{Czxid: 50, Mzxid: 50, Owner: 7}},
	)
}

// list answers what was asked last: who is in the line besides me.
func (s *tale) list(names string) {
	s.Tell(machine.Listed{Epoch: 1, Ask: s.m.requests.Last(), Path: "/l/line", Names: append(strings.Fields(names), me+"0000000005")})
}

func (s *tale) taken(code machine.Code) {
	s.Tell(machine.Transacted{
		Epoch: 1, Ask: s.m.requests.Last(), Code: code, Failed: -1, Results: []machine.Result{{Stat: machine.Stat{Mzxid: 60}}, {Stat: machine.Stat{Mzxid: 60}}},
	})
}

func TestTraces(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		s := newTale(t, Write, 10)
		s.Say("Nobody else is there: it holds, and lets go.")
		s.stand("", "")
		s.taken(machine.Done)
		s.Tell(give{1})
		s.Tell(machine.Removed{Epoch: 1, Ask: s.m.requests.Last()})
		s.Compare("alone")
	})
	t.Run("passed", func(t *testing.T) {
		s := newTale(t, Write, 10)
		s.Say("It is first, but somebody better has come and taken the lock before it has said so: the state has changed.")
		s.stand("", "")
		s.taken(machine.BadVersion)
		s.Say("The better one holds, so the line is watched. It is no better than the holder, and asks nobody to give way.")
		s.see("x.1-w-001-0000000006", "x.1-w-001-0000000006")
		s.list("x.1-w-001-0000000006")
		s.Tell(machine.Fired{Epoch: 1, Path: "/l/line", Change: machine.ChildrenChanged})
		s.see("", "x.1-w-001-0000000006")
		s.list("")
		s.taken(machine.Done)
		s.Compare("passed")
	})
	t.Run("revoked", func(t *testing.T) {
		s := newTale(t, Write, 10)
		s.Say("It holds, is asked to give way, and then somebody deletes its znode.")
		s.stand("", "")
		s.taken(machine.Done)
		s.Tell(machine.Fired{Epoch: 1, Path: "/l/line/" + me + "0000000005", Change: machine.DataChanged})
		s.Tell(machine.Seen{Epoch: 1, Ask: s.m.requests.Last(), Path: "/l/line/" + me + "0000000005", Exists: true, Data: []byte("revoke for x")})
		s.Tell(machine.Fired{Epoch: 1, Path: "/l/line/" + me + "0000000005", Change: machine.Deleted})
		s.Compare("revoked")
	})
	t.Run("lost replies", func(t *testing.T) {
		s := newTale(t, Write, 10)
		s.Say("The answer to the creation is lost: it looks for its name. So is the answer to the taking: it finds itself among the holders.")
		s.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, want{Claim: 1, ID: "me"})
		s.Tell(machine.Transacted{Epoch: 1, Ask: s.m.requests.Last(), Code: machine.Unknown, Failed: -1})
		s.Tell(machine.Listed{Epoch: 1, Ask: s.m.requests.Last(), Path: "/l/line", Names: []string{me + "0000000005"}})
		s.see("", "")
		s.taken(machine.Unknown)
		s.see("", me+"0000000005")
		s.Compare("lost-replies")
	})
	t.Run("given up", func(t *testing.T) {
		s := newTale(t, Write, 10)
		s.Say("It is given up while it is being taken: what there is of it is known then, and goes.")
		s.stand("", "")
		s.Tell(give{1})
		s.taken(machine.Done)
		s.Tell(machine.Removed{Epoch: 1, Ask: s.m.requests.Last()})
		s.Compare("given-up")
	})
	t.Run("too late", func(t *testing.T) {
		s := newTale(t, Write, 10)
		s.Say("The session has ended before the possession could be made. The claim is over, and the caller's wish stands as another.")
		s.stand("", "")
		s.taken(machine.Done)
		s.Tell(machine.EpochEnded{Epoch: 1}, want{Claim: 2, ID: "me"}, missed{1})
		s.Tell(machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
		s.Compare("too-late")
	})
}

// TestEveryTransitionIsTaken by one of the stories, or of these schedules.
func TestEveryTransitionIsTaken(t *testing.T) {
	TestTraces(t)
	schedules(t, 400)
	taken.Lock()
	defer taken.Unlock()
	var missing []string
	for _, step := range declared {
		if !taken.all[step] {
			missing = append(missing, step)
		}
	}
	require.Empty(t, missing, "declared, and never taken; taken: %v", slices.Sorted(maps.Keys(taken.all)))
}
