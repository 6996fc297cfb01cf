package prio //nolint:testpackage // the machine and its phases are unexported

// Stories of one machine, and its table of transitions.

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// declared is the table of transitions: the diagram of the package, arrow by arrow.
var declared = map[phase][]phase{
	idle:     {entering, over},
	entering: {idle, reading, over},
	reading:  {idle, entering, waiting, taking, holding, leaving, over},
	waiting:  {idle, reading, leaving},
	taking:   {idle, reading, holding, leaving},
	holding:  {idle, leaving},
	leaving:  {over},
}

// taken are the transitions that stories and schedules have taken.
type taken struct {
	sync.Mutex
	all map[[2]phase]bool
}

func (tk *taken) note(t recipetest.T, from, to phase) {
	t.Helper()
	if from == to {
		return
	}
	if !slices.Contains(declared[from], to) {
		t.Fatalf("undeclared: %s → %s", from, to)
	}
	tk.Lock()
	defer tk.Unlock()
	tk.all[[2]phase{from, to}] = true
}

// tale is a machine with its story.
type tale struct {
	*recipetest.Trace
	m *lockMachine
}

func newTale(t *testing.T, tk *taken) *tale {
	m := newMachine("/l", 10, "me")
	tr := recipetest.NewTrace(t, m)
	tr.Transitions(func(from string, _ machine.Event, to string) { tk.note(t, phase(from), phase(to)) })
	return &tale{tr, m}
}

const me = "010-me.1-0000000005"

// enter makes the machine a contender beside others, one of which holds.
func (s *tale) enter(names, holder string) {
	s.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, want{})
	s.Tell(machine.Transacted{Epoch: 1, Ask: s.m.requests.Last(), Failed: -1, Results: []machine.Result{{Path: "/l/" + me}}})
	s.see(me+" "+names, holder)
}

// see answers a MultiRead.
func (s *tale) see(names, holder string) {
	s.Tell(machine.MultiSeen{Epoch: 1, Ask: s.m.requests.Last(), Answers: []machine.Event{
		machine.Seen{Path: "/l", Exists: true, Data: []byte(holder), Stat: machine.Stat{Version: 3, Mzxid: 60}},
		machine.Listed{Path: "/l", Names: strings.Fields(names)},
	}})
}

// took answers the transaction that takes the lock.
func (s *tale) took(code machine.Code) {
	s.Tell(machine.Transacted{Epoch: 1, Ask: s.m.requests.Last(), Code: code, Failed: -1, Results: []machine.Result{{}, {Stat: machine.Stat{Mzxid: 60}}}})
}

func stories(t *testing.T, tk *taken) {
	for name, tell := range map[string]func(s *tale){
		"alone": func(s *tale) {
			s.Say("Nobody else is there: it holds, and lets go.")
			s.enter("", "")
			s.took(machine.Done)
			s.Tell(lapsed{})
			s.Tell(machine.Removed{Epoch: 1, Ask: s.m.requests.Last()})
		},
		"passed": func(s *tale) {
			const better = "001-x.1-0000000006"
			s.Say("It is first, but somebody better has come and taken the lock before it has said so: the state has changed.")
			s.enter("", "")
			s.took(machine.BadVersion)
			s.Say("The better one is watched.")
			s.see(me+" "+better, better)
			s.Tell(machine.Fired{Epoch: 1, Path: "/l/" + better, Change: machine.Deleted})
			s.see(me, better)
			s.took(machine.Done)
		},
		"lost-replies": func(s *tale) {
			s.Say("The answer to the creation is lost: the listing has its name. So is the answer to the taking: it finds itself to be the holder.")
			s.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, want{})
			s.Tell(machine.Transacted{Epoch: 1, Ask: s.m.requests.Last(), Code: machine.Unknown, Failed: -1})
			s.see(me, "")
			s.took(machine.Unknown)
			s.see(me, me)
		},
		"given-up": func(s *tale) {
			s.Say("It is given up while the lock is being taken: its znode is removed, whichever comes first.")
			s.enter("", "")
			s.Tell(machine.Closing{})
			s.Tell(machine.Removed{Epoch: 1, Ask: s.m.requests.Last()})
		},
		"too-late": func(s *tale) {
			s.Say("Trust has ended before the possession could be made: it is offered again.")
			s.enter("", "")
			s.took(machine.Done)
			s.Tell(machine.TrustEnded{Epoch: 1})
			s.Tell(machine.TrustGained{Epoch: 1})
		},
		"refused": func(s *tale) {
			s.Say("It may not read who holds the lock: the instance ends with the reason.")
			s.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, want{})
			s.Tell(machine.Transacted{Epoch: 1, Ask: s.m.requests.Last(), Failed: -1, Results: []machine.Result{{Path: "/l/" + me}}})
			s.Tell(machine.MultiSeen{Epoch: 1, Ask: s.m.requests.Last(), Answers: []machine.Event{
				machine.Seen{Path: "/l", Code: machine.Refused, Err: recipetest.ErrRefused}, machine.Listed{Path: "/l"},
			}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTale(t, tk)
			tell(s)
			s.Compare(name)
		})
	}
}

// Every transition that is declared is taken by one of the stories, or by one of these schedules.
//
//nolint:tparallel // the stories tell it what they have taken
func TestStoriesAndSchedules(t *testing.T) {
	t.Parallel()
	tk := &taken{all: make(map[[2]phase]bool)}
	stories(t, tk)
	schedules(t, tk)
	for from, all := range declared {
		for _, to := range all {
			require.True(t, tk.all[[2]phase{from, to}], "declared, and never taken: %s → %s", from, to)
		}
	}
}
