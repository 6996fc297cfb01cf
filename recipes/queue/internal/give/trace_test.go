package give_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
)

const (
	root   = "/q"
	bucket = root + "/ready-0-0000000000"
	guid   = "f81d4fae-7dec-4d0b-a765-00a0c91e000"
)

func story(t *testing.T, cfg give.Config) *recipetest.Trace {
	cfg.Site, cfg.GUID = give.Site{Root: root}, "me"
	tr := recipetest.NewTrace(t, give.New(cfg))
	tr.Transitions(func(from string, ev machine.Event, to string) {
		name := fmt.Sprintf("%T", ev)
		if on := name[strings.LastIndexByte(name, '.')+1:]; from != to && !declared(from, on, to) {
			t.Errorf("undeclared: {%q, %q, %q}", from, on, to)
		}
	})
	return tr
}

// last is the number of the last request among the effects.
func last(effects []machine.Effect) (ask uint64) {
	for _, e := range effects {
		switch e := e.(type) {
		case machine.List:
			ask = e.Ask
		case machine.Read:
			ask = e.Ask
		case machine.Transact:
			ask = e.Ask
		case machine.Ensure:
			ask = e.Ask
		}
	}
	return ask
}

func item(n int) give.Item { return give.Item{GUID: guid + fmt.Sprint(n), Data: fmt.Append(nil, n)} }

// put answers a transaction whose last operation has made the item with a number.
func put(ask uint64, ops int, seq int) machine.Transacted {
	results := make([]machine.Result, ops)
	results[ops-1].Path = fmt.Sprintf("%s/_c_x-queue-0-%010d", bucket, seq)
	return machine.Transacted{Epoch: 1, Ask: ask, Failed: -1, Results: results}
}

func TestTraceFirst(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{Limit: 4})
	tr.Say("The first put of all: the queue is made, and the receipt, and the bucket in the same transaction as the item.")
	a := last(tr.Tell(give.Put{No: 1, Items: []give.Item{item(1)}}, machine.EpochBegan{Epoch: 1, SessionID: 7}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Code: machine.NoNode}))
	a = last(tr.Tell(machine.Ensured{Epoch: 1, Ask: a}))
	a = last(tr.Tell(machine.Ensured{Epoch: 1, Ask: a}))
	tr.Say("What is wished meanwhile goes together into the next transaction.")
	tr.Tell(give.Put{No: 2, Items: []give.Item{item(2)}}, give.Put{No: 3, Items: []give.Item{item(3)}})
	a = last(tr.Tell(put(a, 4, 0)))
	tr.Tell(put(a, 4, 2))
	tr.Say("The bucket will be full: the same transaction seals it and makes the next.")
	a = last(tr.Tell(give.Put{No: 4, Items: []give.Item{item(4)}}))
	tr.Say("Somebody else has sealed it: on to the next.")
	a = last(tr.Tell(machine.Transacted{Epoch: 1, Ask: a, Code: machine.BadVersion, Failed: 1}))
	tr.Tell(put(a, 3, 0))
	tr.Compare("first")
}

func TestTraceLost(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{})
	a := last(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, give.Put{No: 1, Items: []give.Item{item(1)}}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000", "ready-0-0000000007", "ready-5-0000000009"}}))
	tr.Tell(machine.Ensured{Epoch: 1, Ask: a})
	tr.Say("The answer is lost, and with it the epoch. The receipt says that it was carried out.")
	tr.Tell(give.Withdraw{No: 1}, machine.EpochEnded{Epoch: 1})
	a = last(tr.Tell(machine.EpochBegan{Epoch: 2, SessionID: 8}))
	a = last(tr.Tell(machine.Listed{Epoch: 2, Ask: a, Names: []string{"ready-0-0000000007"}}))
	tr.Tell(machine.Seen{Epoch: 2, Ask: a, Exists: true, Data: []byte("1 "), Stat: machine.Stat{Version: 1}})
	tr.Say("This time the receipt says that it was not.")
	a = last(tr.Tell(give.Put{No: 2, Items: []give.Item{item(2)}}))
	a = last(tr.Tell(machine.Transacted{Epoch: 2, Ask: a, Code: machine.Unknown, Failed: -1}))
	a = last(tr.Tell(machine.Listed{Epoch: 2, Ask: a, Names: []string{"ready-0-0000000007"}}))
	tr.Tell(machine.Seen{Epoch: 2, Ask: a, Exists: true, Data: []byte("1 "), Stat: machine.Stat{Version: 1}})
	tr.Compare("lost")
}

// A transaction whose answer was lost is carried out after the receipt was read.
func TestTraceFullByItself(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{Capacity: 1})
	a := last(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, give.Put{No: 1, Items: []give.Item{item(1)}, Stands: true, Again: true}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000", "room"}}))
	tr.Say("The receipt does not tell of it yet; then the queue turns out to be full.")
	capacity := last(tr.Tell(machine.Seen{Epoch: 1, Ask: a, Exists: true}))
	effects := tr.Tell(machine.Seen{Epoch: 1, Ask: capacity, Exists: true, Data: []byte("1")})
	for n := range uint64(len(effects)) {
		a = last(tr.Tell(machine.Seen{Epoch: 1, Ask: capacity + 1 + n, Exists: true, Data: []byte("0")}))
	}
	tr.Say("Full, and the receipt has changed: it is itself that has filled it.")
	a = last(tr.Tell(machine.Transacted{Epoch: 1, Ask: a, Code: machine.BadVersion, Failed: len(effects)}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000", "room"}}))
	tr.Tell(machine.Seen{Epoch: 1, Ask: a, Exists: true, Data: []byte("1 "), Stat: machine.Stat{Version: 1}})
	tr.Compare("full-by-itself")
}

func TestTraceDelayed(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{})
	a := last(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, give.Put{No: 1, Items: []give.Item{{GUID: guid + "1", ID: "red", Delay: 60_000, Priority: 3}}}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a}))
	a = last(tr.Tell(machine.Ensured{Epoch: 1, Ask: a}))
	tr.Say("The clock is read from the stamp of a write.")
	a = last(tr.Tell(machine.Transacted{Epoch: 1, Ask: a, Failed: -1, Results: []machine.Result{{Stat: machine.Stat{Mtime: 1_000_000}}}}))
	tr.Say("The id is taken.")
	tr.Tell(machine.Transacted{Epoch: 1, Ask: a, Code: machine.NodeExists, Failed: 3})
	tr.Compare("delayed")
}
