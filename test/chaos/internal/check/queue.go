package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// item is the history of one item of a queue.
type item struct {
	put     *history.Event // its last event of a put
	got     []history.Event
	acked   []history.Event // confirmed
	tried   []int64         // when acknowledgements were asked for
	doubted map[string]bool // acknowledgements that are not known to have failed, by party and attempt
}

func (it *item) take(e *history.Event) {
	by := fmt.Sprint(e.Party, "#", e.Token)
	switch {
	case e.Kind == history.Put:
		it.put = e
	case e.Kind == history.Got:
		it.got = append(it.got, *e)
	case e.Mode == history.Refused:
		delete(it.doubted, by)
	default:
		it.doubted[by] = true
		it.tried = append(it.tried, e.From)
		if e.Done {
			it.acked = append(it.acked, *e)
		}
	}
}

// queues finds items that are lost, acknowledged twice, delivered after their acknowledgement was
// confirmed, or delivered twice at most once.
func queues(r Run) []Violation {
	things := make(map[string]map[string]*item) // by queue and item
	for i := range r.Events {
		e := &r.Events[i]
		switch e.Kind {
		case history.Put, history.Got, history.Acked:
		default:
			continue
		}
		if things[e.Thing] == nil {
			things[e.Thing] = make(map[string]*item)
		}
		it := things[e.Thing][e.Value]
		if it == nil {
			it = &item{doubted: make(map[string]bool)}
			things[e.Thing][e.Value] = it
		}
		it.take(e)
	}
	var all []Violation
	others := outside(r)
	for thing, items := range things {
		for id, it := range items {
			for _, text := range append(it.wrong(others), it.early()...) {
				all = append(all, Violation{Check: "queue", Thing: thing, At: it.at(), Text: "item " + id + " " + text})
			}
		}
	}
	for thing, most := range r.Capacity {
		all = append(all, full(thing, things[thing], most)...)
	}
	return all
}

// early finds deliveries of a delayed item before its time.
func (it *item) early() []string {
	if it.put == nil || it.put.Weight == 0 {
		return nil
	}
	var all []string
	for _, g := range it.got {
		if due := it.put.From + it.put.Weight*int64(time.Millisecond); g.From < due {
			all = append(all, fmt.Sprintf("was delivered %.3f s before its time", seconds(due-g.From)))
		}
	}
	return all
}

// full finds moments at which a bounded queue had more items than it may. An item is in it, for
// certain, from the confirmation of its put until its acknowledgement is asked for.
func full(thing string, items map[string]*item, most int) []Violation {
	type change struct {
		at int64
		by int
	}
	var changes []change
	for _, it := range items {
		if it.put == nil || !it.put.Done {
			continue
		}
		end := int64(math.MaxInt64)
		for _, at := range it.tried {
			end = min(end, at)
		}
		if end > it.put.At {
			changes = append(changes, change{it.put.At, 1}, change{end, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	n := 0
	for _, c := range changes {
		if n += c.by; n > most && c.by > 0 {
			return []Violation{{Check: "queue", Thing: thing, At: c.at, Text: fmt.Sprintf("has %d items, and may have %d", n, most)}}
		}
	}
	return nil
}

func (it *item) at() int64 {
	if it.put != nil {
		return it.put.At
	}
	return it.got[0].At
}

// wrong finds the violations of an item. A consumer that cannot know yet that a rival has ended its
// session may receive items that it had claimed, as if it held them: see outsiders.
func (it *item) wrong(others outsiders) []string {
	var all []string
	if it.put == nil {
		return []string{"was delivered and never put"}
	}
	if it.put.Mode == history.Refused && len(it.got) > 0 {
		all = append(all, "was delivered, and its producer had been told that it was not put")
	}
	if it.put.Old == history.AtMostOnce {
		if len(it.got) > 1 {
			all = append(all, fmt.Sprintf("was delivered %d times, at most once", len(it.got)))
		}
		return all
	}
	if it.put.Done && len(it.doubted) == 0 {
		all = append(all, fmt.Sprintf("was put and never acknowledged: lost (delivered %d times)", len(it.got)))
	}
	if len(it.acked) > 1 {
		all = append(all, fmt.Sprintf("was acknowledged %d times: %s at %.6f, %s at %.6f", len(it.acked),
			it.acked[0].Party, seconds(it.acked[0].At), it.acked[1].Party, seconds(it.acked[1].At)))
	}
	for _, a := range it.acked {
		for _, g := range it.got {
			if counts, _ := others.decide(g); counts && g.From > a.At {
				all = append(all, fmt.Sprintf("was delivered to %s at %.6f (attempt %d), and its acknowledgement by %s confirmed at %.6f",
					g.Party, seconds(g.From), g.Token, a.Party, seconds(a.At)))
			}
		}
	}
	return all
}
