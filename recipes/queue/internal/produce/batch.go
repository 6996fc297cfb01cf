package produce

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// batch is a transaction under way.
type batch struct {
	puts  []*put
	data  []byte // of the receipt
	ops   []machine.Op
	parts []part // what each operation is for
}

type part struct {
	put    *put               // whose own it is; nil: of several
	failed func(machine.Code) // it did, and nothing was done
}

func (b *batch) add(p *put, failed func(machine.Code), ops ...machine.Op) {
	for _, op := range ops {
		b.ops, b.parts = append(b.ops, op), append(b.parts, part{p, failed})
	}
}

// receipt is what is believed of the producer's receipt.
type receipt struct {
	path    string
	made    bool // it was there in this epoch
	alive   bool // its ephemeral child was created in this epoch
	known   bool // what follows; as long as nothing is known to the contrary
	version int32
	data    []byte
}

// readReceipt reads it. One that is gone, perhaps made anew, tells nothing.
func (m *Machine) readReceipt() {
	r := &m.receipt
	m.read([]machine.Query{{Path: r.path}}, func(a []machine.Event) {
		seen := a[0].(machine.Seen)
		for _, p := range slices.Clone(m.puts) {
			if p.doubt && (!seen.Exists || seen.Stat.Version < r.version) {
				m.settle(p, ErrUnknown)
			}
		}
		r.known, r.made, r.version, r.data = true, seen.Exists, seen.Stat.Version, seen.Data
	})
}

// sign begins a transaction.
func (m *Machine) sign(data []byte, puts ...*put) *batch {
	r, b := &m.receipt, &batch{puts: puts, data: data}
	b.add(nil, func(machine.Code) { r.known = false }, machine.Op{Do: machine.Set, Path: r.path, Data: data, Version: r.version})
	if !r.alive {
		alive := machine.Op{Do: machine.Create, Path: fmt.Sprintf("%s/alive-%x", r.path, uint64(m.session)), Ephemeral: true}
		b.add(nil, func(c machine.Code) { r.alive = c == machine.NodeExists }, alive)
	}
	return b
}

// send makes one transaction of what waits.
func (m *Machine) send() {
	puts, items := m.choose()
	var nos []uint64
	var data []byte
	for _, p := range puts {
		nos, data = append(nos, p.No), fmt.Appendf(data, "%d ", p.No)
	}
	if puts[0].size > most { // and is alone
		data = append(data, bytes.Repeat([]byte(" "), ballast)...) // whoever reads it takes no notice
	}
	b := m.sign(data, puts...)
	b.add(nil, func(machine.Code) { m.tail.Forget() }, m.size.put(m.cfg.Root, items)...)
	done := m.fill(b)
	b.add(nil, func(machine.Code) { m.makeBase() }, machine.Op{Do: machine.Set, Path: m.cfg.Root.Bell(), Version: machine.Any})
	m.alone = max(m.alone-1, 0)
	m.requests.Emit(Sending{Nos: nos})
	m.write(b, done)
}

// choose takes what fits together, in order. Two of one id do not: whether the second is a
// duplicate is known when the first is put.
func (m *Machine) choose() (puts []*put, items int) {
	size, ids := 0, make(map[string]bool)
	for _, p := range m.puts {
		shares := slices.ContainsFunc(p.Items, func(i Item) bool { return ids[i.ID] })
		apart := m.alone > 0 || len(puts) == mostPuts || size+p.size > most || shares
		if len(puts) > 0 && (apart || !m.size.fits(p, items)) {
			break
		}
		for _, i := range p.Items {
			ids[i.ID] = i.ID != ""
		}
		puts, items, size = append(puts, p), items+len(p.Items), size+p.size
	}
	return puts, items
}

// fill adds the operations of the puts themselves. It returns what follows from their results.
func (m *Machine) fill(b *batch) (done func([]machine.Result)) {
	var all []tail.Addition
	var owners []*put
	parents := make(map[string]bool) // of the ids
	for _, p := range b.puts {
		b.add(p, func(machine.Code) { m.settle(p, ErrUnder) }, p.Under...)
		for n, i := range p.Items {
			if path, parent := m.cfg.Root.ID(i.ID); i.ID != "" {
				parents[parent] = true
				b.add(p, func(c machine.Code) {
					if c == machine.NodeExists {
						m.settle(p, ErrDuplicate)
					} else { // where one parent is missing, others may be
						m.missing = slices.Sorted(maps.Keys(parents))
					}
				}, machine.Op{Do: machine.Create, Path: path, Data: []byte(p.guids[n]), Ephemeral: i.Ephemeral})
			}
			all, owners = append(all, p.addition(n)), append(owners, p)
		}
	}
	first := len(b.ops)
	ops, parts := m.tail.Append(all)
	for n, op := range ops {
		var owner *put
		if parts[n].IsAddition() { // they come in their order
			owner, owners = owners[0], owners[1:]
		}
		b.add(owner, func(c machine.Code) {
			if m.tail.Failed(parts[n], c) {
				m.makeBase()
			}
		}, op)
	}
	return func(results []machine.Result) {
		m.size.version++
		m.size.Items += len(all)
		m.size.buckets, m.size.counted = nil, false // there may be others
		for n, p := range parts {
			m.tail.Done(p, results[first+n])
		}
		for _, p := range b.puts {
			m.settle(p, nil)
		}
	}
}

// transact carries something else out, before the next put. If that fails, somebody was faster.
func (m *Machine) transact(done func([]machine.Result), ops ...machine.Op) {
	b := m.sign(m.receipt.data)
	b.add(nil, func(machine.Code) { m.tail.Forget() }, ops...)
	m.write(b, done)
}

// sync writes the receipt again as it is. That tells which puts were carried out, of those that
// wait by now, and the servers' time, which is the beginning of their delays: whoever comes later
// would be early by it. What is read behind it is not older.
func (m *Machine) sync() {
	last := m.seen
	m.transact(func(results []machine.Result) {
		m.size.counted = false
		carried := strings.Fields(string(m.receipt.data))
		for _, p := range slices.Clone(m.puts) {
			switch {
			case p.No > last:
			case slices.Contains(carried, strconv.FormatUint(p.No, 10)):
				m.settle(p, nil)
			default:
				p.doubt, p.clock = false, cmp.Or(p.clock, results[0].Stat.Mtime)
			}
		}
	})
}

// write has a transaction carried out.
func (m *Machine) write(b *batch, done func([]machine.Result)) {
	m.batch = b
	m.ask(machine.Transact{Ops: b.ops}, func(ev machine.Event) {
		switch t := ev.(machine.Transacted); t.Code {
		case machine.Unknown:
			m.doubt()
		case machine.Done:
			m.batch, m.tries = nil, 0
			m.receipt.alive, m.receipt.data = true, b.data
			m.receipt.version++
			done(t.Results)
		default:
			m.batch = nil
			m.failed(b, t)
		}
	})
}

// failed takes in that nothing was done.
func (m *Machine) failed(b *batch, t machine.Transacted) {
	var p part
	if t.Failed >= 0 && t.Failed < len(b.parts) {
		p = b.parts[t.Failed]
	}
	switch {
	case p.failed != nil && t.Code != machine.Refused:
		p.failed(t.Code)
	case p.put != nil:
		m.settle(p.put, t.Err)
	case len(b.puts) == 1:
		m.settle(b.puts[0], t.Err)
	case len(b.puts) > 1: // nobody says for which of them it was
		m.alone = len(b.puts)
	default:
		m.refused(t.Err)
	}
}
