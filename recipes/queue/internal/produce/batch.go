package produce

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
	"github.com/troupe-go/troupe/session"
)

// batch is a transaction: a put of several calls, or one without calls.
type batch struct {
	calls  []*Call
	data   []byte // of the receipt, if the transaction is carried out
	alive  int64  // the session that owns a child of the receipt, if the transaction is carried out
	ops    []session.Op
	failed []func(machine.Transacted) // for each of ops: called if ZooKeeper names that one as the reason why nothing was done
}

func (b *batch) add(failed func(machine.Transacted), ops ...session.Op) {
	for _, op := range ops {
		b.ops, b.failed = append(b.ops, op), append(b.failed, failed)
	}
}

// receipt is the producer's receipt as far as it is known.
type receipt struct {
	path    string
	alive   int64 // the session that owns a child of the receipt, or did until it expired; 0: none does
	known   bool  // version and data are right, as no answer has contradicted them
	version int32
	data    []byte
}

// readReceipt reads the receipt, and makes it if it is gone. If it is gone, or was made again by
// hand (its version is smaller), the outcome of calls that were sent is unknown, and no child left.
func (p *Producer) readReceipt(calls []*Call) error {
	ctx, r := znode.Making(context.Background(), p.ACL), &p.receipt
	data, stat, err := p.session.Get(ctx, r.path)
	gone := errors.Is(err, session.ErrNoNode)
	if err != nil && !gone {
		return err
	}
	if gone || stat.Version < r.version {
		end(slices.DeleteFunc(slices.Clone(calls), func(c *Call) bool { return c.state.Load() != sent }), session.ErrUnknownOutcome)
		p.forget()
		r.alive = 0
	}
	r.known, r.version, r.data = !gone, stat.Version, data
	if r.known {
		return nil
	}
	_, err = p.session.Create(ctx, r.path, nil, session.Container(), session.Parents())
	if errors.Is(err, session.ErrUnsupported) {
		_, err = p.session.Create(ctx, r.path, nil, session.Parents())
	}
	r.known = err == nil // its version is 0
	if errors.Is(err, session.ErrUnknownOutcome) || errors.Is(err, session.ErrNodeExists) {
		return nil // the next step reads it again
	}
	return err
}

// newBatch begins a transaction, which writes the receipt. A mover's sets later/ instead, whose
// version count checks: while items move, a client may see them in two places, or in none.
func (p *Producer) newBatch(data []byte, calls ...*Call) *batch {
	r, b := &p.receipt, &batch{calls: calls, data: data, alive: p.session.Status().SessionID}
	if p.moves {
		b.add(func(machine.Transacted) { p.makeBase() }, session.SetOp(p.root.Later(), nil, -1))
		return b
	}
	b.add(func(machine.Transacted) { r.known = false }, session.SetOp(r.path, data, r.version))
	if r.alive != b.alive {
		alive := fmt.Sprintf("%s/alive-%x", r.path, uint64(b.alive))
		b.add(func(machine.Transacted) { r.alive = b.alive }, session.CreateOp(alive, nil, session.Ephemeral()))
	}
	return b
}

// send puts the items of the first calls in one transaction.
func (p *Producer) send(calls []*Call) error {
	calls, items := p.choose(calls)
	if len(calls) == 0 {
		return nil
	}
	var data []byte
	for _, c := range calls {
		data = fmt.Appendf(data, "%d ", c.no)
	}
	if calls[0].size > mostBytes { // the call is alone: its put fails if a consumer could not write the item
		data = append(data, bytes.Repeat([]byte(" "), ballast)...) // spaces: a reader of the receipt ignores them
	}
	b := p.newBatch(data, calls...)
	if items > 0 {
		p.reserve(b, items)
	}
	first, parts := p.fill(b)
	b.add(func(machine.Transacted) { p.makeBase() }, session.SetOp(p.root.Bell(), nil, -1))
	p.singly = max(p.singly-1, 0)
	results, err := p.write(b)
	if results != nil {
		if items > 0 {
			p.size.version++
			p.size.Items += items
		}
		for n, part := range parts {
			p.tail.Done(part, results[first+n])
		}
		end(calls, nil)
	}
	return err
}

// choose takes the calls that fit together, in order. Two calls with one id do not fit: whether the
// second is a duplicate is known when the first is put.
func (p *Producer) choose(calls []*Call) (chosen []*Call, items int) {
	size, ids := 0, make(map[string]bool)
	for _, c := range calls {
		shares := slices.ContainsFunc(c.Items, func(i layout.Record) bool { return ids[i.ID] })
		apart := p.singly > 0 || size+c.size > mostBytes || shares
		if len(chosen) > 0 && apart || !p.size.fits(c, items) {
			break
		}
		if !c.state.CompareAndSwap(waits, sent) {
			continue
		}
		for _, i := range c.Items {
			ids[i.ID] = i.ID != ""
		}
		chosen, items, size = append(chosen, c), items+c.adds(), size+c.size
	}
	return chosen, items
}

// fill adds the operations of the calls. Those from b.ops[first] on append the items: parts[n] is
// for b.ops[first+n].
func (p *Producer) fill(b *batch) (first int, parts []tail.Part) {
	var all []tail.Addition
	parents := make(map[string]bool) // of the ids
	for _, c := range b.calls {
		b.add(func(t machine.Transacted) { c.end(t.Err) }, c.With...)
		for n, i := range c.Items {
			all = append(all, c.addition(n))
			if i.ID == "" || p.moves {
				continue
			}
			path, parent := p.root.ID(i.ID)
			var opts []session.CreateOption
			if c.Ephemeral {
				opts = append(opts, session.Ephemeral())
			}
			parents[parent] = true
			b.add(func(t machine.Transacted) {
				if t.Code == machine.NodeExists {
					c.end(layout.ErrDuplicate)
				} else { // where one parent is missing, others may be, too
					p.missing = slices.Sorted(maps.Keys(parents))
				}
			}, session.CreateOp(path, []byte(c.GUIDs[n]), opts...))
		}
	}
	first = len(b.ops)
	ops, parts := p.tail.Append(all)
	for n, op := range recipe.Operations(ops) {
		b.add(func(t machine.Transacted) {
			if p.tail.Failed(parts[n], t.Code) {
				p.makeBase()
			}
		}, op)
	}
	return first, parts
}

// transact writes the receipt as it is, together with ops. If ops fail, another producer was
// faster: the tail and the size are read again.
func (p *Producer) transact(ops ...session.Op) (done bool, err error) {
	b := p.newBatch(p.receipt.data)
	b.add(func(machine.Transacted) { p.tail.Forget() }, ops...)
	results, err := p.write(b)
	return results != nil, err
}

// sync writes the receipt again as it is. The answer tells which of the calls were carried out, and
// the servers' time, at which their delays begin. A mover's answer tells the time alone.
func (p *Producer) sync(calls []*Call) error {
	results, err := p.write(p.newBatch(p.receipt.data))
	if results == nil {
		return err
	}
	carried := strings.Fields(string(p.receipt.data))
	for _, c := range calls {
		if slices.Contains(carried, strconv.FormatUint(c.no, 10)) {
			c.end(nil)
		}
		c.state.CompareAndSwap(sent, waits)
		c.clock = cmp.Or(c.clock, results[0].Stat.Mtime)
	}
	return nil
}

// write sends a transaction. With results it was carried out. Without results or an error it was
// not, or its outcome is unknown: the next step goes on from what write has taken in.
func (p *Producer) write(b *batch) ([]machine.Result, error) {
	t := recipe.Transact(znode.Making(context.Background(), p.ACL), p.session, b.ops)
	switch t.Code {
	case machine.Done:
		p.receipt.alive, p.receipt.data = b.alive, b.data
		p.receipt.version++
		return t.Results, nil
	case machine.Unknown:
		p.receipt.known = false
		p.tail.Forget()
		if p.moves {
			end(b.calls, session.ErrUnknownOutcome)
		}
		return nil, nil
	}
	for _, c := range b.calls {
		c.state.CompareAndSwap(sent, waits)
	}
	switch {
	case t.Failed >= 0 && t.Code != machine.Refused:
		b.failed[t.Failed](t)
	case len(b.calls) == 0, errors.Is(t.Err, session.ErrThrottled):
		return nil, t.Err
	case len(b.calls) == 1:
		b.calls[0].end(t.Err)
	default: // the error does not say for which of them it was
		p.singly = len(b.calls)
	}
	return nil, nil
}
