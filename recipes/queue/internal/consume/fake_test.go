// The search for items, with a fake in the place of ZooKeeper: which are listed, read and claimed.

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

// fake answers a machine's requests out of a tree that the test changes in between: names below
// paths, and data of items.
type fake struct {
	machine machine.Machine
	names   map[string][]string
	sealed  map[string]bool
	refused map[string]bool // listings
	size    int             // of the bodies
	written int             // the most bytes in a transaction
	refuses int             // so many claims fail, as if a rival had been faster
	asked   []string        // "list", the name of each item that was read, "deliver" with that of an item
}

func newFake(prefetch int) *fake {
	cfg := consume.Config{Root: root, GUID: "me", Prefetch: prefetch}
	return &fake{machine: consume.New(cfg), names: make(map[string][]string), sealed: make(map[string]bool)}
}

// run gives the machine an event, and answers each request that follows, until the machine delivers
// an item or no request is open. before is called ahead of the answer to each MultiRead, until it
// returns true: it may change what is there. nil: nothing changes.
func (f *fake) run(ev machine.Event, before func() (changed bool)) {
	events := []machine.Event{ev}
	for len(events) > 0 {
		effects := f.machine.Step(events[0])
		events = events[1:]
		for _, e := range effects {
			switch e := e.(type) {
			case machine.MultiRead:
				if before != nil && before() {
					before = nil
				}
				events = append(events, f.read(e))
			case machine.Transact:
				events = append(events, f.transact(e))
			case machine.Read:
				if e.Path == root.Claims() { // it is not paused
					events = append(events, machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true})
				}
			case consume.Deliver:
				f.asked = append(f.asked, "deliver "+strings.TrimSpace(string(e.Record.Body)))
				return
			}
		}
	}
}

func (f *fake) read(e machine.MultiRead) machine.Event {
	answer := machine.MultiSeen{Epoch: e.Epoch, Ask: e.Ask}
	for _, q := range e.Queries {
		if q.Children {
			ev := machine.Listed{Path: q.Path, Names: f.names[q.Path]}
			if f.refused[q.Path] {
				ev = machine.Listed{Path: q.Path, Code: machine.Refused}
			}
			answer.Answers = append(answer.Answers, ev)
			continue
		}
		s := machine.Seen{Path: q.Path, Exists: true, Data: []byte("0000000000 {}\n" + path.Base(q.Path) + strings.Repeat(" ", f.size))}
		if f.sealed[q.Path] {
			s.Stat.Version = 1
		}
		if strings.Contains(q.Path, "-queue-") {
			f.asked = append(f.asked, path.Base(q.Path))
		}
		answer.Answers = append(answer.Answers, s)
	}
	if e.Queries[0].Children {
		f.asked = append(f.asked, "list")
	}
	return answer
}

func (f *fake) transact(e machine.Transact) machine.Event {
	t := machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: -1, Results: make([]machine.Result, len(e.Ops))}
	written := 0
	for _, op := range e.Ops {
		written += len(op.Data)
	}
	f.written = max(f.written, written)
	if e.Ops[0].Do == machine.Set && f.refuses > 0 {
		f.refuses--
		return machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: machine.BadVersion}
	}
	return t
}

// bucket adds a bucket of priority 0 with these items.
func (f *fake) bucket(n int, items ...string) (path string) {
	name := fmt.Sprintf("0-%010d", n)
	f.names[root.Items()] = append(f.names[root.Items()], name)
	f.names[root.Items()+"/"+name] = items
	return root.Items() + "/" + name
}

// numbered are the names of n items.
func numbered(n int) (names []string) {
	for k := range n {
		names = append(names, fmt.Sprintf("i-queue-%010d", k))
	}
	return names
}

func (f *fake) last() string { return f.asked[len(f.asked)-1] }

// start runs the machine from the beginning of an epoch.
func (f *fake) start(before func() (changed bool)) {
	f.run(machine.EpochBegan{Epoch: 1, Trusted: true}, before)
}

// A bucket that was listed as empty gets its last item, is sealed, and the next appears with one:
// the first is listed again before anything of the second is claimed.
func TestABucketIsListedAgainWhenTheNextAppears(t *testing.T) {
	t.Parallel()
	f := newFake(1)
	first := f.bucket(0)
	f.names[root.Items()] = append(f.names[root.Items()], "1-0000000000")
	f.names[root.Items()+"/1-0000000000"] = []string{"c-queue-0000000000"}
	listings := 0
	f.start(func() (changed bool) {
		if listings++; listings == 2 { // the machine has asked for the second listing, and has no answer yet
			f.names[first], f.sealed[first] = []string{"a-queue-0000000000"}, true
			f.bucket(1, "b-queue-0000000000")
			return true
		}
		return false
	})
	require.Equal(t, "deliver a-queue-0000000000", f.last())
}

// A bucket whose claims may not be listed is passed over: which of its items are free is not known.
func TestABucketWithoutItsClaimsIsPassedOver(t *testing.T) {
	t.Parallel()
	f := newFake(1)
	f.bucket(0, "a-queue-0000000000")
	f.bucket(1, "b-queue-0000000000")
	f.refused = map[string]bool{root.Claims() + "/0-0000000000": true}
	f.start(nil)
	require.NotContains(t, f.asked, "a-queue-0000000000")
	require.Equal(t, "deliver b-queue-0000000000", f.last())
}

// A consumer that loses items to rivals tries others of the same listing, further and further
// behind, and lists again after four.
func TestLosing(t *testing.T) {
	t.Parallel()
	f := newFake(1)
	f.bucket(0, numbered(40)...)
	f.refuses = 4
	f.start(nil)
	require.Equal(t, []string{"list", "i-queue-0000000000"}, f.asked[:2], "without a loss it takes the first item")
	// It reads one and loses it; two, and loses both; eight (the window has doubled with each
	// loss), and loses the fourth item in all.
	const read = 1 + 2 + 8
	require.Equal(t, read, slices.Index(f.asked[1:], "list"), "it lists again after four that were lost")
	afterALoss := f.asked[2:5]
	require.NotEqual(t, []string{"i-queue-0000000001", "i-queue-0000000002", "i-queue-0000000003"}, afterALoss, "drawn, not in order")
	require.True(t, strings.HasPrefix(f.last(), "deliver "))
}

// Listings do not tell sizes: when a large item was read, the next is read alone, and a transaction
// is bounded.
func TestLarge(t *testing.T) {
	t.Parallel()
	f := newFake(9)
	f.size, f.refuses = 60_000, 4 // so that it reads again
	f.bucket(0, numbered(40)...)
	f.start(nil)
	require.Less(t, f.written, 256<<10)
	again := 1 + slices.Index(f.asked[1:], "list")
	require.Equal(t, 1+8, again, "one listing, and eight items whose size was not known")
	require.True(t, strings.HasPrefix(f.asked[again+2], "deliver "), "one item was read alone: %q", f.asked)
}

// BenchmarkClaim claims and acknowledges an item of a long queue, beside 64 that others have.
func BenchmarkClaim(b *testing.B) {
	f := newFake(1)
	for n := range 40 {
		f.bucket(n)
	}
	items, claims := root.Items()+"/0-0000000000", root.Claims()+"/0-0000000000"
	for n := range 500 {
		f.names[items] = append(f.names[items], fmt.Sprintf("01234567-89ab-cdef-queue-%010d", (n*337)%500))
	}
	for n := range 64 {
		f.names[claims] = append(f.names[claims], fmt.Sprintf("%010d", n))
	}
	f.start(nil)
	b.ReportAllocs()
	for no := uint64(1); b.Loop(); no++ {
		f.asked = nil
		f.run(consume.Command{No: no, Kind: consume.Ack}, nil)
	}
}
