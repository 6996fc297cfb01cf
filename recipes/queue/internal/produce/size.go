package produce

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/browse"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// size is the size of the queue as far as the producer knows.
type size struct {
	layout.Size        // with a capacity of 0 the queue has none
	known        bool  // the size was read, and no answer has contradicted it
	version      int32 // of the znode
	itemsVersion int32 // of items/, which was read before
}

func (s *size) fits(c *Call, beside int) bool {
	return s.Capacity == 0 || c.Back || s.Items+beside+c.adds() <= s.Capacity
}

// reserve adds the operation that counts the items in, or checks that there is no capacity.
func (p *Producer) reserve(b *batch, items int) {
	r, s := p.root, &p.size
	op := session.CheckOp(r.Items(), s.itemsVersion)
	if s.Capacity > 0 {
		now := layout.Size{Capacity: s.Capacity, Items: s.Items + items}
		op = session.SetOp(r.Size(), now.Encode(), s.version)
	}
	b.add(func(machine.Transacted) {
		s.known = false
		if s.Capacity == 0 {
			p.tail.Forget() // the next listing reads the version of items/ again
		}
	}, op)
}

// list reads the names of the buckets, and the version of items/: as long as that stays, no
// producer gives the queue a capacity.
func (p *Producer) list() error {
	var names [2][]string
	for n, path := range []string{p.root.Items(), p.root.Later()} {
		all, stat, err := p.session.Children(context.Background(), path)
		switch {
		case errors.Is(err, session.ErrNoNode):
			p.makeBase()
		case err != nil:
			return err
		}
		if names[n] = all; n == 0 {
			p.size = size{itemsVersion: stat.Version} // the rest is read behind that
		}
	}
	p.tail.Listed(names[0], names[1])
	return nil
}

func (p *Producer) readSize() error {
	data, stat, err := p.session.Get(context.Background(), p.root.Size())
	none := errors.Is(err, session.ErrNoNode)
	if err != nil && !none {
		return err
	}
	written, ok := layout.ParseSize(data)
	if !ok && !none {
		return layout.ErrCapacity
	}
	p.size = size{Size: written, known: true, version: stat.Version, itemsVersion: p.size.itemsVersion}
	return nil
}

// count counts the items in the queue, for calls that do not fit by its size, or to give the queue
// a capacity. Calls that do not fit then are refused.
//
// The size is an upper bound: each put adds to it, and the end of an item does not change it. The
// count, of one bucket after another, is one if neither the size (puts) nor later/ (moves) was set.
//
// A queue gets its capacity while it is empty. The size begins as full on purpose: the first put
// does not fit, so count runs again, and finds the items that were put between the first count and
// the transaction that creates the size. That transaction also sets items/. A put of a producer
// that has seen no capacity checks the version of items/ and fails: the producer reads the size.
func (p *Producer) count(calls []*Call) error {
	r, s := p.root, &p.size
	if s.Capacity > 0 && p.capacity > 0 && p.capacity != s.Capacity {
		return layout.ErrCapacity
	}
	later, _, err := p.session.Exists(context.Background(), r.Later())
	if err != nil {
		return err
	}
	n, err := browse.Queue{Session: p.session, Root: r}.Size(context.Background())
	if err != nil {
		return err
	}
	if s.Capacity == 0 {
		if n > 0 {
			_, given, err := p.session.Exists(context.Background(), r.Size())
			s.known = !given
			if given || err != nil { // meanwhile by a rival, which has put the items that were counted
				return err
			}
			return layout.ErrCapacity
		}
		full := layout.Size{Capacity: p.capacity, Items: p.capacity}
		_, err = p.transact(session.SetOp(r.Items(), nil, s.itemsVersion), session.CreateOp(r.Size(), full.Encode()))
		p.tail.Forget()
		return err
	}
	op := session.CheckOp(r.Size(), s.version)
	if n != s.Items { // a right one stays as it is: others may be counting
		op = session.SetOp(r.Size(), layout.Size{Capacity: s.Capacity, Items: n}.Encode(), s.version)
	}
	if done, err := p.transact(op, session.CheckOp(r.Later(), later.Version)); !done {
		return err
	}
	if n != s.Items {
		s.Items, s.version = n, s.version+1
	}
	for _, c := range calls {
		if !s.fits(c, 0) {
			c.end(layout.ErrFull)
		}
	}
	return nil
}
