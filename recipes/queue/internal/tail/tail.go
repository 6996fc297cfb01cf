// Package tail appends znodes with items to the lanes of a queue: pure. It has what is believed of
// each lane's open bucket, the highest that there is. ZooKeeper checks that with each transaction;
// a belief that was wrong costs a trip.
package tail

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Usual is the limit of a bucket: its listing stays around 20 kB, and a hundred thousand znodes are
// 400 buckets.
const Usual = 256

// Tail is what is believed of a queue's open buckets. One transaction that appends is under way at
// a time.
type Tail struct {
	root  layout.Root
	limit int
	top   map[place.Lane]int // the highest number of each lane; nil: not known
	lanes map[place.Lane]*lane
}

// New knows nothing yet. A bucket is sealed when it has had limit znodes, or four times as many
// items.
func New(root layout.Root, limit int) *Tail {
	return &Tail{root: root, limit: limit, lanes: make(map[place.Lane]*lane)}
}

// Known tells whether something can be appended. Otherwise [layout.Root.Work] has to be listed.
func (t *Tail) Known() bool { return t.top != nil }

// Forget has it listed before anything else is appended.
func (t *Tail) Forget() { t.top = nil }

// Listed takes in the names below [layout.Root.Work].
func (t *Tail) Listed(names []string) {
	t.top = make(map[place.Lane]int)
	for _, name := range names {
		if b, ok := place.ParseBucket(name); ok {
			if n, some := t.top[b.Lane]; !some || b.Number > n {
				t.top[b.Lane] = b.Number
			}
		}
	}
	for lane, n := range t.lanes {
		if _, there := t.top[lane]; lane.Later && !there { // its time is over
			delete(t.lanes, lane)
			continue
		}
		n.look(t.top)
	}
}

// Addition is a znode to be appended.
type Addition struct {
	Lane      place.Lane
	Head      string // of its name
	Data      []byte
	Items     int
	Ephemeral bool
}

// Part says what an operation is for.
type Part struct {
	kind  kind
	lane  *lane
	at    int  // the number of the bucket
	items int  // of an addition
	seals bool // of theBucket
}

type kind int

const (
	theBucket kind = iota + 1 // checked or sealed
	newBucket
	nextBucket
	addition
)

// IsAddition tells whether it is the znode itself.
func (p Part) IsAddition() bool { return p.kind == addition }

// Append are the operations that append all of them, with what each is for. They check each lane's
// open bucket, make it if it is missing, and seal it if it is full then.
func (t *Tail) Append(all []Addition) (ops []machine.Op, parts []Part) {
	add := func(p Part, op machine.Op) {
		ops, parts = append(ops, op), append(parts, p)
	}
	znodes, items := make(map[*lane]int), make(map[*lane]int)
	var order []*lane
	for _, a := range all {
		n := t.of(a.Lane)
		if znodes[n] == 0 {
			order = append(order, n)
		}
		znodes[n]++
		items[n] += a.Items
	}
	for _, n := range order {
		path := t.root.Bucket(n.bucket)
		if n.missing {
			add(Part{kind: newBucket, lane: n, at: n.bucket.Number}, machine.Op{Do: machine.Create, Path: path})
		}
		seals := n.fill+znodes[n] >= t.limit || n.weight+items[n] >= 4*t.limit
		switch {
		case seals:
			add(Part{kind: theBucket, lane: n, at: n.bucket.Number, seals: true}, machine.Op{Do: machine.Set, Path: path, Version: 0})
			if !n.hasNext {
				add(Part{kind: nextBucket, lane: n, at: n.bucket.Number}, machine.Op{Do: machine.Create, Path: t.root.Bucket(n.bucket.Next())})
			}
		case !n.missing:
			add(Part{kind: theBucket, lane: n, at: n.bucket.Number}, machine.Op{Do: machine.Check, Path: path, Version: 0})
		}
	}
	for _, a := range all {
		n := t.of(a.Lane)
		add(Part{kind: addition, lane: n, at: n.bucket.Number, items: a.Items}, machine.Op{
			Do: machine.Create, Path: znode.Join(t.root.Bucket(n.bucket), a.Head), Data: a.Data, Sequential: true, Ephemeral: a.Ephemeral,
		})
	}
	return ops, parts
}

// Done takes in the result of one of the operations that Append has made, in their order.
func (t *Tail) Done(p Part, r machine.Result) {
	n := p.lane
	n.seen = max(n.seen, p.at)
	if p.seals {
		n.sealed, n.seen = max(n.sealed, p.at), max(n.seen, p.at+1)
	}
	if p.at != n.bucket.Number { // a listing has shown another one since
		return
	}
	switch p.kind {
	case addition:
		if _, seq, ok := znode.Sequence(r.Path); ok {
			n.fill = int(seq) + 1
			n.weight += p.items
		}
	case newBucket:
		n.missing, n.guessed = false, false
	case theBucket:
		n.guessed = false
		if p.seals {
			n.next()
			n.guessed = false
		}
	}
}

// Failed takes in for which operation a transaction failed. It tells whether the lane's parent is
// missing, and has to be made.
func (t *Tail) Failed(p Part, code machine.Code) (missing bool) {
	n, known := p.lane, true
	if p.at != n.bucket.Number { // a listing has shown another one since
		return p.kind == newBucket && code == machine.NoNode
	}
	switch p.kind {
	case theBucket:
		known = code == machine.BadVersion && n.turnedOut() || code == machine.NoNode && n.gone()
	case newBucket:
		known = code != machine.NodeExists
		missing = code == machine.NoNode
	case nextBucket:
		n.hasNext = code == machine.NodeExists
	case addition:
		known = false
	}
	if !known {
		t.Forget()
	}
	return missing
}

func (t *Tail) of(l place.Lane) *lane {
	if known := t.lanes[l]; known != nil {
		return known
	}
	n := &lane{bucket: place.Bucket{Lane: l}, sealed: -1, seen: -1}
	n.look(t.top)
	t.lanes[l] = n
	return n
}
