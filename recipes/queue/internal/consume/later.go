package consume

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// later is what a dispatcher knows of the items that wait for their delay, and how it moves those
// that are due to the end of their lanes.
type later struct {
	*wire
	tail     *tail.Tail
	listings map[place.Bucket][]*delayed
	foreign  map[place.Bucket]bool // what has something that nobody moves is not deleted
	moving   []*delayed            // read, or being read, or moved
	parts    []movePart            // of the transaction that moves them; nil: it is not sent
}

// delayed is a znode in a later bucket.
type delayed struct {
	layout.Delayed
	path    string
	data    []byte
	version int32 // as it was read
	read    bool
}

// movePart says what an operation is for: it deletes a znode, or appends it.
type movePart struct {
	moved *delayed
	tail  tail.Part
}

// Bounds of what is moved together.
const (
	mostMoved = 50
	lingers   = 60_000 // how long an empty bucket stays after its slot has begun, in milliseconds
)

func newLater(w *wire) later {
	return later{wire: w, tail: tail.New(w.root, tail.Usual)}
}

// forget begins anew: another one may have moved items meanwhile.
func (l *later) forget() {
	l.tail.Forget()
	l.listings, l.foreign = make(map[place.Bucket][]*delayed), make(map[place.Bucket]bool)
	l.moving, l.parts = nil, nil
}

// shows takes a bucket's listing in.
func (l *later) shows(b place.Bucket, names []string) {
	all := []*delayed{}
	for _, name := range names {
		if d, ok := layout.ParseDelayed(name); ok {
			all = append(all, &delayed{Delayed: d, path: znode.Join(l.root.Bucket(b), name)})
		}
	}
	l.listings[b] = all
	l.foreign[b] = len(names) > len(all)
}

// drop takes in that a znode is gone.
func (l *later) drop(gone *delayed) {
	for b, all := range l.listings {
		l.listings[b] = slices.DeleteFunc(all, func(d *delayed) bool { return d.path == gone.path })
	}
	l.moving, l.parts = slices.DeleteFunc(l.moving, func(d *delayed) bool { return d == gone }), nil
}

// tidings are what follows from what is known: buckets that have to be listed first, or what is due
// in order, or when the next is; and buckets that nobody needs any more.
type tidings struct {
	need  []place.Bucket
	due   []*delayed
	next  int64 // 0: nothing is delayed
	empty []place.Bucket
}

// at tells what is to be done at an instant.
func (l *later) at(now int64, buckets map[place.Lane][]int) tidings {
	t := tidings{}
	soonest := func(at int64) {
		if t.next == 0 || at < t.next {
			t.next = at
		}
	}
	for _, lane := range slices.SortedFunc(maps.Keys(buckets), place.Lane.Compare) {
		if !lane.Later {
			continue
		}
		if lane.Slot > now {
			soonest(lane.Slot)
			break
		}
		for _, n := range buckets[lane] {
			b := place.Bucket{Lane: lane, Number: n}
			all, known := l.listings[b]
			switch {
			case !known:
				t.need = append(t.need, b)
			case l.foreign[b], l.avoided[l.root.Bucket(b)]:
			case len(all) == 0 && lane.Slot+lingers <= now:
				t.empty = append(t.empty, b)
			case len(all) == 0:
				soonest(lane.Slot + lingers)
			}
			for _, d := range all {
				switch {
				case l.avoided[d.path]:
				case d.Due > now:
					soonest(d.Due)
				default:
					t.due = append(t.due, d)
				}
			}
		}
	}
	slices.SortFunc(t.due, func(a, b *delayed) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq)) })
	return t
}

// take begins to move items, if none is being moved.
func (l *later) take(due []*delayed) {
	if l.moving == nil && len(due) > 0 {
		l.moving = slices.Clone(due[:min(len(due), mostMoved)])
	}
}

// move is the transaction that moves what was read; nil: not everything is known yet.
func (l *later) move() []machine.Op {
	if len(l.moving) == 0 || l.parts != nil || !l.tail.Known() {
		return nil
	}
	var ops []machine.Op
	var additions []tail.Addition
	var parts []movePart
	size := 0
	for n, d := range l.moving {
		if !d.read {
			return nil
		}
		if size += len(d.data); size > mostBytes && n > 0 { // the rest is moved another time
			l.moving = l.moving[:n]
			break
		}
		parts = append(parts, movePart{moved: d})
		ops = append(ops, machine.Op{Do: machine.Delete, Path: d.path, Version: d.version})
		additions = append(additions, tail.Addition{
			Lane: d.Lane, Head: layout.Znode{GUID: d.GUID, Count: d.Count, Room: d.Room}.Head(), Data: d.data, Items: d.Count,
		})
	}
	more, ends := l.tail.Append(additions)
	for _, p := range ends {
		parts = append(parts, movePart{tail: p})
	}
	l.parts = parts
	return append(ops, more...)
}

// moved takes in what became of the transaction.
func (l *later) moved(ev machine.Transacted) {
	parts := l.parts
	l.parts = nil
	switch {
	case ev.Code == machine.Done && len(parts) == len(ev.Results):
		for n, p := range parts {
			if p.moved != nil {
				l.drop(p.moved)
			} else {
				l.tail.Done(p.tail, ev.Results[n])
			}
		}
		l.moving = nil
	case ev.Failed < 0 || ev.Failed >= len(parts): // of unknown outcome, or refused
		if ev.Code == machine.Refused {
			for _, d := range l.moving {
				l.avoided[d.path] = true
			}
		}
		l.forget()
	case parts[ev.Failed].moved != nil && ev.Code == machine.NoNode:
		l.drop(parts[ev.Failed].moved) // somebody else was faster
	case parts[ev.Failed].moved != nil && ev.Code == machine.BadVersion:
		parts[ev.Failed].moved.read = false // an item of it was removed
	case parts[ev.Failed].moved != nil:
		l.avoided[parts[ev.Failed].moved.path] = true
		l.moving = nil
	default:
		l.tail.Failed(parts[ev.Failed].tail, ev.Code)
		if ev.Code == machine.Refused {
			l.avoided[l.moving[0].path] = true // which of them it is, the repetition tells
		}
		l.moving = nil
	}
	if len(l.moving) == 0 {
		l.moving = nil
	}
}
