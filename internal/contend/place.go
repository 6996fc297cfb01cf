package contend

import (
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// place is a znode of this machine's in the line.
type place struct {
	path string
	name string
	of   machine.Claim    // whose possession came of it; 0: nobody's
	old  bool             // a possession came of it before the crash, nobody knows whose
	owed []machine.Effect // what is to be said when it is gone

	czxid   int64 // 0: not known yet
	taken   bool  // it was put into the place of another, whose czxid this is
	fresh   bool  // the create told whose it is, and no read of it was answered yet
	known   bool  // what follows was read, or is as it was made
	version int32
	data    []byte // without notes
	marks   bool   // it was asked to be marked, perhaps by the incarnation before
	marking uint64 // number of the write under way, 0: none
	marked  int32  // the version that the write under way makes
	bare    bool   // as last read it has no mark
	held    bool   // it is marked: in the eyes of the line it holds
	head    bool   // it is the first of those who wait
	revoked bool   // the data asked its holder to give up
	told    bool   // and the holder was told

	retry uint64 // number of the pause after a failed read, 0: none
	tries int
}

// at fills in where a place is.
func (p *place) at(path string) {
	p.path = path
	_, p.name = znode.Split(path)
}

// born takes what the create's own answer told of the znode, if it told anything.
func (m *Machine) born(czxid, owner int64) {
	if czxid != 0 && owner == m.session {
		m.place.czxid, m.place.fresh = czxid, true
		m.place.known, m.place.data = true, m.cfg.Data
	}
}

// stands: the own znode is ours, and its end will be heard of: from its watch, or from the answer
// to the read that arms it, which is under way. So a place that the create told of may be granted
// beside its first read.
func (m *Machine) stands() bool { return m.place.fresh || m.armed(m.place.path) }

// leave deletes the own znode.
func (m *Machine) leave() {
	if m.state == Checking || m.state == Waiting {
		m.unwatch(m.look.pred)
	}
	m.state = Leaving
	m.look = look{}
	m.ahead = 0
	m.do(machine.Leave{Epoch: m.epoch, Path: m.place.path})
}

func (m *Machine) onLeft(e machine.Left) {
	if m.foreign(e.Epoch) || m.state != Leaving || e.Path != m.place.path {
		return
	}
	m.do(m.place.owed...)
	m.standAnew()
}

// standAnew goes on without a znode: the next claim, if there is one, stands in line.
func (m *Machine) standAnew() {
	m.place = place{}
	if len(m.claims) == 0 {
		m.state = Idle
		m.ahead = 0
		return
	}
	m.join()
}

// lost: the own znode is gone, or was never ours.
func (m *Machine) lost() {
	if m.possessed() {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Deleted})
		m.possessionOver()
	}
	m.standAnew()
}

// fail settles every claim with a definite error once the own znode is gone.
func (m *Machine) fail(err error) {
	m.place.owed = append(m.place.owed, m.failures(err)...)
	m.leave()
}

// doWhenGone says something about a claim as soon as nothing of the claim's last possession stands
// in ZooKeeper.
func (m *Machine) doWhenGone(c machine.Claim, effect machine.Effect) {
	switch {
	case m.state == Leaving && (m.place.of == c || m.place.old):
		m.place.owed = append(m.place.owed, effect)
	case m.old.path != "" && m.old.of == c:
		m.old.owed = append(m.old.owed, effect)
	default:
		m.do(effect)
	}
}
