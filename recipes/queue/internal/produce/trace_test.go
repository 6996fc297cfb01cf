package produce_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

var errRefused = errors.New("not authorized")

// story is a trace of a machine in the first epoch, whose requests are answered by what was asked.
type story struct {
	*recipetest.Trace
	t     *testing.T
	asked []machine.Effect // and not answered
	epoch uint64
}

func tell(t *testing.T, cfg produce.Config) *story {
	cfg.Root, cfg.GUID = queue, "me"
	s := &story{Trace: recipetest.NewTrace(t, produce.New(cfg)), t: t}
	s.begin()
	return s
}

func (s *story) begin() {
	s.epoch++
	s.asked = nil
	s.tell(machine.EpochBegan{Epoch: s.epoch, SessionID: int64(s.epoch) + 6})
}

func (s *story) tell(ev machine.Event) {
	for _, e := range s.Tell(ev) {
		switch e.(type) {
		case machine.Look, machine.Read, machine.Ensure, machine.Transact:
			s.asked = append(s.asked, e)
		}
	}
}

// seen answers the first request: a read, with data and a version, or nil for nothing there.
func (s *story) seen(data []byte, version int32) {
	r := s.next().(machine.Read)
	s.tell(machine.Seen{Epoch: r.Epoch, Ask: r.Ask, Path: r.Path, Exists: data != nil, Data: data, Stat: machine.Stat{Version: version}})
}

// looked answers the look at the queue: the version of the buckets' parent, their names, and what
// is at the room, "" for nothing.
func (s *story) looked(version int32, room string, names ...string) {
	s.answered(
		machine.Seen{Path: queue.Work(), Exists: len(names) > 0, Stat: machine.Stat{Version: version}},
		machine.Listed{Path: queue.Work(), Names: names},
		machine.Seen{Path: place.Root(queue).Room(), Exists: room != "", Data: []byte(room)},
	)
}

// answered answers a look.
func (s *story) answered(answers ...machine.Event) {
	r := s.next().(machine.Look)
	s.tell(machine.Looked{Epoch: r.Epoch, Ask: r.Ask, Answers: answers})
}

// parts answers the look at the parts of the room.
func (s *story) parts(data ...string) {
	var all []machine.Event
	for n := range place.Stripes {
		all = append(all, machine.Seen{Exists: n < len(data), Data: []byte(append(data, make([]string, place.Stripes)...)[n])})
	}
	s.answered(all...)
}

func (s *story) ensured() {
	r := s.next().(machine.Ensure)
	s.tell(machine.Ensured{Epoch: r.Epoch, Ask: r.Ask})
}

// done: the transaction was carried out at an instant; seq is the number of the last znode.
func (s *story) done(seq int, now int64) {
	r := s.next().(machine.Transact)
	results := make([]machine.Result, len(r.Ops))
	for n, op := range r.Ops {
		results[n] = machine.Result{Stat: machine.Stat{Mtime: now}}
		if op.Sequential {
			results[n].Path = fmt.Sprintf("%s%010d", op.Path, seq)
		}
	}
	s.tell(machine.Transacted{Epoch: r.Epoch, Ask: r.Ask, Failed: -1, Results: results})
}

func (s *story) failed(code machine.Code, op int) {
	r := s.next().(machine.Transact)
	s.tell(machine.Transacted{Epoch: r.Epoch, Ask: r.Ask, Code: code, Failed: op, Err: errors.New(code.String())})
}

func (s *story) next() machine.Effect {
	s.t.Helper()
	require.NotEmpty(s.t, s.asked)
	e := s.asked[0]
	s.asked = s.asked[1:]
	return e
}

func (s *story) put(no int, i produce.Item) {
	i.Data = fmt.Append(nil, no)
	s.tell(single(no, i))
}

// ready has the first item put into an unbounded queue.
func (s *story) ready() {
	s.put(1, produce.Item{})
	s.ensured()
	s.looked(0, "", "ready-0-0000000000")
	s.done(0, 0)
}

func TestTraceFirst(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{Limit: 4})
	s.Say("The first put of all: the receipt is made, then the queue, and the bucket in the same transaction as the item.")
	s.put(1, produce.Item{})
	s.ensured()
	s.answered(machine.Seen{}, machine.Listed{Code: machine.NoNode, Err: errRefused}, machine.Seen{})
	s.ensured()
	s.Say("What is wished meanwhile goes together into the next transaction.")
	s.put(2, produce.Item{})
	s.put(3, produce.Item{})
	s.done(0, 0)
	s.done(2, 0)
	s.Say("The bucket will be full: the same transaction seals it and makes the next. Somebody else has sealed it.")
	s.put(4, produce.Item{})
	s.failed(machine.BadVersion, 2)
	s.done(0, 0)
	s.Compare("first")
}

func TestTraceLost(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{})
	s.ready()
	s.Say("The answer is lost, and with it the epoch. The receipt says that it was carried out.")
	s.put(2, produce.Item{})
	s.tell(produce.Withdraw{No: 2})
	s.tell(machine.EpochEnded{Epoch: 1})
	s.begin()
	s.seen([]byte("2 "), 2)
	s.Say("The receipt says that the next was not.")
	s.put(3, produce.Item{})
	s.looked(0, "", "ready-0-0000000000")
	s.failed(machine.Unknown, -1)
	s.seen([]byte("2 "), 2)
	s.looked(0, "", "ready-0-0000000000")
	s.Say("It is lost again, and so is the receipt.")
	s.failed(machine.Unknown, -1)
	s.seen(nil, 0)
	s.Compare("lost")
}

func TestTraceAgain(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{Floor: 5})
	s.Say("A machine after one that has crashed: what stands is told again, what was settled comes from the mailbox.")
	again := single(2, produce.Item{})
	again.Stands, again.Again = true, true
	s.tell(again)
	s.put(2, produce.Item{})
	s.put(4, produce.Item{})
	s.seen([]byte("1 2 "), 7)
	s.Compare("again")
}

func TestTraceFullByItself(t *testing.T) {
	t.Parallel()
	again := single(1, produce.Item{})
	again.Stands, again.Again = true, true
	full := func(s *story) {
		s.looked(1, "1", "ready-0-0000000000")
		s.parts(slices.Repeat([]string{"0"}, place.Stripes)...)
	}
	s := tell(t, produce.Config{})
	s.tell(again)
	s.Say("The receipt does not tell of it yet; then the queue turns out to be full.")
	s.seen([]byte{}, 1)
	full(s)
	s.Say("One that comes behind that question may find room.")
	s.put(2, produce.Item{})
	s.Say("Full, and the receipt has changed: it is itself that has filled it.")
	s.failed(machine.BadVersion, place.Stripes)
	s.seen([]byte("1 "), 2)
	full(s)
	s.put(3, produce.Item{})
	s.done(0, 0)
	s.Compare("full-by-itself")

	s = tell(t, produce.Config{})
	s.tell(again)
	s.seen([]byte{}, 1)
	full(s)
	s.Say("Full, and the receipt is gone: perhaps it has filled it itself.")
	s.failed(machine.NoNode, place.Stripes)
	s.seen(nil, 0)
	s.Compare("full-and-unknown")
}

func TestTraceDelayed(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{})
	s.ready()
	s.Say("The clock is read from the stamp of a write.")
	s.put(2, produce.Item{ID: "red", Delay: 60_000, Priority: 3})
	s.failed(machine.NoNode, 0)
	s.ensured()
	s.Say("What comes behind the question is not timed by its answer.")
	s.put(3, produce.Item{Delay: math.MaxInt64})
	s.tell(produce.Withdraw{No: 2})
	s.done(0, 1_000_000)
	s.done(0, 1_000_010)
	s.done(0, 0)
	s.Compare("delayed")
}

func TestTraceUnder(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{})
	s.ready()
	s.Say("A guard does not hold. What is put with it is not held up.")
	s.put(2, produce.Item{})
	under := single(3, produce.Item{ID: "red"})
	under.Under = []machine.Op{{Do: machine.Check, Path: guard, Version: 3}}
	s.tell(under)
	s.put(4, produce.Item{})
	s.done(1, 0)
	s.failed(machine.BadVersion, 2)
	s.Say("The id of one is missing a parent, and then taken.")
	s.put(5, produce.Item{ID: "red"})
	s.done(2, 0)
	s.failed(machine.NoNode, 2)
	s.ensured()
	s.failed(machine.NodeExists, 2)
	s.Compare("under")
}

func TestTraceCapacity(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{Capacity: 1})
	s.Say("A capacity is set: the room is made, so that nobody puts, and then nothing lies in the queue.")
	names := []string{"later-1024-0000000000", "ready-0-0000000000", "alive"}
	empty, full := machine.Seen{Exists: true}, machine.Seen{Exists: true, Stat: machine.Stat{Children: 1}}
	s.put(1, produce.Item{})
	s.ensured()
	s.looked(0, "", names...)
	s.answered(empty, empty)
	s.done(0, 0)
	s.looked(1, "1", names...)
	s.answered(empty)
	s.Say("Somebody else has taken that back meanwhile, and set it anew: all that was looked at counts for nothing.")
	s.looked(2, "1", names...)
	s.parts()
	s.looked(2, "1", names...)
	s.answered(empty)
	s.looked(2, "1", names...)
	s.answered(full)
	s.Say("Something lies there: it is taken back.")
	s.done(0, 0)
	s.Compare("capacity")

	s = tell(t, produce.Config{})
	s.Say("Some parts of the room are missing: somebody is deleting the queue.")
	s.put(1, produce.Item{})
	s.ensured()
	s.looked(1, "1", "ready-0-0000000000")
	s.parts("0", "0")
	s.Say("It is not a queue's.")
	s.put(2, produce.Item{})
	s.looked(1, "x", "ready-0-0000000000")
	s.Compare("capacity-of-others")
}

func TestTraceRefused(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{})
	s.Say("ZooKeeper refuses to list the queue.")
	s.put(1, produce.Item{})
	s.ensured()
	s.answered(machine.Seen{}, machine.Listed{Code: machine.Refused, Err: errRefused}, machine.Seen{})
	s.Say("It refuses one item, and says which: what comes behind is tried alone.")
	s.put(2, produce.Item{Ephemeral: true})
	s.put(3, produce.Item{})
	s.looked(0, "", "ready-0-0000000000")
	s.failed(machine.Refused, 4)
	s.Say("It refuses the receipt: whose fault that is nobody knows.")
	s.failed(machine.Refused, 0)
	s.Compare("refused")
}

func TestTraceEnding(t *testing.T) {
	t.Parallel()
	s := tell(t, produce.Config{})
	s.Say("Nothing is wished: it ends at once.")
	s.tell(machine.Closing{})
	s.Compare("ending")

	s = tell(t, produce.Config{})
	s.Say("A wish that was not sent can be withdrawn.")
	s.put(1, produce.Item{})
	s.tell(machine.Closing{})
	s.tell(produce.Withdraw{No: 1})
	s.Compare("ending-withdrawn")

	s = tell(t, produce.Config{})
	s.ready()
	s.Say("A wish that was sent can't; it ends when that is answered.")
	s.put(2, produce.Item{})
	s.tell(machine.Closing{})
	s.tell(produce.Withdraw{No: 2})
	s.done(1, 0)
	s.Compare("ending-answered")

	s = tell(t, produce.Config{Idle: 1000})
	s.ready()
	s.Say("There was nothing to do, then there was, then there was nothing for a while.")
	s.put(2, produce.Item{})
	r := s.next().(machine.Transact)
	for _, e := range s.Tell(machine.Transacted{Epoch: 1, Ask: r.Ask, Failed: -1, Results: make([]machine.Result, len(r.Ops))}) {
		if w, ok := e.(machine.Wake); ok {
			s.tell(machine.Woke{Ask: w.Ask})
		}
	}
	s.Compare("ending-idle")
}
