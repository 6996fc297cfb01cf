package consume_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// hand answers a machine's requests out of a tree that the test changes in between: names below
// paths, and data of items.
type hand struct {
	m       machine.Machine
	names   map[string][]string
	sealed  map[string]bool
	refused map[string]bool // listings
	size    int             // of the bodies
	written int             // the most in a transaction
	refuses int             // claims that somebody else is faster with
	asked   []string
}

func newHand(prefetch int) *hand {
	cfg := consume.Config{Root: root, GUID: "me", Prefetch: prefetch}
	return &hand{m: consume.New(cfg), names: make(map[string][]string), sealed: make(map[string]bool)}
}

// run feeds an event, and then the answers to what follows, until the machine delivers something or
// waits, or until stops.
func (h *hand) run(ev machine.Event, stops func(q machine.MultiRead) bool) {
	events := []machine.Event{ev}
	for len(events) > 0 {
		effects := h.m.Step(events[0])
		events = events[1:]
		for _, e := range effects {
			switch e := e.(type) {
			case machine.MultiRead:
				if stops != nil && stops(e) {
					stops = nil // it has changed what is there
				}
				events = append(events, h.look(e))
			case machine.Transact:
				events = append(events, h.transact(e))
			case consume.Deliver:
				h.asked = append(h.asked, "deliver "+strings.TrimSpace(string(e.Record.Body)))
				return
			}
		}
	}
}

func (h *hand) look(e machine.MultiRead) machine.Event {
	l := machine.MultiSeen{Epoch: e.Epoch, Ask: e.Ask}
	for _, q := range e.Queries {
		if q.Children {
			ev := machine.Listed{Path: q.Path, Names: h.names[q.Path]}
			if h.refused[q.Path] {
				ev = machine.Listed{Path: q.Path, Code: machine.Refused}
			}
			l.Answers = append(l.Answers, ev)
			continue
		}
		s := machine.Seen{Path: q.Path, Exists: true, Data: []byte("0000000000 {}\n" + path.Base(q.Path) + strings.Repeat(" ", h.size))}
		if h.sealed[q.Path] {
			s.Stat.Version = 1
		}
		if strings.Contains(q.Path, "-queue-") {
			h.asked = append(h.asked, path.Base(q.Path))
		}
		l.Answers = append(l.Answers, s)
	}
	if e.Queries[0].Children {
		h.asked = append(h.asked, "look")
	}
	return l
}

func (h *hand) transact(e machine.Transact) machine.Event {
	t := machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: -1, Results: make([]machine.Result, len(e.Ops))}
	written := 0
	for _, op := range e.Ops {
		written += len(op.Data)
	}
	h.written = max(h.written, written)
	if e.Ops[0].Do == machine.Set && h.refuses > 0 {
		h.refuses--
		return machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: machine.BadVersion}
	}
	return t
}

// A bucket that was listed as empty gets its last item, is sealed, and the next appears with one:
// the first is listed again before anything of the second is claimed.
func TestABucketIsListedAgainWhenTheNextAppears(t *testing.T) {
	t.Parallel()
	h := newHand(1)
	b0, b1, other := root.Items()+"/0-0000000000", root.Items()+"/0-0000000001", root.Items()+"/1-0000000000"
	h.names[root.Items()] = []string{"0-0000000000", "1-0000000000"}
	h.names[other] = []string{"c-queue-0000000000"}
	looks := 0
	h.run(machine.EpochBegan{Epoch: 1, Trusted: true}, func(machine.MultiRead) bool {
		if looks++; looks == 2 { // the second look is under way when this happens
			h.names[root.Items()] = append(h.names[root.Items()], "0-0000000001")
			h.names[b0], h.sealed[b0] = []string{"a-queue-0000000000"}, true
			h.names[b1] = []string{"b-queue-0000000000"}
			return true
		}
		return false
	})
	require.Equal(t, "deliver a-queue-0000000000", h.asked[len(h.asked)-1])
}

// A bucket whose claims may not be listed is passed over: which of its items are free is not known.
func TestABucketWithoutItsClaimsIsPassedOver(t *testing.T) {
	t.Parallel()
	h := newHand(1)
	h.names[root.Items()] = []string{"0-0000000000", "0-0000000001"}
	h.names[root.Items()+"/0-0000000000"] = []string{"a-queue-0000000000"}
	h.names[root.Items()+"/0-0000000001"] = []string{"b-queue-0000000000"}
	h.refused = map[string]bool{root.Claims() + "/0-0000000000": true}
	h.run(machine.EpochBegan{Epoch: 1, Trusted: true}, nil)
	require.NotContains(t, h.asked, "a-queue-0000000000")
	require.Equal(t, "deliver b-queue-0000000000", h.asked[len(h.asked)-1])
}

// Who loses tries others of the same listing, further and further behind, and looks again after
// four.
func TestLosing(t *testing.T) {
	t.Parallel()
	h := newHand(1)
	h.names[root.Items()] = []string{"0-0000000000"}
	for n := range 40 {
		b := root.Items() + "/0-0000000000"
		h.names[b] = append(h.names[b], fmt.Sprintf("i-queue-%010d", n))
	}
	h.refuses = 4
	h.run(machine.EpochBegan{Epoch: 1, Trusted: true}, nil)
	require.Equal(t, "look", h.asked[0])
	require.Equal(t, "i-queue-0000000000", h.asked[1], "alone it is strict")
	tried := slices.Index(h.asked[1:], "look")
	require.Equal(t, 1+2+8, tried, "it looks again after four that were lost; the more it loses the more it reads together")
	require.NotEqual(t, []string{"i-queue-0000000001", "i-queue-0000000002", "i-queue-0000000003"}, h.asked[2:5])
	require.True(t, strings.HasPrefix(h.asked[len(h.asked)-1], "deliver "))
}

// Listings do not tell sizes: next to a large item no other is read in the same trip, and a
// transaction is bounded.
func TestLarge(t *testing.T) {
	t.Parallel()
	h := newHand(9)
	h.size, h.refuses = 60_000, 4 // so that it reads again
	h.names[root.Items()] = []string{"0-0000000000"}
	for n := range 40 {
		b := root.Items() + "/0-0000000000"
		h.names[b] = append(h.names[b], fmt.Sprintf("i-queue-%010d", n))
	}
	h.run(machine.EpochBegan{Epoch: 1, Trusted: true}, nil)
	require.Less(t, h.written, 256<<10)
	require.Len(t, h.asked[:slices.Index(h.asked[1:], "look")+1], 1+8, "eight before their size is known")
	require.Equal(t, "look", h.asked[9])
	require.True(t, strings.HasPrefix(h.asked[11], "deliver "), h.asked)
}
