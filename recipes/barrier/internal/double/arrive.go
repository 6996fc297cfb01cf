package double

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// look finds the newest round. A party that has been in one knows the next.
func (m *Machine) look() {
	m.state, m.round, m.version = Looking, 0, 0
	m.main = m.list(m.cfg.Path, false)
}

func (m *Machine) onRounds(ev machine.Listed) {
	switch ev.Code {
	case machine.Done:
	case machine.NoNode:
		m.state = Founding
		m.main = m.next()
		m.emit(machine.Ensure{Epoch: m.epoch, Ask: m.main, Path: m.cfg.Path})
		return
	default:
		m.refused(ev.Err)
		return
	}
	m.guard = ev.Stat.Version
	numbers := Rounds(ev.Names)
	if len(numbers) == 0 {
		m.found(1)
		return
	}
	last := len(numbers) - 1
	m.round = numbers[last]
	m.sweep(numbers[:last])
}

func (m *Machine) onEnsured(ev machine.Ensured) {
	if ev.Code == machine.Refused {
		m.refused(ev.Err)
		return
	}
	m.guard = 0
	m.found(1)
}

// refused: ZooKeeper refuses something that the first claim needs.
func (m *Machine) refused(err error) {
	m.round = 0
	m.fail(err)
	m.proceed()
}

// found makes a round where there is none that is open, unless somebody has done so since the
// rounds were listed: that one may have come and gone by now, and who stood in another of the same
// number would stand there alone.
func (m *Machine) found(number int64) {
	m.state, m.round = Founding, number
	turn := machine.Op{Do: machine.Set, Path: m.cfg.Path, Version: m.guard}
	m.transact(append([]machine.Op{turn}, Opening(m.cfg.Path, number, m.cfg.Parties)...)...)
}

// Opening are the operations that make a round of the barrier at path.
func Opening(path string, number int64, parties int) []machine.Op {
	path = RoundPath(path, number)
	return []machine.Op{
		{Do: machine.Create, Path: path, Data: Verdict{Kind: Open, Parties: parties}.Bytes()},
		{Do: machine.Create, Path: znode.Join(path, arrivals)},
		{Do: machine.Create, Path: znode.Join(path, departures)},
	}
}

func (m *Machine) onFounded(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.version, m.unsure = 0, false
		m.proceed()
	case machine.Refused:
		m.refused(ev.Err)
	case machine.BadVersion:
		if m.round == 1 { // somebody was first: it is probably open still
			m.version = 0
			m.proceed()
			return
		}
		m.look()
	default: // it is not known; or the barrier's own znode was deleted
		m.look()
	}
}

// sweep looks at rounds before the newest: one that nobody is in is deleted. So whatever the dead
// have left goes with the next one that comes new.
func (m *Machine) sweep(old []int64) {
	m.old = old
	switch {
	case len(old) > 0:
		m.state = Sweeping
		m.main = m.read(RoundPath(m.cfg.Path, old[0]), false)
	case m.unsure:
		m.state = Looking
		m.main = m.read(m.roundPath(), false)
	default:
		m.proceed()
	}
}

func (m *Machine) onOld(ev machine.Seen) {
	v := ParseVerdict(ev.Data)
	switch {
	case ev.Exists && v.crowded(ev.Stat.Children) && !has(v.Names, m.cfg.ID):
		m.refused(ErrCrowd)
	case !ev.Exists || ev.Stat.Children > fixtures:
		m.sweep(m.old[1:])
	default:
		m.main = m.list(znode.Join(ev.Path, departures), false)
	}
}

// onDebris deletes a round with all that was said about it. If a party stands there after all, the
// transaction comes to nothing.
func (m *Machine) onDebris(ev machine.Listed) {
	if ev.Code != machine.Done {
		m.sweep(m.old[1:])
		return
	}
	m.transact(razing(RoundPath(m.cfg.Path, m.old[0]), ev.Names)...)
}

// razing are the operations that delete a round without parties.
func razing(round string, marks []string) []machine.Op {
	out := znode.Join(round, departures)
	var ops []machine.Op
	for _, name := range marks {
		ops = append(ops, deletion(znode.Join(out, name)))
	}
	return append(ops, deletion(out), deletion(znode.Join(round, arrivals)), deletion(round))
}

func deletion(path string) machine.Op {
	return machine.Op{Do: machine.Delete, Path: path, Version: machine.Any}
}

func (m *Machine) onNewest(ev machine.Seen) {
	if ev.Code != machine.Done {
		m.refused(ev.Err)
		return
	}
	m.unsure = false
	whole := ev.Stat.Children >= fixtures
	if v := ParseVerdict(ev.Data); ev.Exists && v.Kind == Open && whole {
		m.version = ev.Stat.Version
		m.proceed()
		return
	}
	m.found(m.round + 1) // whoever decided it has made the next one, so somebody deleted that
}

// stand arrives, if the round is still open.
func (m *Machine) stand() {
	m.state, m.place = Standing, place{name: PartyName(m.cfg.GUID(), m.cfg.ID, m.cfg.Parties)}
	round := m.roundPath()
	m.transact(
		machine.Op{Do: machine.Check, Path: round, Version: m.version},
		machine.Op{Do: machine.Create, Path: m.own(), Ephemeral: true},
		machine.Op{Do: machine.Set, Path: m.arrivals(), Version: machine.Any},
	)
}

func (m *Machine) onStood(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.check(int(ev.Results[2].Stat.Version))
		m.place.counted, m.place.arrived = true, ev.Results[2].Stat.Version
	case machine.Unknown:
		m.find()
	case machine.BadVersion:
		m.unsure = true
		m.look()
	case machine.NoNode:
		m.unsure = m.unsure || ev.Failed > 0 // somebody deleted parts of it
		m.look()
	default:
		m.refused(ev.Err)
	}
}

// find looks whether the arrival has come through.
func (m *Machine) find() {
	m.state = Finding
	m.main = m.read(m.own(), false)
}

func (m *Machine) onFound(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Err)
	case ev.Exists:
		m.check(m.cfg.Parties) // which arrival it was is not known: it may have been the last
	default:
		m.proceed()
	}
}
