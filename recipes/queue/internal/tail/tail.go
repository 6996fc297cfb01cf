// Package tail appends items to the lanes of a queue: pure. A Tail has each lane's open bucket, the
// highest that there is, as far as that is known. ZooKeeper checks it with each transaction; if it
// was wrong, the buckets are listed again.
package tail

import (
	"maps"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Usual is the limit of a bucket: its listing stays around 30 kB, and a hundred thousand items are
// 200 buckets.
const Usual = 500

// Tail is what is known of a queue's open buckets. One transaction that appends is under way at a
// time.
type Tail struct {
	root  layout.Root
	limit int
	ends  map[layout.Lane]int // by the last listing: one more than each lane's highest number, 0 without buckets; nil: it is to be listed
	lanes map[layout.Lane]*lane
}

// lane is what is known of a lane's open bucket.
type lane struct {
	bucket    layout.Bucket
	missing   bool // the bucket is to be created
	hasClaims bool // the parent of its claims exists: the bucket alone was deleted by hand
	fill      int  // how many children the bucket has had, as far as is known
	sealed    int  // the highest number that is known to be sealed; -1: none is
}

// New makes a Tail that knows nothing yet. A bucket is sealed when it has had limit znodes.
func New(root layout.Root, limit int) *Tail {
	return &Tail{root: root, limit: limit, lanes: make(map[layout.Lane]*lane)}
}

// Known tells whether items can be appended. Otherwise [layout.Root.Items] and [layout.Root.Later]
// have to be listed.
func (t *Tail) Known() bool { return t.ends != nil }

// Forget has them listed before the next items are appended.
func (t *Tail) Forget() { t.ends = nil }

// Listed takes in the names below [layout.Root.Items] and [layout.Root.Later].
func (t *Tail) Listed(items, later []string) {
	t.ends = make(map[layout.Lane]int)
	for _, name := range items {
		t.saw(layout.ParseBucket(name))
	}
	for _, name := range later {
		t.saw(layout.ParseLater(name))
	}
	for _, n := range t.lanes {
		n.listed(t.ends)
	}
}

func (t *Tail) saw(b layout.Bucket, ok bool) {
	if ok {
		t.ends[b.Lane] = max(t.ends[b.Lane], b.Number+1)
	}
}

// listed takes in the numbers of a listing: Tail.ends. A bucket of items is deleted only if there
// is a higher one. So if the listing ends before a bucket that there was, the queue is another one,
// and its buckets begin again.
func (n *lane) listed(ends map[layout.Lane]int) {
	was, end := n.bucket.Number, ends[n.bucket.Lane]
	if end <= n.sealed || end <= was && !n.missing {
		n.sealed = -1
	}
	n.bucket.Number = max(end-1, n.sealed+1)
	n.missing, n.hasClaims = n.bucket.Number >= end, false
	if n.bucket.Number != was || n.missing {
		n.fill = 0
	}
}

func (t *Tail) of(l layout.Lane) *lane {
	if t.lanes[l] == nil {
		t.lanes[l] = &lane{bucket: layout.Bucket{Lane: l}, missing: true, sealed: -1}
		t.lanes[l].listed(t.ends)
	}
	return t.lanes[l]
}

// Addition is a znode to be appended.
type Addition struct {
	Lane      layout.Lane
	Prefix    string // of its name
	Data      []byte
	Ephemeral bool
}

// Part says for what an operation is.
type Part struct {
	kind  kind
	lane  *lane
	at    int  // the number of the bucket
	seals bool // of theBucket
}

type kind int

const (
	theBucket kind = iota // checked or sealed
	newBucket
	newClaims
	addition
)

// Append are the operations that append all of these znodes, and what each operation is for. Before
// the znodes, the open bucket of each lane is created if it is missing, and checked; or sealed, if
// the znodes fill it, and the next bucket is created.
func (t *Tail) Append(all []Addition) (ops []machine.Op, parts []Part) {
	add := func(n *lane, k kind, op machine.Op) {
		ops = append(ops, op)
		parts = append(parts, Part{kind: k, lane: n, at: n.bucket.Number, seals: op.Do == machine.Set})
	}
	create := func(n *lane, b layout.Bucket) {
		add(n, newBucket, machine.Op{Do: machine.Create, Path: t.root.Bucket(b)})
		if !b.Lane.Later && !n.hasClaims {
			add(n, newClaims, machine.Op{Do: machine.Create, Path: t.root.ClaimsOf(b)})
		}
	}
	if len(t.lanes) > 1000 { // each second has a slot: most of them are in the past
		maps.DeleteFunc(t.lanes, func(l layout.Lane, _ *lane) bool { return l.Later })
	}
	znodes := make(map[*lane]int)
	var order []*lane
	for _, a := range all {
		n := t.of(a.Lane)
		if znodes[n]++; znodes[n] == 1 {
			order = append(order, n)
		}
	}
	for _, n := range order {
		path := t.root.Bucket(n.bucket)
		if n.missing {
			create(n, n.bucket)
		}
		switch {
		case n.fill+znodes[n] >= t.limit:
			add(n, theBucket, machine.Op{Do: machine.Set, Path: path, Version: 0})
			create(n, n.bucket.Next())
		case !n.missing:
			add(n, theBucket, machine.Op{Do: machine.Check, Path: path, Version: 0})
		}
	}
	for _, a := range all {
		n := t.of(a.Lane)
		op := machine.Op{Do: machine.Create, Data: a.Data, Sequential: true, Ephemeral: a.Ephemeral}
		op.Path = znode.Join(t.root.Bucket(n.bucket), a.Prefix)
		add(n, addition, op)
	}
	return ops, parts
}

// Done takes in the result of one of the operations that Append has made, in their order.
func (t *Tail) Done(p Part, r machine.Result) {
	n := p.lane
	switch {
	case p.at != n.bucket.Number: // the same transaction has sealed the bucket, or a listing has shown another one
	case p.seals:
		n.sealed, n.fill, n.bucket, n.missing, n.hasClaims = p.at, 0, n.bucket.Next(), false, false
	case p.kind == newBucket:
		n.missing = false
	case p.kind == addition:
		if _, seq, ok := znode.Sequence(r.Path); ok {
			n.fill = int(seq) + 1
		}
	}
}

// Failed takes in the operation for which a transaction failed. It tells whether a parent is
// missing: [layout.Root.Items], [layout.Root.Claims] or [layout.Root.Later], which have to be made.
func (t *Tail) Failed(p Part, code machine.Code) (missing bool) {
	switch {
	case p.kind == newClaims && code == machine.NodeExists:
		p.lane.hasClaims = true
		return false
	case p.kind == theBucket && code == machine.BadVersion:
		p.lane.sealed = max(p.lane.sealed, p.at)
	}
	t.Forget()
	return code == machine.NoNode && (p.kind == newBucket || p.kind == newClaims)
}
