package give_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

var errRefused = errors.New("not authorized")

// ready begins a story with a queue and a receipt that are there.
func ready(t *testing.T, cfg give.Config) *recipetest.Trace {
	tr := story(t, cfg)
	a := last(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, give.Put{No: 1, Items: []give.Item{item(1)}}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000"}}))
	a = last(tr.Tell(machine.Ensured{Epoch: 1, Ask: a}))
	tr.Tell(put(a, 4, 0))
	return tr
}

// together are items that are put together.
func together(sizes ...int) []give.Item {
	var items []give.Item
	for n, size := range sizes {
		items = append(items, give.Item{GUID: place.Member("f81d4fae-7dec-4d0b-a765-00a0c91e0000", n+1), Data: make([]byte, size), Together: true})
	}
	return items
}

func TestTracePacked(t *testing.T) {
	t.Parallel()
	tr := ready(t, give.Config{Limit: 4})
	tr.Say("Items that are put together lie in a pack.")
	a := last(tr.Tell(give.Put{No: 2, Items: together(0, 0, 0)}))
	tr.Tell(put(a, 3, 1))
	tr.Say("There are few znodes in the bucket, and many items: it is sealed.")
	a = last(tr.Tell(give.Put{No: 3, Items: together(make([]int, 12)...)}))
	tr.Tell(put(a, 4, 2))
	tr.Compare("packed")
}

// A pack has 64 items and 16 kB at most; an item that is larger has one to itself.
func TestPacksAreBounded(t *testing.T) {
	t.Parallel()
	sizes := make([]int, 70)
	sizes[66], sizes[67], sizes[68] = 10_000, 10_000, 20_000
	m := give.New(give.Config{Site: give.Site{Root: root}, GUID: "me"})
	a := last(append(m.Step(give.Put{No: 1, Items: together(sizes...)}), m.Step(machine.EpochBegan{Epoch: 1, SessionID: 7})...))
	a = last(m.Step(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000"}}))
	var packs []string
	for _, e := range m.Step(machine.Ensured{Epoch: 1, Ask: a}) {
		if e, ok := e.(machine.Transact); ok {
			for _, op := range e.Ops {
				if _, pack, ok := strings.Cut(op.Path, "-pack-"); ok {
					data, whole := place.Unwrap(op.Data)
					packs = append(packs, fmt.Sprintf("%s %d %t", pack, len(data), whole))
				}
			}
		}
	}
	require.Equal(t, []string{"0-0-1-64- 64 true", "0-0-65-67- 3 true", "0-0-68-68- 1 true", "0-0-69-69- 1 true", "0-0-70-70- 1 true"}, packs)
}

func TestTraceFull(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{Capacity: 1})
	tr.Say("A bounded queue without room: that is proven, and told.")
	a := last(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, give.Put{No: 1, Items: []give.Item{item(1)}}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"room"}}))
	capacity := last(tr.Tell(machine.Ensured{Epoch: 1, Ask: a}))
	effects := tr.Tell(machine.Seen{Epoch: 1, Ask: capacity, Exists: true, Data: []byte("1")})
	for n := range uint64(len(effects)) {
		a = last(tr.Tell(machine.Seen{Epoch: 1, Ask: capacity + 1 + n, Exists: true, Data: []byte("0")}))
	}
	tr.Tell(machine.Transacted{Epoch: 1, Ask: a, Failed: -1})
	tr.Compare("full")
}

func TestTraceRefused(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{})
	tr.Say("ZooKeeper refuses to list the queue.")
	a := last(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, give.Put{No: 1, Items: []give.Item{item(1)}}))
	tr.Tell(machine.Listed{Epoch: 1, Ask: a, Code: machine.Refused, Err: errRefused})
	tr.Say("It refuses to make it.")
	a = last(tr.Tell(give.Put{No: 2, Items: []give.Item{item(2)}}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Code: machine.NoNode}))
	tr.Tell(machine.Ensured{Epoch: 1, Ask: a, Code: machine.Refused, Err: errRefused})
	tr.Compare("refused")
}

func TestTraceMoved(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{Idle: 1000})
	tr.Say("A move needs no receipt: repeated, it finds nothing left to move.")
	also := []machine.Op{{Do: machine.Delete, Path: "/x", Version: 3}}
	tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7})
	a := last(tr.Tell(give.Move{No: 1, Items: []give.Item{item(1)}, Also: also}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000"}}))
	tr.Tell(put(a, 3, 0))
	tr.Say("It had nothing to do, and was about to end.")
	a = last(tr.Tell(give.Move{No: 2, Items: []give.Item{item(2)}, Also: also}))
	tr.Tell(machine.Transacted{Epoch: 1, Ask: a, Code: machine.NoNode, Failed: 1})
	tr.Compare("moved")

	tr = story(t, give.Config{})
	tr.Say("The same, without a timer.")
	tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7})
	a = last(tr.Tell(give.Move{No: 1, Items: []give.Item{item(1)}, Also: also}))
	a = last(tr.Tell(machine.Listed{Epoch: 1, Ask: a, Names: []string{"ready-0-0000000000"}}))
	tr.Tell(put(a, 3, 0))
	tr.Tell(give.Move{No: 2, Items: []give.Item{item(2)}, Also: also})
	tr.Compare("moved-at-once")
}

func TestTraceEnding(t *testing.T) {
	t.Parallel()
	tr := story(t, give.Config{})
	tr.Say("Nothing is wished: it ends at once.")
	tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7}, machine.Closing{})
	tr.Compare("ending")

	tr = story(t, give.Config{})
	tr.Say("A wish that was not sent can be withdrawn.")
	tr.Tell(give.Put{No: 1, Items: []give.Item{item(1)}}, machine.Closing{}, give.Withdraw{No: 1})
	tr.Compare("ending-withdrawn")

	tr = ready(t, give.Config{})
	tr.Say("A wish that was sent can't; it ends when that is answered.")
	a := last(tr.Tell(give.Put{No: 2, Items: []give.Item{item(2)}}))
	tr.Tell(machine.Closing{}, give.Withdraw{No: 2})
	tr.Tell(put(a, 3, 1))
	tr.Compare("ending-answered")

	tr = ready(t, give.Config{Idle: 1000})
	tr.Say("There was nothing to do, then there was, then there was nothing for a while.")
	a = last(tr.Tell(give.Put{No: 2, Items: []give.Item{item(2)}}))
	for _, e := range tr.Tell(put(a, 3, 1)) {
		if w, ok := e.(machine.Wake); ok {
			tr.Tell(machine.Woke{Ask: w.Ask})
		}
	}
	tr.Compare("ending-idle")
}
