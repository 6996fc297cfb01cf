package produce

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// onWritten takes in what became of the transaction.
func (m *Machine) onWritten(ev machine.Transacted) {
	b := m.batch
	switch {
	case ev.Code == machine.Unknown:
		m.doubt()
		return
	case ev.Code == machine.Done:
		m.done(b, ev)
	case ev.Failed < 0 || ev.Failed >= len(b.parts):
		m.rejected(b, ev)
	default:
		m.failedFor(b, b.parts[ev.Failed], ev)
	}
	m.batch = nil
}

// done: the items are in the queue.
func (m *Machine) done(b *batch, ev machine.Transacted) {
	m.tries = 0
	m.suspects = max(m.suspects-len(b.puts), 0)
	m.receipt.signed()
	for n, p := range b.parts {
		switch p.kind {
		case theRoom:
			m.limit.room.Used(p.use)
		case theTail:
			m.tail.Done(p.tail, ev.Results[n])
		}
	}
	for _, p := range b.puts {
		m.settle(p, nil)
	}
}

// rejected: the transaction was, and nobody says which operation it was for. If it was of several
// puts, one of them is suspected, and the first half of them is tried.
func (m *Machine) rejected(b *batch, ev machine.Transacted) {
	if ev.Code != machine.Refused {
		m.forget()
	}
	switch n := len(b.puts); {
	case n > 1:
		m.suspects = n
	case m.suspects > 0:
		m.refuse(b.puts[0], ev.Err)
	default:
		m.settle(b.puts[0], ev.Err)
	}
}

// refuse answers one put of several. The next one is tried alone: if all have the reason in common,
// none costs more than a transaction of its own.
func (m *Machine) refuse(p *put, err error) {
	m.settle(p, err)
	m.suspects = 1
}

// failedFor: one operation did, and nothing was done.
func (m *Machine) failedFor(b *batch, p part, ev machine.Transacted) {
	switch {
	case p.kind == theGuard && ev.Code != machine.Refused:
		m.settle(p.put, ErrUnder)
	case p.put != nil && ev.Code == machine.Refused:
		m.refuse(p.put, ev.Err)
	case ev.Code == machine.Refused:
		m.rejected(b, ev)
	case p.kind == theID && ev.Code == machine.NodeExists:
		m.settle(p.put, ErrDuplicate)
	case p.kind == theID:
		m.makeParents(b)
	case p.kind == theAlive:
		m.receipt.alive = ev.Code == machine.NodeExists
	case p.kind == theReceipt:
		m.receipt.failed(ev.Code)
	case p.kind == theRoom && ev.Code == machine.BadVersion:
		m.limit.room.Forget(p.use.Part)
	case p.kind == theTail && !m.tail.Failed(p.tail, ev.Code):
	default:
		m.forget()
	}
}

// makeParents makes the parents of all ids of a transaction: where one is missing, others may be.
func (m *Machine) makeParents(b *batch) {
	asked := make(map[string]bool)
	for n, p := range b.parts {
		if parent, _ := znode.Split(b.ops[n].Path); p.kind == theID && !asked[parent] {
			asked[parent] = true
			m.ask(machine.Ensure{Path: parent, Container: true}, key{makingParents, parent})
		}
	}
}
