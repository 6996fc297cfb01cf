package contend

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// Permits is the rule of semaphores: it is own's turn when it and all ahead of it fit under the
// limit, which lives in the data of the line's parent. Whoever does not fit holds up all behind it,
// however little they want.
//
// It remembers whether the limit was agreed to, and so outlives the machines of one instance, one
// after the other.
type Permits struct {
	first  int  // what the limit has to be when it is first read
	agreed bool // it was
	limit  int  // as last read
}

// AtMost is the rule of a semaphore with n permits.
func AtMost(n int) *Permits { return &Permits{first: n, limit: n} }

// Before picks all ahead, or nobody. One that is no semaphore's contender takes everything.
func (p *Permits) Before(own znode.Contender, ahead []znode.Contender) []znode.Contender {
	sum := int64(own.Weight)
	for _, c := range ahead {
		if c.Kind != znode.Lease {
			return ahead
		}
		sum += int64(c.Weight)
	}
	if sum > int64(p.limit) {
		return ahead
	}
	return nil
}

// Remains: it always has to be counted again.
func (*Permits) Remains(_, _ znode.Contender) bool { return true }

// IsLimit tells whether the data of a semaphore's parent are a limit, or no limit yet.
func IsLimit(data []byte) bool {
	data = bytes.TrimSpace(data)
	n, err := strconv.Atoi(string(data))
	return len(data) == 0 || err == nil && n > 0
}

// agree takes in what the parent's data say. unset: nobody has set the limit.
func (p *Permits) agree(data []byte) (unset bool, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true, nil
	}
	n, err := strconv.Atoi(string(data))
	switch {
	case err != nil || n < 1:
		return false, fmt.Errorf("%w: the parent's data are no number of permits", machine.ErrLimit)
	case !p.agreed && n != p.first:
		return false, fmt.Errorf("%w: it is %d, not %d", machine.ErrLimit, n, p.first)
	}
	p.agreed, p.limit = true, n
	return false, nil
}

// limit is what a machine knows of the limit in this epoch.
type limit struct {
	known   bool
	version int32  // of the parent
	at      uint64 // number of the read that told it
	reading uint64 // number of the read under way without a watch, 0: none
	writing uint64 // number of the write under way, because nobody had set it
}

// readLimit reads the limit: once for whoever wants to be granted, with a watch for the head of the
// waiters.
func (m *Machine) readLimit(watch bool) {
	switch {
	case m.limit.writing != 0:
	case watch:
		m.watch(m.cfg.Parent)
	case m.limit.reading == 0:
		m.limit.reading = m.ask()
		m.do(machine.Read{Epoch: m.epoch, Path: m.cfg.Parent, Ask: m.limit.reading})
	}
}

// onLimitRead takes the answer to a read without a watch; false if it is no such answer.
func (m *Machine) onLimitRead(e machine.Seen) bool {
	if m.limit.reading == 0 || e.Ask != m.limit.reading {
		return false
	}
	m.limit.reading = 0
	m.onLimitSeen(e)
	return true
}

// ofLimit: what was read, or has changed, is where the limit lives.
func (m *Machine) ofLimit(path string) bool { return m.permits != nil && path == m.cfg.Parent }

// onLimitSeen: the parent was read.
func (m *Machine) onLimitSeen(e machine.Seen) {
	m.limit.known = false
	if m.state == Waiting {
		m.state = Checking
	}
	if m.state != Checking && m.state != Listing && m.state != Ordering {
		return // whoever needs it reads it then
	}
	unset, err := false, e.Err
	if err == nil && e.Exists {
		unset, err = m.permits.agree(e.Data)
	}
	switch {
	case err != nil && m.state == Checking:
		m.fail(err)
	case err != nil:
	case !e.Exists:
		m.rewatch(m.place.path) // it cannot stand either
	case unset:
		m.setLimit(e.Version)
	default:
		m.limit.known, m.limit.version, m.limit.at = true, e.Version, e.Ask
		m.weigh()
	}
}

// setLimit writes the limit where nobody has.
func (m *Machine) setLimit(version int32) {
	if m.limit.writing != 0 {
		return
	}
	m.limit.writing = m.ask()
	m.do(machine.Write{
		Epoch: m.epoch, Ask: m.limit.writing, Path: m.cfg.Parent, Version: version, Data: strconv.AppendInt(nil, int64(m.permits.limit), 10),
	})
}

// onLimitWritten reads what was written, or what somebody else was quicker to write.
func (m *Machine) onLimitWritten(e machine.Written) {
	m.limit.writing = 0
	switch {
	case m.state != Checking:
	case e.Err != nil:
		m.fail(e.Err)
	default:
		m.weigh()
	}
}

// onLimitChanged: the watch on the parent's data fired.
func (m *Machine) onLimitChanged() {
	m.limit.known = false
	if m.state == Waiting {
		m.state = Checking
	}
	m.weigh()
}
