package contend

import (
	"cmp"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

var errName = errors.New("the own znode's name is not a contender's")

// ordered is one whose Czxid is being read.
type ordered struct {
	znode.Contender
	czxid int64 // 0: not answered yet
}

// arrange finds the contenders ahead of the own znode, by their sequence numbers. If these leave
// the order open, it goes by the Czxids instead.
func (c *contenders) arrange(e machine.Listed) {
	l, made := e.Contenders.(*znode.Contenders)
	if !made {
		l = znode.NewContenders(e.Names)
	}
	i := slices.IndexFunc(l.Contenders, func(o znode.Contender) bool { return o.Name == c.m.entry.name })
	switch {
	case i < 0:
		c.m.fail(errName)
	case l.Ambiguous && len(l.Contenders) > 1:
		c.readOrder(slices.Delete(slices.Clone(l.Contenders), i, i+1))
	default:
		c.conclude(l.Contenders[i], l.Contenders[:i:i])
	}
}

// readOrder reads the Czxids of all others.
func (c *contenders) readOrder(others []znode.Contender) {
	c.m.state = Ordering
	c.listing.unordered = make([]ordered, len(others))
	for i, o := range others {
		c.listing.unordered[i] = ordered{Contender: o}
		c.m.requests.Ask(machine.Read{Path: znode.Join(c.cfg.Parent, o.Name)}, request{ordering, o.Name})
	}
	if c.m.entry.czxid == 0 {
		c.m.watch(c.m.entry.path)
	}
}

// onCzxid takes the answer about one of the others.
func (c *contenders) onCzxid(name string, e machine.Seen) {
	i := slices.IndexFunc(c.listing.unordered, func(o ordered) bool { return o.Name == name })
	switch {
	case i < 0: // of an earlier listing
		return
	case e.Err != nil:
		c.m.fail(e.Err)
		return
	case e.Exists:
		o := &c.listing.unordered[i]
		o.czxid = placed(*o, e)
	default:
		c.listing.unordered, c.listing.missed = slices.Delete(c.listing.unordered, i, i+1), true
	}
	c.order()
}

// placed is the Czxid that decides a contender's place. A reader that replaced a writer has noted
// the writer's.
func placed(o ordered, e machine.Seen) int64 {
	if notes, _ := znode.ParseNotes(e.Data); notes.Placed > 0 && o.Kind == znode.Read {
		return notes.Placed
	}
	return e.Stat.Czxid
}

// order goes on once every Czxid is known.
func (c *contenders) order() {
	if c.m.entry.czxid == 0 || slices.ContainsFunc(c.listing.unordered, func(o ordered) bool { return o.czxid == 0 }) {
		return
	}
	others := c.listing.unordered
	c.listing.unordered = nil
	slices.SortFunc(others, func(a, b ordered) int { return cmp.Compare(a.czxid, b.czxid) })
	var ahead []znode.Contender
	for _, o := range others {
		if o.czxid < c.m.entry.czxid {
			ahead = append(ahead, o.Contender)
		}
	}
	self, _ := znode.ParseContender(c.m.entry.name)
	if c.listing.missed && c.semaphore == nil && len(c.cfg.Rule.Before(self, ahead)) == 0 {
		c.list() // it may have been deleted after the own znode: only a listing shows both
		return
	}
	c.conclude(self, ahead)
}
