package contend

import (
	"cmp"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

var errName = errors.New("the own znode's name is not a contender's")

// contender is one in the line whose Czxid is asked for.
type contender struct {
	znode.Contender
	ask   uint64 // 0: answered
	czxid int64
}

// arrange finds who stands before the own znode. Sequence numbers tell, but for a line in which
// they may have wrapped around, stuck or repeated: there the Czxids do.
func (m *Machine) arrange(names []string) {
	own, ok := znode.ParseContender(m.place.name)
	if !ok {
		m.fail(errName)
		return
	}
	line := make([]znode.Contender, 0, len(names))
	seqs := make([]int32, 0, len(names))
	seqs = append(seqs, own.Seq)
	for _, name := range names {
		c, ok := znode.ParseContender(name)
		if !ok || name == m.place.name || (m.cfg.Accept != nil && !m.cfg.Accept(c.Kind)) {
			continue
		}
		line = append(line, c)
		seqs = append(seqs, c.Seq)
	}
	if len(line) > 0 && ambiguous(seqs) {
		m.readOrder(line)
		return
	}
	ahead := slices.DeleteFunc(line, func(c znode.Contender) bool { return znode.CompareSeq(c.Seq, own.Seq) > 0 })
	slices.SortFunc(ahead, func(a, b znode.Contender) int { return znode.CompareSeq(a.Seq, b.Seq) })
	m.judge(own, ahead)
}

// ambiguous: the sequence numbers do not tell the order of creation.
func ambiguous(seqs []int32) bool {
	if znode.NeedsCzxid(seqs...) {
		return true
	}
	slices.Sort(seqs)
	return len(slices.Compact(seqs)) < len(seqs)
}

// readOrder asks for the Czxids of all in the line.
func (m *Machine) readOrder(line []znode.Contender) {
	m.state = Ordering
	m.look.line = make([]contender, len(line))
	for i, c := range line {
		ask := m.ask()
		m.look.line[i] = contender{Contender: c, ask: ask}
		m.do(machine.Read{Epoch: m.epoch, Path: znode.Join(m.cfg.Parent, c.Name), Ask: ask})
	}
	if m.place.czxid == 0 {
		m.watch(m.place.path)
	}
}

// onCzxid takes the answer about one of the line; false if it is no such answer.
func (m *Machine) onCzxid(e machine.Seen) bool {
	i := slices.IndexFunc(m.look.line, func(c contender) bool { return c.ask == e.Ask })
	if i < 0 {
		return false
	}
	c := &m.look.line[i]
	c.ask, c.czxid = 0, born(*c, e)
	switch {
	case e.Err != nil:
		m.fail(e.Err)
		return true
	case !e.Exists:
		m.look.line, m.look.gone = slices.Delete(m.look.line, i, i+1), true
	}
	m.order()
	return true
}

// born is the Czxid that a contender has its place by. One that took another's place says by which.
func born(c contender, e machine.Seen) int64 {
	if notes, _ := znode.ParseNotes(e.Data); notes.Placed > 0 && c.Kind == znode.Read {
		return notes.Placed
	}
	return e.Czxid
}

// order goes on once every Czxid is known.
func (m *Machine) order() {
	if m.place.czxid == 0 || slices.ContainsFunc(m.look.line, func(c contender) bool { return c.ask != 0 }) {
		return
	}
	line := m.look.line
	m.look.line = nil
	slices.SortFunc(line, func(a, b contender) int { return cmp.Compare(a.czxid, b.czxid) })
	var ahead []znode.Contender
	for _, c := range line {
		if c.czxid < m.place.czxid {
			ahead = append(ahead, c.Contender)
		}
	}
	own, _ := znode.ParseContender(m.place.name)
	if m.look.gone && m.permits == nil && len(m.cfg.Rule.Before(own, ahead)) == 0 {
		m.list() // it may have gone after the own znode did: only a listing shows the two together
		return
	}
	m.judge(own, ahead)
}
