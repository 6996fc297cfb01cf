package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// possession is a party's possession of a thing: see the package's documentation.
type possession struct {
	work, thing, party, mode string
	token, weight            int64
	first, last              history.Event
	asked                    int64 // when its party asked for it, 0: not known
}

func (p *possession) String() string {
	return fmt.Sprintf("%s had token %d%s from %.6f to %.6f", p.party, p.token, mode(p.mode), seconds(p.first.At), seconds(p.last.From))
}

func mode(m string) string {
	if m == "" {
		return ""
	}
	return " (" + m + ")"
}

func seconds(at int64) float64 { return float64(at) / 1e9 }

// overlap reports whether both were held at one instant, for certain.
func overlap(a, b *possession) bool { return a.first.At <= b.last.From && b.first.At <= a.last.From }

// outsiders are the events that end a possession without its holder: another client deletes the
// possession's znode, or a rival that knows the session's password ends the session. Then ZooKeeper
// gives the thing to others. The holder is told at once or, if it is cut off or stopped, finds out
// by its own clock, at most a session timeout later.
type outsiders struct {
	struck  map[int64]history.Event    // by token
	expired map[string][]history.Event // by worker
	timeout int64
}

func outside(r Run) outsiders {
	o := outsiders{struck: make(map[int64]history.Event), expired: make(map[string][]history.Event), timeout: int64(r.Timeout)}
	for _, e := range r.Events {
		switch e.Kind {
		case history.Struck:
			o.struck[e.Token] = e
		case history.Expired:
			o.expired[e.Party] = append(o.expired[e.Party], e)
		}
	}
	return o
}

// decide reports whether an act counts, and how many outsiders' events its holder knew of by then.
// An act does not count while the holder may not know of an event yet:
//
//	the act        counts, known 0  |  does not count                   |  counts, known 1
//	the event                       [From      At]···· the timeout ····|
func (o outsiders) decide(e history.Event) (counts bool, known int) {
	worker, _, _ := strings.Cut(e.Party, ".")
	ends := o.expired[worker]
	if s, ok := o.struck[e.Token]; ok {
		ends = append(ends[:len(ends):len(ends)], s)
	}
	for _, end := range ends {
		if e.At > end.From && e.From < end.At+o.timeout {
			return false, 0
		}
		if e.At > end.From {
			known++
		}
	}
	return true, known
}

// possessions returns the possessions of a run by their things, each in the order of their first
// acts. Acts that do not count are left out (see decide). Acts after an outsider's event that the
// holder knows of are a possession of their own.
func possessions(r Run) map[string][]*possession {
	type key struct {
		thing, party string
		token        int64
		known        int // as decide returns it
	}
	others := outside(r)
	asks := make(map[string]int64) // by thing and party
	found := make(map[key]*possession)
	things := make(map[string][]*possession)
	for _, e := range r.Events {
		if e.Kind == history.Ask {
			asks[e.Thing+" "+e.Party] = e.At
		}
		if e.Kind != history.Act {
			continue
		}
		counts, known := others.decide(e)
		if !counts {
			continue
		}
		k := key{e.Thing, e.Party, e.Token, known}
		p := found[k]
		if p == nil {
			p = &possession{
				work: e.Work, thing: e.Thing, party: e.Party, mode: e.Mode, token: e.Token, weight: e.Weight,
				first: e, asked: asks[e.Thing+" "+e.Party],
			}
			found[k] = p
			things[e.Thing] = append(things[e.Thing], p)
		}
		p.last = e
	}
	for _, all := range things {
		slices.SortStableFunc(all, func(a, b *possession) int { return cmp.Compare(a.first.At, b.first.At) })
	}
	return things
}

// overlaps finds possessions that must not have been at the same time: two of which one is
// exclusive, or more of a semaphore than it has permits.
func overlaps(r Run) []Violation {
	var all []Violation
	for thing, held := range possessions(r) {
		if permits := r.Permits[thing]; permits > 0 {
			all = append(all, crowds(thing, held, permits)...)
			continue
		}
		var open []*possession
		for _, p := range held {
			open = slices.DeleteFunc(open, func(o *possession) bool { return o.last.From < p.first.At })
			for _, o := range open {
				if overlap(o, p) && (o.mode != history.Shared || p.mode != history.Shared) {
					together := min(o.last.From, p.last.From) - p.first.At
					all = append(all, Violation{
						Check: "overlap", Thing: thing, At: p.first.At,
						Text: fmt.Sprintf("%v, and %v: together for %.3f s", o, p, seconds(together)),
					})
				}
			}
			open = append(open, p)
		}
	}
	return all
}

// crowds finds the moments at which more permits of a semaphore were held than there are.
func crowds(thing string, held []*possession, permits int64) []Violation {
	var all []Violation
	var open []*possession
	for _, p := range held {
		open = slices.DeleteFunc(open, func(o *possession) bool { return o.last.From < p.first.At })
		if p.last.From >= p.first.At {
			open = append(open, p)
		}
		sum := int64(0)
		for _, o := range open {
			sum += max(o.weight, 1)
		}
		if sum > permits && open[len(open)-1] == p {
			all = append(all, Violation{Check: "overlap", Thing: thing, At: p.first.At, Text: fmt.Sprintf("%d held of %d: %v", sum, permits, open)})
		}
	}
	return all
}

// tokens finds exclusive possessions whose tokens do not grow: the first act comes after that of a
// possession with a larger token. Later acts of an earlier token are found by overlaps.
func tokens(r Run) []Violation {
	var all []Violation
	for thing, held := range possessions(r) {
		if r.Permits[thing] > 0 {
			continue
		}
		var newest *possession // the one with the largest token so far
		for _, p := range held {
			if p.mode == history.Shared || p.token == 0 {
				continue
			}
			switch {
			case newest == nil || p.token > newest.token:
				newest = p
			case p.token == newest.token && p.party == newest.party: // the same one, known to have ended: see possessions
			case newest.first.At < p.first.From: // p acts after newest, whose token is not smaller, has acted
				all = append(all, Violation{Check: "tokens", Thing: thing, At: p.first.At, Text: fmt.Sprintf("%v, and %v before", p, newest)})
			}
		}
	}
	return all
}
