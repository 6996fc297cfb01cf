package consume

import (
	"slices"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// claim is an entry of the own journal.
type claim struct {
	layout.Claim              // as the journal has it
	name         string       // of the znode; "": not known
	znode        layout.Znode // that its name says
	items        []*item      // nil: not read
	version      int32        // of the znode, as it was read
	stale        bool         // it has another one by now: an item of it was removed
	removed      uint64       // items that were
	unmarked     uint64       // those of them that have no mark
	token        int64
	since        uint64 // the number of the last request when it was claimed
	gone         bool   // the znode does not exist: it was removed
	strange      bool   // its data make no sense
	foreign      bool   // it cannot be read, or makes no sense: it is passed over
}

// item is one of a claim that is not settled.
type item struct {
	claim  *claim
	index  int
	record layout.Record
	no     uint64 // 0: not handed out yet
	taken  bool   // it has found its receiver
	lay    bool   // for so long that its mark is taken back until it finds one
	how    How    // what is wished; 0: nothing
	after  int64  // of Nack: the pause
	due    int64  // when that is over, on the servers' clock; 0: not known
	rest   int64  // of the time to settle it in, when the timer that runs is over
	freed  bool   // its id is free
	gains  int    // when it was handed out
	told   bool   // the wish is answered with Settled
	auto   bool   // it is acknowledged in order to be handed out
}

// out are the items of a claim that were handed out.
func (c *claim) out() (items uint64) {
	for _, i := range c.items {
		if i.no != 0 {
			items |= i.bit()
		}
	}
	return items
}

func (i *item) bit() uint64 { return 1 << i.index }

// attempts is how often it was handed out before.
func (i *item) attempts() int { return i.claim.Attempts(i.index) }

// back is how an item goes back by itself: it was an attempt if somebody has received it.
func (i *item) back() How {
	if i.taken {
		return Nack
	}
	return Return
}

// newClaim is the claim of something that was picked.
func newClaim(f found) *claim {
	c := &claim{Claim: layout.Claim{Entry: f.entry}, name: f.name}
	if f.name != "" {
		c.znode, _ = layout.ParseZnode(f.name)
	}
	return c
}

// unread: nothing is known of its items yet.
func (c *claim) unread() bool { return c.items == nil && !c.gone && !c.foreign }

// wished are the items that are to be settled.
func (c *claim) wished() (items uint64) {
	for _, i := range c.items {
		if i.how != 0 {
			items |= i.bit()
		}
	}
	return items
}

// find takes in a listing of its bucket, by the number of its request. One that was asked for
// before the claim may be older than the znode.
func (c *claim) find(names []string, ask uint64) {
	if z, ok := c.Find(names); ok {
		c.name, c.znode = z.Name(), z
	} else {
		c.gone = ask > c.since
	}
}

// takeIn takes in what was read, perhaps again, and returns the items that were removed meanwhile.
func (c *claim) takeIn(records []layout.Record, version int32) (removed []*item) {
	first := c.items == nil
	c.stale, c.version = false, version
	if first {
		c.items = []*item{}
	}
	there := layout.Whole(c.Bucket, c.znode).Left()
	c.removed |= c.Left() &^ there // it never had these: the entry was made by hand
	c.unmarked |= c.Left() &^ there
	c.gone = c.gone || c.Left()&there == 0 // and has nothing to do with the znode
	for n, r := range records {
		if c.Left()&(1<<n) == 0 {
			continue
		}
		switch {
		case r.Removed:
			c.removed |= 1 << n
		case first:
			c.items = append(c.items, &item{claim: c, index: n, record: r})
		}
	}
	for _, i := range c.items {
		if c.removed&i.bit() != 0 {
			removed = append(removed, i)
		}
	}
	for _, i := range removed {
		c.forget(i)
	}
	return removed
}

// forget takes out an item. Whoever goes through the items goes through those that there were.
func (c *claim) forget(i *item) {
	c.items = slices.DeleteFunc(slices.Clone(c.items), func(j *item) bool { return j == i })
}
