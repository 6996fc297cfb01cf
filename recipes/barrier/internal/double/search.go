package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// search finds the newest round, and deletes older ones that no party is in. A party that has been
// in a round knows the next one and does not search.
type search struct {
	m     *Machine
	guard int32   // the version of the barrier's own znode: no round was created since
	old   []int64 // rounds before the newest, to be looked at
}

func (m *Machine) listRounds() {
	s := &search{m: m}
	m.state, m.await, m.round.number, m.round.version = Finding, "", 0, 0
	ask(m, machine.List{Path: m.cfg.Path}, s.onRounds)
}

func (s *search) onRounds(ev machine.Listed) {
	switch ev.Code {
	case machine.Done:
	case machine.NoNode:
		s.m.state = Creating
		ask(s.m, machine.Ensure{Path: s.m.cfg.Path}, s.onEnsured)
		return
	default:
		s.m.refused(ev.Err)
		return
	}
	s.guard = ev.Stat.Version
	numbers := Rounds(ev.Names)
	if len(numbers) == 0 {
		s.create(1)
		return
	}
	last := len(numbers) - 1
	s.m.round.number = numbers[last]
	s.clean(numbers[:last])
}

func (s *search) onEnsured(ev machine.Ensured) {
	if ev.Code == machine.Refused {
		s.m.refused(ev.Err)
		return
	}
	s.create(1)
}

// create creates a round where none is open, unless any has been created since the rounds were
// listed: this one may have come and gone by now, and a party in another one with the same number
// would be alone in it.
func (s *search) create(number int64) {
	s.m.state, s.m.round.number = Creating, number
	ask(s.m, machine.Transact{Ops: Opening(s.m.cfg.Path, number, s.m.cfg.Parties, s.guard)}, s.onCreated)
}

// Opening returns the operations that create a round of the barrier at path. Each creation raises
// the version of the barrier's own znode, which is checked by those that are out of turn.
func Opening(path string, number int64, parties int, guard int32) []machine.Op {
	round := RoundPath(path, number)
	return []machine.Op{
		{Do: machine.Set, Path: path, Version: guard},
		{Do: machine.Create, Path: round, Data: Verdict{Kind: Open, Parties: parties}.Bytes()},
		{Do: machine.Create, Path: znode.Join(round, arrivals)},
		{Do: machine.Create, Path: znode.Join(round, departures)},
	}
}

func (s *search) onCreated(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Refused:
		s.m.refused(ev.Err)
	case s.m.round.number == 1 && (ev.Code == machine.Done || ev.Code == machine.BadVersion): // if another party was first, it is probably still open
		s.m.round.version, s.m.round.unsure = 0, false
		s.m.proceed()
	default: // there is an older round, to be looked at; or it is not known; or the barrier's own znode was deleted
		s.m.listRounds()
	}
}

// clean looks at older rounds. Those without parties, which have died, are deleted.
func (s *search) clean(old []int64) {
	s.old = old
	switch {
	case len(old) > 0:
		s.m.state = Cleaning
		ask(s.m, machine.Read{Path: RoundPath(s.m.cfg.Path, old[0])}, s.onOld)
	case s.m.round.unsure:
		s.m.state = Finding
		ask(s.m, machine.Read{Path: s.m.roundPath()}, s.onNewest)
	default:
		s.m.proceed()
	}
}

func (s *search) onOld(ev machine.Seen) {
	v := ParseVerdict(ev.Data)
	other := nameOf(v.Names, s.m.cfg.ID)
	switch {
	case ev.Code != machine.Done:
		s.m.refused(ev.Err)
	case !ev.Exists:
		s.clean(s.old[1:])
	case v.full(ev.Stat.Children) && other == "":
		s.m.refused(ErrCrowd)
	case ev.Stat.Children <= fixtures:
		ask(s.m, machine.List{Path: znode.Join(ev.Path, departures)}, s.onDepartures)
	case other != "":
		s.m.await = znode.Join(ev.Path, other)
		ask(s.m, machine.Read{Path: s.m.await, Watch: true}, s.onOther)
	default:
		s.clean(s.old[1:])
	}
}

// onOther: another process of this party's id is a member of an older round. It may be inside, so
// this one arrives only when the other's znode is gone, or that round is over. The watch tells.
func (s *search) onOther(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		s.m.refused(ev.Err)
	case !ev.Exists:
		s.clean(s.old[1:])
	}
}

// onDepartures deletes a round with the departures in it. If there is a party after all, the
// transaction fails.
func (s *search) onDepartures(ev machine.Listed) {
	s.m.clear(deleteRound(RoundPath(s.m.cfg.Path, s.old[0]), ev.Names), func() { s.clean(s.old[1:]) })
}

// clear deletes a round, except for what another client has deleted of it.
func (m *Machine) clear(ops []machine.Op, then func()) {
	ask(m, machine.Transact{Ops: ops}, func(ev machine.Transacted) {
		if ev.Code == machine.NoNode && ev.Failed < len(ops)-1 {
			m.clear(slices.Delete(ops, ev.Failed, ev.Failed+1), then)
			return
		}
		then()
	})
}

// deleteRound returns the operations that delete a round without parties.
func deleteRound(round string, departed []string) []machine.Op {
	out := znode.Join(round, departures)
	var ops []machine.Op
	for _, name := range departed {
		ops = append(ops, deletion(znode.Join(out, name)))
	}
	return append(ops, deletion(out), deletion(znode.Join(round, arrivals)), deletion(round))
}

func deletion(path string) machine.Op {
	return machine.Op{Do: machine.Delete, Path: path, Version: machine.Any}
}

func (s *search) onNewest(ev machine.Seen) {
	if ev.Code != machine.Done {
		s.m.refused(ev.Err)
		return
	}
	s.m.round.unsure = false
	if v := ParseVerdict(ev.Data); ev.Exists && v.Kind == Open {
		s.m.round.version = ev.Stat.Version
		s.m.proceed()
		return
	}
	s.create(s.m.round.number + 1) // the party that decided it has created the next one, so another client deleted that
}
