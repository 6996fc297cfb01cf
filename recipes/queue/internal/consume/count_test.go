package consume_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// counted counts what a machine asks for, and the events of its watches.
type counted struct {
	machine.Machine
	requests, events int
	story            []string
}

func (c *counted) Step(ev machine.Event) []machine.Effect {
	if _, fired := ev.(machine.Fired); fired {
		c.events++
		c.story = append(c.story, fmt.Sprintf("%+v", ev))
	}
	effects := c.Machine.Step(ev)
	for _, e := range effects {
		if l, ok := e.(machine.List); ok && !l.Watch { // once a minute, which is short here
			continue
		}
		switch e.(type) {
		case machine.List, machine.Read, machine.Transact, machine.Ensure, machine.Remove:
			c.requests++
			c.story = append(c.story, fmt.Sprintf("%T%+v", e, e))
		}
	}
	return effects
}

// One item for 64 consumers that wait is one consumer's business, and it stays so: a listing, the
// claim, the item, the acknowledgement, and a listing that waits for what is put next.
func TestRequestsOfAnItem(t *testing.T) {
	t.Parallel()
	const waiting, items = 64, 5
	w := newStory(0)
	var all []*counted
	for n := range waiting {
		c := &counted{}
		all = append(all, c)
		w.addTaker(consume.Config{GUID: fmt.Sprint("c", n), Stream: true, Workers: 1}, func(m machine.Machine) machine.Machine {
			c.Machine = m
			return c
		}).acks = true
	}
	count := func() (requests, events int) {
		for _, c := range all {
			requests, events = requests+c.requests, events+c.events
			for _, line := range c.story {
				t.Log(line)
			}
			c.story = nil
		}
		return requests, events
	}
	put := func() {
		w.producers[0].Tell(produce{1, 0})
		for from := w.Now(); w.Now() < from+slow; {
			require.False(t, w.Settle(1))
		}
	}
	for range 3 { // what is made once
		put()
	}
	requests, events := count()
	for range items {
		put()
	}
	more, fired := count()
	require.Len(t, w.items, 3+items)
	require.Empty(t, w.Children(root+"/work/ready-0-0000000000"))
	require.LessOrEqual(t, float64(more-requests)/items, 5.0, "requests")
	require.LessOrEqual(t, float64(fired-events)/items, 2.0, "events")
}

const slow = 20
