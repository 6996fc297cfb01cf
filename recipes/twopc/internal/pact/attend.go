package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// watched is a site whose presence matters, because transactions wait for its vote.
type watched struct {
	*follower
	seen    bool // it was alive while somebody waited for it
	present bool
	guid    string // whose presence was seen last; "" while somebody asks
	czxid   int64  // of the same
	refused int    // how many times in a row it could not be seen
	waiting map[uint64]*tx
}

// attend watches whether a site lives, for a transaction that waits for its vote. However many
// wait, there is one watch.
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

// onSite: a site that was alive and is not has died, also if the next of its name is there already.
// One that was not there from the start may yet come.
func (c *Coordinator) onSite(site string, w *watched, ev machine.Seen) {
	if ev.Code == machine.Refused { // it is as it was, as far as is known
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
	another := ev.Stat.Czxid != w.czxid && (guid == "" || guid != w.guid) // a site that outlives its session is the same
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

// expect watches for sites to come up.
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

// expectLater: the presences may not be listed now.
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
	slices.Sort(names)
	for _, name := range names {
		if w := c.sites[name]; w != nil && !w.present {
			w.look()
		}
	}
}
