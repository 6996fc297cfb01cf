package contend_test

import (
	"slices"

	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// heal ends all faults.
func (w *world) heal() {
	w.Log("all faults end")
	w.calm = true
	for _, i := range w.all {
		if i.sess != nil && i.sess.dead {
			i.end()
		}
		if i.sess == nil {
			i.begin()
		}
		if i.sess.suspended {
			i.resume()
		}
		if !i.sess.trusted {
			i.trust()
		}
	}
	for _, s := range w.sessions {
		if s.over && !s.dead {
			w.expire(s)
		}
	}
	for _, n := range slices.Clone(w.nodes) {
		if n.owner == 0 {
			w.remove(n, false)
		}
	}
	w.quiet()
}

// quiet lets everything that is under way come to its end.
func (w *world) quiet() {
	for range 100_000 {
		if w.Pick(2) == 0 {
			if w.serve() {
				continue
			}
		}
		delivered := false
		for _, i := range w.all {
			delivered = i.deliver() || delivered
		}
		if !delivered && !w.serve() {
			w.checkHolders()
			if w.calm {
				w.checkSleepers()
			}
			return
		}
		w.checkPlaces()
	}
	w.Failf("it never comes to rest")
}

// progress: with each release somebody gets his turn, until everybody had one, and a release costs
// little.
func (w *world) progress() {
	due := map[*claim]bool{}
	total := 0
	for _, i := range w.all {
		for _, c := range i.claims {
			due[c] = true
			total++
		}
	}
	for range 3*total + 3 {
		for _, i := range w.all {
			if i.held != nil {
				delete(due, i.held.claim)
			}
			for _, c := range i.claims {
				if c.withdrawn {
					delete(due, c)
				}
			}
		}
		for c := range due {
			if !w.wanted(c) {
				delete(due, c)
			}
		}
		if len(due) == 0 {
			return
		}
		w.handOver()
	}
	w.Failf("progress: %d claims never had their turn", len(due))
}

func (w *world) wanted(c *claim) bool {
	return slices.ContainsFunc(w.all, func(i *instance) bool { return slices.Contains(i.claims, c) })
}

// handOver releases what is held and sees to it that somebody holds next.
func (w *world) handOver() {
	w.lists, w.joins, w.leaves = 0, 0, 0
	released, granted := 0, 0
	for _, i := range w.all {
		switch {
		case w.rule == single && i.held != nil: // or it may have it again: there is no line
			i.withdraw(i.held.claim)
			released++
		case i.release():
			released++
		}
	}
	if released > 1 && (w.rule == exclusively || w.rule >= delayed) {
		w.Failf("progress: %d hold", released)
	}
	if released == 0 {
		w.Failf("progress: nobody holds, though claims wait")
	}
	w.quiet()
	for _, i := range w.all {
		if i.held != nil {
			granted++
		}
	}
	if w.lists > w.affordable(released, granted) {
		w.Failf("I8: %d releases cost %d listings, with %d joins and %d grants", released, w.lists, w.joins, granted)
	}
}

// affordable is how many listings a release may cost: one of whoever joins, one of each who is
// granted, and one more; of shared holders each ends by itself.
func (w *world) affordable(released, granted int) int {
	switch w.rule {
	case shared:
		return w.joins + released + granted
	case permits: // the head lists whenever somebody comes or goes
		return 2 * (w.joins + w.leaves + granted)
	}
	return w.joins + 1
}

// finish withdraws everything, after which nothing may be left.
func (w *world) finish() {
	for _, i := range w.all {
		for _, c := range i.claims {
			i.withdraw(c)
		}
	}
	w.quiet()
	for _, i := range w.all {
		if len(i.claims) > 0 {
			w.Failf("#%d never settled %d", i.id, i.claims[0].id)
		}
		if i.freeing > 0 {
			w.Failf("#%d never freed a possession", i.id)
		}
		if i.held != nil {
			w.Failf("#%d holds without a claim", i.id)
		}
	}
	for _, i := range w.all {
		if at := i.m.State(); at != contend.Idle {
			w.Failf("#%d is %v", i.id, at)
		}
		if w.rule == delayed && i.m.Delay() != contend.Open {
			w.Failf("#%d is %v", i.id, i.m.Delay())
		}
	}
	for _, n := range w.nodes {
		if !n.foreign {
			w.Failf("I2: %s is left", n.path)
		}
	}
}
