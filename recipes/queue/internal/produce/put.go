package produce

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// put is a wish that stands.
type put struct {
	no    uint64
	guid  string
	items []Item
	under []machine.Op
	back  bool // it takes no room
	doubt bool // it may have been carried out
	again bool // it was in doubt: what was sent then may yet be carried out
	timed bool // it was there when the clock was asked for last, so its delay may begin with that
	bound bool // it was there when the queue was looked at
	full  bool // it was there when it was asked whether the queue is full
	size  int
}

const (
	most     = 256 << 10 // bytes of a transaction, far below the 1 MB that a server accepts; one put alone may be larger
	mostPuts = 500
	overhead = 256 // of a znode: its path, there and back, and its ACL

	packBytes = 16 << 10 // of the items of a znode

	// Puts of one item each that wait together share znodes, so many of them at the most: fewer
	// than those of a set, since nobody has said that they belong together. For fewer than the
	// least it is not asked how many consumers there are.
	mostNeighbours  = 16
	leastNeighbours = 4

	// ballast is left free beside a large item: whoever moves it, or has it become a dead letter,
	// writes its data again, beside other things. What nobody could write must not be put.
	ballast = 4 << 10
)

func newPut(ev Put) *put {
	p := &put{no: ev.No, guid: ev.GUID, items: ev.Items, under: ev.Under, back: ev.Back, doubt: ev.Again, again: ev.Again, size: overhead}
	for _, i := range p.items {
		p.size += i.record().Size()
		if i.ID != "" {
			p.size += overhead
		}
		if i.Ephemeral {
			p.size += overhead
		}
	}
	return p
}

func (i Item) record() layout.Record {
	return layout.Record{ID: i.ID, Headers: i.Headers, Body: i.Data}
}

// room is how much of a bounded queue's it takes.
func (p *put) room() int {
	if p.back {
		return 0
	}
	return len(p.items)
}

func (p *put) delayed() bool   { return p.items[0].Delay > 0 }
func (p *put) ephemeral() bool { return p.items[0].Ephemeral }

// divided tells whether its items are divided among the consumers that there are.
func (p *put) divided() bool { return len(p.items) > 1 && !p.ephemeral() }

// large tells whether an item is among its own that may be too large to be written again.
func (p *put) large() bool {
	return slices.ContainsFunc(p.items, func(i Item) bool { return len(i.Data) > most })
}

// item is the GUID of its nth item. It does not depend on how they are divided into znodes, so that
// a put that is sent again has the same.
func (p *put) item(n int) string {
	if len(p.items) == 1 {
		return p.guid
	}
	return place.Member(p.guid, n+1)
}

func (p *put) guids() []string {
	all := make([]string, len(p.items))
	for n := range all {
		all[n] = p.item(n)
	}
	return all
}

// alone tells whether it is one item that has nothing of its own beside its data.
func (p *put) alone() bool {
	i := &p.items[0]
	return len(p.items) == 1 && len(p.under) == 0 && i.ID == "" && i.Delay == 0 && !i.Ephemeral
}

// precedes tells whether the item of another put can lie behind its own in one znode: the GUIDs
// have to tell so, which stay what they are however often both are sent.
func (p *put) precedes(q *put) bool {
	return p.alone() && q.alone() && p.back == q.back && p.items[0].lane() == q.items[0].lane() &&
		layout.Znode{GUID: p.guid}.Item(1) == q.guid
}

func (i Item) lane() place.Lane { return place.Lane{Priority: i.Priority, Shard: i.Shard} }

// neighbours divides puts into those that can share znodes, in their order.
func neighbours(puts []*put) (all []neighbourhood) {
	for n, p := range puts {
		if n > 0 && puts[n-1].precedes(p) {
			all[len(all)-1] = append(all[len(all)-1], p)
		} else {
			all = append(all, neighbourhood{p})
		}
	}
	return all
}

// neighbourhood is a put, or several that can share znodes.
type neighbourhood []*put

func (h neighbourhood) items() (items []Item, guids []string) {
	if len(h) == 1 {
		return h[0].items, h[0].guids()
	}
	for _, p := range h {
		items, guids = append(items, p.items[0]), append(guids, p.guid)
	}
	return items, guids
}

// owner is the put that the znode with count items from the nth on belongs to; nil: to several.
func (h neighbourhood) owner(n, count int) *put {
	switch {
	case len(h) == 1:
		return h[0]
	case count == 1:
		return h[n]
	}
	return nil
}

// znodes divides it into znodes of share items at the most; now is the servers' clock. Each has its
// owner.
func (h neighbourhood) znodes(share int, room bool, now int64) (all []tail.Addition, owners []*put) {
	items, guids := h.items()
	for from := 0; from < len(items); {
		first := items[from]
		records := []layout.Record{first.record()}
		size := records[0].Size()
		for _, i := range items[from+1:] {
			if size += i.record().Size(); len(records) == share || size > packBytes {
				break
			}
			records = append(records, i.record())
		}
		z := layout.Znode{GUID: guids[from], Count: len(records), Room: room}
		a := tail.Addition{
			Lane: first.lane(), Head: z.Head(), Data: layout.Pack(records), Items: len(records), Ephemeral: first.Ephemeral,
		}
		if first.Delay > 0 {
			d := layout.Delayed{Znode: z, Due: place.Due(now, first.Delay), Lane: a.Lane}
			a.Lane, a.Head = place.SlotOf(now, first.Delay), d.Head()
		}
		all, owners = append(all, a), append(owners, h.owner(from, len(records)))
		from += len(records)
	}
	return all, owners
}
