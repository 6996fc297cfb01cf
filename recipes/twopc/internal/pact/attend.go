package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// watched is a site whose presence matters because transactions wait for its vote.
type watched struct {
	*follower
	seen    bool // it was alive while a transaction waited for it
	present bool
	guid    string // of the presence that was read last; "" while it is a question
	czxid   int64  // of the same presence
	refused int    // number of refused reads in a row
	waiting map[uint64]*tx
}

// attend watches a site's presence for a transaction that waits for its vote. All transactions
// share one watch.
func (c *Coordinator) attend(site string, t *tx) {
	w := c.sites[site]
	if w == nil {
		w = &watched{waiting: map[uint64]*tx{}}
		c.sites[site] = w
	}
	w.waiting[t.n] = t
	if w.follower == nil {
		w.follower = c.desk.follow(c.root.Alive(site), func(ev machine.Seen) { c.onSite(site, w, ev) })
	}
}

func (c *Coordinator) release(site string, t *tx) {
	w := c.sites[site]
	if w == nil || w.waiting[t.n] != t {
		return
	}
	delete(w.waiting, t.n)
	if len(w.waiting) == 0 {
		w.stop()
		delete(c.sites, site)
	}
}

// onSite handles a read of a site's presence. A site that was alive and no longer is has died, even
// if another one with its name has started. A site that was not there from the start may still
// come.
func (c *Coordinator) onSite(site string, w *watched, ev machine.Seen) {
	if ev.Code == machine.Refused { // nothing is known to have changed
		w.refused++
		c.desk.retry(w.refused, func() {
			if c.sites[site] == w {
				w.look()
			}
		})
		return
	}
	w.refused = 0
	guid, _ := parsePresence(ev.Data)
	another := ev.Stat.Czxid != w.czxid && (guid == "" || guid != w.guid) // the same site in its next session
	died := w.seen && (!ev.Exists || another)
	w.present, w.seen, w.guid, w.czxid = ev.Exists, ev.Exists, guid, ev.Stat.Czxid
	if died {
		for _, n := range c.numbers() {
			t := w.waiting[n]
			if t == nil {
				continue
			}
			for _, b := range t.ballots {
				if b.site == site {
					t.died(b)
				}
			}
		}
	}
	if !ev.Exists {
		c.expect()
	}
}

// expect watches for sites to start.
func (c *Coordinator) expect() {
	if c.arrivals || !c.missing() {
		return
	}
	c.arrivals = true
	c.desk.list(c.root.Presences(), func() {
		c.arrivals = false
		c.expect()
	}, func(ev machine.Listed) {
		switch ev.Code {
		case machine.Done:
			c.refusals = 0
			c.arrived(ev.Names)
		case machine.NoNode:
			c.desk.ensure(func(err error) {
				if err != nil {
					c.expectLater()
					return
				}
				c.arrivals = false
				c.expect()
			}, c.root.Presences())
		default:
			c.expectLater()
		}
	})
}

// expectLater retries after a pause: the presences may not be listed now.
func (c *Coordinator) expectLater() {
	c.refusals++
	epoch := c.desk.epoch
	c.desk.retry(c.refusals, func() {
		if c.desk.epoch == epoch {
			c.arrivals = false
			c.expect()
		}
	})
}

func (c *Coordinator) missing() bool {
	for _, w := range c.sites {
		if w.follower != nil && !w.present {
			return true
		}
	}
	return false
}

func (c *Coordinator) arrived(names []string) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		if w := c.sites[name]; w != nil && !w.present {
			w.look()
		}
	}
}
