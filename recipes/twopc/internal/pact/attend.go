package pact

import (
	"slices"

	"github.com/troupe-go/troupe/recipe"
)

// watched is a site whose presence matters, because transactions wait for its vote.
type watched struct {
	*follower
	seen    bool // it was alive while somebody waited for it
	present bool
	waiting map[uint64]*tx
}

// attend watches whether a site lives, for a transaction that waits for its vote. However many wait, there is one watch.
func (c *Coordinator) attend(site string, t *tx) {
	w := c.sites[site]
	if w == nil {
		w = &watched{waiting: map[uint64]*tx{}}
		c.sites[site] = w
	}
	w.waiting[t.n] = t
	if w.follower == nil {
		w.follower = c.desk.follow(c.root.Alive(site), func(ev recipe.Seen) { c.onSite(site, w, ev) })
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

// onSite: a site that was alive and is not has died. One that was not there from the start may yet come.
func (c *Coordinator) onSite(site string, w *watched, ev recipe.Seen) {
	died := w.seen && !ev.Exists
	w.present, w.seen = ev.Exists, ev.Exists
	switch {
	case ev.Exists || ev.Code == recipe.Refused:
		return
	case died:
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
	c.expect()
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
	}, func(ev recipe.Listed) {
		switch ev.Code {
		case recipe.Done:
			c.arrived(ev.Names)
		case recipe.NoNode:
			c.desk.ensure(func(err error) {
				c.arrivals = false
				if err == nil {
					c.expect()
				}
			}, c.root.Presences())
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
