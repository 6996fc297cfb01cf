// Package room keeps a queue bounded: how much room it has left, spread over some znodes, so that
// those who take room and those who give it back do not all write the same one. What is believed of
// a part is checked by ZooKeeper with each use; pure.
//
//	Σ of the parts + items in the queue = capacity
package room

import (
	"strconv"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Room is what is believed of the parts.
type Room struct {
	root  place.Root
	home  int
	parts [place.Stripes]part
}

type part struct {
	known   bool
	left    int
	version int32
}

// New knows nothing yet. home is the part that is used first.
func New(root place.Root, home int) *Room {
	return &Room{root: root, home: home % place.Stripes}
}

// Make are the operations that give a queue its room.
func Make(root place.Root, capacity int) []machine.Op {
	ops := []machine.Op{{Do: machine.Create, Path: root.Room(), Data: []byte(strconv.Itoa(capacity))}}
	for i := range place.Stripes {
		share := capacity / place.Stripes
		if i < capacity%place.Stripes {
			share++
		}
		ops = append(ops, machine.Op{Do: machine.Create, Path: root.Stripe(i), Data: []byte(strconv.Itoa(share))})
	}
	return ops
}

// Unknown are the parts that have to be read.
func (r *Room) Unknown() []int {
	var parts []int
	for i, p := range r.parts {
		if !p.known {
			parts = append(parts, i)
		}
	}
	return parts
}

// Home is the part that is used first, and whether it is known.
func (r *Room) Home() (part int, known bool) { return r.home, r.parts[r.home].known }

// Saw takes in what was read of a part; what can't be read holds nothing.
func (r *Room) Saw(i int, data []byte, version int32) {
	left, err := strconv.Atoi(string(data))
	if err != nil {
		left = 0
	}
	r.parts[i] = part{known: true, left: left, version: version}
}

// Forget takes in that a part is not as it was believed to be.
func (r *Room) Forget(i int) { r.parts[i].known = false }

// ForgetAll takes in that nothing is known any more.
func (r *Room) ForgetAll() { r.parts = [place.Stripes]part{} }

// Use is the use of a part: its operation, and what it will hold after it.
type Use struct {
	Part int
	Op   machine.Op
	left int
}

// Take are the operations that take room for n items; false if there is not so much, as far as is
// known.
func (r *Room) Take(n int) ([]Use, bool) {
	all := 0
	for _, p := range r.parts {
		if p.known {
			all += p.left
		}
	}
	if all < n {
		return nil, false
	}
	var uses []Use
	for k := 0; k < place.Stripes && n > 0; k++ {
		i := (r.home + k) % place.Stripes
		p := r.parts[i]
		if !p.known || p.left <= 0 {
			continue
		}
		m := min(n, p.left)
		n -= m
		uses = append(uses, r.use(i, p.left-m))
	}
	return uses, n == 0
}

// Give is the operation that gives back room for n items, or takes it unasked if n is negative: for
// items that were here before and come back. The home part must be known.
func (r *Room) Give(n int) Use { return r.use(r.home, r.parts[r.home].left+n) }

func (r *Room) use(i, left int) Use {
	return Use{Part: i, left: left, Op: machine.Op{
		Do: machine.Set, Path: r.root.Stripe(i), Data: []byte(strconv.Itoa(left)), Version: r.parts[i].version,
	}}
}

// Used takes in that a use was carried out.
func (r *Room) Used(u Use) {
	r.parts[u.Part].left = u.left
	r.parts[u.Part].version++
}

// Proof are the operations that succeed only if every part is as it is believed to be: so that
// "full" is a fact of one instant.
func (r *Room) Proof() []machine.Op {
	ops := make([]machine.Op, len(r.parts))
	for i, p := range r.parts {
		ops[i] = machine.Op{Do: machine.Check, Path: r.root.Stripe(i), Version: p.version}
	}
	return ops
}
