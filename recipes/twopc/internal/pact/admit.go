package pact

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// DefaultLimit is the default limit of entries in an inbox. With the longest ids, its listing has 9
// MB.
const DefaultLimit = 8192

// grant is the maximum number of transactions that a coordinator begins with a site before it lists
// the inbox again.
const grant = 256

// mostRooms limits the number of inboxes that a coordinator remembers while it has no transactions
// there. A forgotten one costs a listing when it is needed again.
const mostRooms = 1024

// room is what is known about a site's inbox.
type room struct {
	credit  int               // how many more transactions may begin before the next listing
	looking bool              // it is being listed
	waiting []func(full bool) // callbacks that wait for the listing
}

// admit reports whether every site has room in its inbox. If that is not known, it lists the inbox
// first. If there is no room, it refuses the transaction.
//
// ZooKeeper has no transaction that fails by the number of a znode's children. So a coordinator
// lists an inbox, and may then begin half as many transactions as are free, at most 256. In the
// steady state that costs almost nothing. A single coordinator keeps the limit; several exceed it
// by no more than what each was granted.
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
			t.advance() // other transactions may have used the credit: then it lists again
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

// vacate forgets inboxes that are not being listed, if there are too many.
func (c *Coordinator) vacate() {
	if len(c.rooms) > mostRooms {
		maps.DeleteFunc(c.rooms, func(_ string, r *room) bool { return !r.looking })
	}
}

// measure lists an inbox, and grants half of what is free, at least one. If the listing is refused,
// the transaction is not refused: the write tells whether it is permitted.
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

// beginning counts the transactions that were admitted to a site's inbox and may not be in it yet.
func (c *Coordinator) beginning(site string) int {
	n := 0
	for _, t := range c.txs {
		if t.phase == Beginning && t.admitted && slices.Contains(t.sites, site) {
			n++
		}
	}
	return n
}
