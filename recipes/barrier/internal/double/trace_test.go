package double_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

// telling is a story told to one machine, party b of parties a, b and c. Its session is number 7.
type telling struct {
	t    *testing.T
	step func(from, on, to string)

	trace *recipetest.Trace
	all   []*recipetest.Trace
	ask   uint64 // of the last request, or of the first of two
	ops   []machine.Op
}

const (
	nameA = "_c_00000000-0000-4000-8000-00000000000a-party-3-a"
	nameB = "_c_00000000-0000-4000-8000-000000000001-party-3-b" // the first that it makes
	nameC = "_c_00000000-0000-4000-8000-00000000000c-party-3-c"
	nameD = "_c_00000000-0000-4000-8000-00000000000d-party-3-d"
	one   = "/b/round-0000000001"
	two   = "/b/round-0000000002"
)

func (s *telling) begin(parties int) {
	n := byte('0')
	m := double.New(double.Config{Path: at, Parties: parties, ID: "b", GUID: func() znode.GUID {
		n++
		return znode.GUID("00000000-0000-4000-8000-00000000000" + string(n))
	}})
	s.trace = recipetest.NewTrace(s.t, m)
	s.all = append(s.all, s.trace)
	s.trace.Transitions(func(from string, ev machine.Event, to string) {
		if from == to {
			return
		}
		if s.step != nil {
			s.step(from, eventName(ev), to)
		}
		if _, ok := line(from, eventName(ev), to); !ok {
			s.t.Errorf("undeclared: {%s, %q, %s}", from, eventName(ev), to)
		}
	})
}

func (s *telling) say(prose string) { s.trace.Say(prose) }

// tell feeds events, and remembers which request is to be answered.
func (s *telling) tell(events ...machine.Event) {
	s.ask = 0
	for _, e := range s.trace.Tell(events...) {
		var ask uint64
		switch e := e.(type) {
		case machine.List:
			ask = e.Ask
		case machine.Read:
			ask = e.Ask
		case machine.Ensure:
			ask = e.Ask
		case machine.Remove:
			ask = e.Ask
		case machine.Transact:
			ask, s.ops = e.Ask, e.Ops
		}
		if s.ask == 0 {
			s.ask = ask
		}
	}
}

func (s *telling) epoch() { s.tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}) }

func (s *telling) want(claim uint64) { s.tell(double.Wanted{Claim: claim, Once: true}) }

// done: the transaction was carried out; what a Set says is the version.
func (s *telling) done(version int32) {
	results := make([]machine.Result, len(s.ops))
	for i, op := range s.ops {
		switch op.Do {
		case machine.Set:
			results[i].Stat = machine.Stat{Version: version}
		case machine.Create:
			results[i].Path = op.Path
		}
	}
	s.tell(machine.Transacted{Epoch: 1, Ask: s.ask, Failed: -1, Results: results})
}

func (s *telling) failed(code machine.Code, at int) {
	s.tell(machine.Transacted{Epoch: 1, Ask: s.ask, Code: code, Failed: at, Err: errors.New(code.String())})
}

func (s *telling) listed(path string, names ...string) {
	s.tell(machine.Listed{Epoch: 1, Ask: s.ask, Path: path, Names: names})
}

func (s *telling) listedNone(path string) {
	s.tell(machine.Listed{Epoch: 1, Ask: s.ask, Path: path, Code: machine.NoNode, Err: errors.New("no node")})
}

func (s *telling) refusedListing(path string) {
	s.tell(machine.Listed{Epoch: 1, Ask: s.ask, Path: path, Code: machine.Refused, Err: errRights})
}

func (s *telling) seen(path, data string, version, children int32) {
	s.tell(machine.Seen{Epoch: 1, Ask: s.ask, Path: path, Exists: true, Data: []byte(data), Stat: machine.Stat{Version: version, Children: children, Czxid: 5}})
}

func (s *telling) missing(path string) { s.tell(machine.Seen{Epoch: 1, Ask: s.ask, Path: path}) }

func (s *telling) fired(path string, change machine.Change) {
	s.tell(machine.Fired{Epoch: 1, Path: path, Change: change})
}

var errRights = errors.New("no rights")

// own and round answer the two reads that follow an arrival, in this order.
func (s *telling) own(round string) {
	ask := s.ask
	s.tell(machine.Listed{Epoch: 1, Ask: ask, Path: round + "/" + nameB, Stat: machine.Stat{Czxid: 42, Owner: 7}})
	s.ask = ask + 1
}

// arrived leads to the two reads in round 1 of three parties, as the rank-th.
func (s *telling) arrived(rank int32) {
	s.begin(3)
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000001")
	s.done(rank)
}

// waiting leads to the state of that name.
func (s *telling) waiting() {
	s.arrived(2)
	s.own(one)
	s.seen(one, "open 3", 0, 4)
}

const others = "released 3\n" + nameA + "\n" + nameC + "\n" + nameD

const released = "released 3\n" + nameB + "\n" + nameA + "\n" + nameC

// inside leads to the state of that name.
func (s *telling) inside() {
	s.waiting()
	s.fired(one, machine.DataChanged)
	s.seen(one, released, 1, 5)
}

// leaving leads to the state of that name: c is the last one inside.
func (s *telling) leaving() {
	s.inside()
	s.tell(double.Departed{Claim: 1})
	s.done(2)
	s.seen(one+"/"+nameA, "", 0, 0)
}

// TestTraces tells the stories, and compares what the machine does with testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			s := &telling{t: t}
			story.tell(s)
			for i, trace := range s.all {
				name := story.name
				if i > 0 {
					name = fmt.Sprint(name, "-", i+1)
				}
				trace.Compare(name)
			}
		})
	}
}
