package pact

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// DefaultLimit is how many entries an inbox may have, if the application does not say. With the
// longest ids that is 9 MB to list.
const DefaultLimit = 8192

// grant is how many transactions a coordinator begins with a site at most before it looks at the
// inbox again.
const grant = 256

// mostRooms is of how many inboxes a coordinator knows something while it has no transactions
// there: one that is forgotten costs a look when it is needed again.
const mostRooms = 1024

// room is what is known of a site's inbox.
type room struct {
	credit  int               // how many more transactions may begin before it is looked at
	looking bool              // it is being looked at
	waiting []func(full bool) // those who want to know
}

// admit tells whether every site has room in its inbox. If that is not known, it looks first;
// without room it refuses.
//
// ZooKeeper has no transaction that fails by the number of a znode's children. So a coordinator
// looks, and may then begin as many as half of what is free, and 256 at most: in the steady state
// that costs next to nothing, one coordinator alone keeps the bound, and many go beyond it by no
// more than what each was granted.
func (t *tx) admit() bool {
	left, full := 0, ""
	for _, site := range t.sites {
		if t.c.room(site).credit > 0 {
			continue
		}
		left++
		t.c.measure(site, func(isFull bool) {
			if isFull && full == "" {
				full = site
			}
			if left--; left > 0 {
				return
			}
			t.busy = false
			if full != "" {
				t.refuse(fmt.Errorf("%w: %q", ErrBusy, full))
				return
			}
			t.advance() // others may have taken what there was: then it looks again
		})
	}
	if left > 0 {
		t.busy = true
		return false
	}
	for _, site := range t.sites {
		t.c.room(site).credit--
	}
	t.admitted = true
	return true
}

func (c *Coordinator) room(site string) *room {
	r := c.rooms[site]
	if r == nil {
		r = &room{}
		c.rooms[site] = r
	}
	return r
}

// vacate forgets what nobody is waiting for, if there is too much of it.
func (c *Coordinator) vacate() {
	if len(c.rooms) > mostRooms {
		maps.DeleteFunc(c.rooms, func(_ string, r *room) bool { return !r.looking })
	}
}

// measure looks at an inbox, and grants half of what is free, one at least. One that may not be
// read is no reason to refuse: whether it may be written to shows.
func (c *Coordinator) measure(site string, found func(full bool)) {
	r := c.room(site)
	r.waiting = append(r.waiting, found)
	if r.looking {
		return
	}
	r.looking = true
	c.desk.read(c.root.Inbox(site), watcher{}, func(ev machine.Seen) {
		free := c.limit - int(ev.Stat.Children) - c.beginning(site)
		r.credit, r.looking = max(0, min((free+1)/2, grant)), false
		waiting := r.waiting
		r.waiting = nil
		for _, f := range waiting {
			f(free <= 0)
		}
	})
}

// beginning counts those that were admitted to a site's inbox, and perhaps are not seen in it yet.
func (c *Coordinator) beginning(site string) int {
	n := 0
	for _, t := range c.txs {
		if t.phase == Beginning && t.admitted && slices.Contains(t.sites, site) {
			n++
		}
	}
	return n
}
