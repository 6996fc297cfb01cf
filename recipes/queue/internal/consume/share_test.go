package consume_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// backs are the names of the entries that a transaction makes.
func backs(e machine.Effect) (names []string) {
	for _, op := range e.(machine.Transact).Ops {
		if name, ok := strings.CutPrefix(op.Path, layout.Root(root).Returned()+"/"); ok && op.Do == machine.Create {
			names = append(names, name)
		}
	}
	return names
}

// Neighbours that go back together share a znode, however often that was cut out before.
func TestNeighboursGoBackTogether(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Prefetch: 8, Workers: 8})
	z := pack(0, 8).Cut(2, 6)
	h.first(1)
	h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("list /q/work/returned", 0, layout.Returned{Entry: layout.Whole(place.Bucket{}, z)}.Name())
	h.seen("read /q/cursor", 0, "ready-0-0000000000 0")
	h.listed("list "+bucket0, 0, pack(0, 8).Name(), z.Name())
	h.done("delete /q/work/returned/ready-0-0000000000:0.3to8:3f:0", 1)
	h.listed("list "+bucket0, 0, pack(0, 8).Name(), z.Name())
	if h.asks("list " + bucket0) { // the sweep's came first
		h.listed("list "+bucket0, 0, pack(0, 8).Name(), z.Name())
	}
	h.seen("read "+bucket0+"/"+z.Name(), 0, data(z))
	items := told[consume.Deliver](h)
	require.Len(t, items, 6)
	h.step(consume.Settle{No: items[0].No, How: consume.Ack}) // under way, while three are returned
	for _, n := range []int{1, 2, 4} {
		h.step(consume.Settle{No: items[n].No, How: consume.Return})
	}
	h.done("set /q/journal/me-1", 2)
	e := h.take("create " + bucket0)
	require.Equal(t, []string{"ready-0-0000000000:0.4to5:3:0", "ready-0-0000000000:0.7:1:0"}, backs(e))
	require.Contains(t, asked(e), "create "+bucket0+"/"+z.Cut(1, 2).Name())
}

// begged has somebody write the ephemeral znode.
func (h *hand) begged(version int32) {
	h.t.Helper()
	const alive = "/q/work/alive/me-1"
	h.step(machine.Fired{Epoch: 1, Path: alive, Change: machine.DataChanged})
	h.seen("read "+alive, version, "")
}

// Who is asked gives back the half that comes last of what nobody has received there, in one piece,
// and does not claim it again. Without a stream all of it goes, however many have an item; what the
// user has fixed stays.
func TestGivesBackWhenAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg   consume.Config
		backs []string
	}{
		"stream": {consume.Config{Stream: true}, []string{"ready-0-0000000000:0.33to64:ffffffff:0"}},
		"fixed":  {consume.Config{Stream: true, Prefetch: 65}, nil},
		"take":   {consume.Config{}, []string{"ready-0-0000000000:0.3to64:3fffffffffffffff:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHand(t, c.cfg)
			if !c.cfg.Stream {
				h.step(consume.Demand{Total: 2})
			}
			h.claims(pack(0, 64))
			items := told[consume.Deliver](h)
			if c.cfg.Stream {
				h.step(consume.Received{No: items[0].No})
				h.done("set /q/journal/me-1", 2)
			}
			h.begged(1)
			if c.backs == nil {
				require.False(t, h.asks("create /q/work/returned"))
				return
			}
			e := h.find("create " + bucket0)
			require.GreaterOrEqual(t, e, 0)
			require.Equal(t, c.backs, backs(h.pending[e]))
			h.done("create "+bucket0, 3)
			require.False(t, h.asks("create /q/work/returned"), "it is asked once")
			require.False(t, h.asks("create /q/line"), "it has what it needs")
		})
	}
}

// journal is that of somebody else.
func journal(claims ...layout.Claim) string {
	return string(layout.Journal{Number: 5, Claims: claims}.Bytes())
}

// surveyed answers the look at others' journals: what they are at.
func (h *hand) surveyed(journals ...string) {
	h.t.Helper()
	e := h.take("look").(machine.Look)
	require.Len(h.t, e.Queries, len(journals))
	var answers []machine.Event
	for n, j := range journals {
		answers = append(answers, machine.Seen{Path: e.Queries[n].Path, Exists: true, Data: []byte(j), Stat: machine.Stat{Version: 5}})
	}
	h.step(machine.Looked{Epoch: e.Epoch, Ask: e.Ask, Answers: answers})
}

// A dispatcher that finds nothing for a while asks those who have something, the one first that has
// most, each once; and then it is quiet.
func TestAsksWhoHasMost(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true})
	h.first(1)
	h.step(machine.Fired{Epoch: 1, Path: "/q/work/alive", Change: machine.ChildrenChanged})
	h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("list /q/work/returned", 0)
	h.seen("read /q/cursor", 0, "ready-0-0000000000 9")
	h.listed("list /q/journal", 0, "a", "b", "c", "me-1")
	h.listed("list /q/work/alive", 0, "a", "b", "c", "me-1")
	h.listed("list "+bucket0, 0)
	at := func(n, count int) layout.Claim {
		return layout.Claim{Entry: layout.Whole(place.Bucket{}, pack(n, count)), Offered: 1}
	}
	all := []string{journal(at(0, 3)), journal(at(1, 5), at(2, 1)), journal(at(3, 1))}
	h.woke()
	h.surveyed(all...)
	h.done("set /q/work/alive/b", 1)
	require.False(t, h.asks("look"), "at once")
	h.woke()
	h.surveyed(all...)
	h.done("set /q/work/alive/a", 1)
	h.woke()
	h.surveyed(all...)
	require.Empty(t, h.pending)
}

// beggar asks consumers to give something back, whether anybody waits or not.
type beggar struct{ requests machine.Requests[string] }

// beg is the wish that one be asked.
type beg struct{ path string }

func (w *world) addBeggar() {
	w.beggar = w.Add(recipetest.Player{Name: "beggar", Machine: func() machine.Machine { return &beggar{} }})
}

func (b *beggar) Step(ev machine.Event) []machine.Effect {
	if _, ok := b.requests.Accept(ev); !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		b.requests.Begin(ev.Epoch)
	case beg:
		if b.requests.Epoch() != 0 {
			b.requests.Ask(machine.Transact{Ops: []machine.Op{{Do: machine.Set, Path: ev.path, Version: machine.Any}}}, ev.path)
		}
	}
	return b.requests.Flush()
}

// beg has one of those who live asked.
func (w *world) beg(choose func(n int) int) {
	dir := layout.Root(root).Living()
	if tags := w.Children(dir); len(tags) > 0 {
		w.beggar.Tell(beg{dir + "/" + tags[choose(len(tags))]})
	}
}
