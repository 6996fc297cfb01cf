package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// roundFinder finds the newest round, and deletes older ones without parties. A party that has been
// in a round knows the next one and needs no roundFinder.
type roundFinder struct {
	m     *Machine
	guard int32   // the version of the barrier's own znode at the listing: each creation of a round changes it
	old   []int64 // the rounds before the newest that were not read yet
}

func (m *Machine) findRound() {
	f := &roundFinder{m: m}
	m.state, m.awaited, m.round.number, m.round.version = Finding, "", 0, 0
	ask(m, machine.List{Path: m.cfg.Path}, f.onRounds)
}

func (f *roundFinder) onRounds(ev machine.Listed) {
	switch ev.Code {
	case machine.Done:
	case machine.NoNode:
		f.m.state = Creating
		ask(f.m, machine.Ensure{Path: f.m.cfg.Path}, f.onEnsured)
		return
	default:
		f.m.refused(ev.Err)
		return
	}
	f.guard = ev.Stat.Version
	numbers := Rounds(ev.Names)
	if len(numbers) == 0 {
		f.create(1)
		return
	}
	last := len(numbers) - 1
	f.m.round.number = numbers[last]
	f.clean(numbers[:last])
}

func (f *roundFinder) onEnsured(ev machine.Ensured) {
	if ev.Code == machine.Refused {
		f.m.refused(ev.Err)
		return
	}
	f.create(1)
}

// create creates a round if no round was created since the listing. Otherwise a round with this
// number may have been created and deleted since, and a party in a second one with the same number
// would be alone in it.
func (f *roundFinder) create(number int64) {
	f.m.state, f.m.round.number = Creating, number
	ask(f.m, machine.Transact{Ops: Opening(f.m.cfg.Path, number, f.m.cfg.Parties, f.guard)}, f.onCreated)
}

// Opening returns the operations that create a round of the barrier at path. Each creation raises
// the version of the barrier's own znode. A creation that does not follow a verdict checks that
// version, as guard.
func Opening(path string, number int64, parties int, guard int32) []machine.Op {
	round := RoundPath(path, number)
	return []machine.Op{
		{Do: machine.Set, Path: path, Version: guard},
		{Do: machine.Create, Path: round, Data: Verdict{Kind: Open, Parties: parties}.Bytes()},
		{Do: machine.Create, Path: znode.Join(round, arrivals)},
		{Do: machine.Create, Path: znode.Join(round, departures)},
	}
}

func (f *roundFinder) onCreated(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Refused:
		f.m.refused(ev.Err)
	case f.m.round.number == 1 && (ev.Code == machine.Done || ev.Code == machine.BadVersion): // if another party was first, its round is probably still open
		f.m.round.version, f.m.round.unread = 0, false
		f.m.proceed()
	default: // there is an older round, which has to be read; or the outcome is not known; or the barrier's own znode was deleted
		f.m.findRound()
	}
}

// clean reads the older rounds, one by one. It deletes those without parties: all their members
// have died.
func (f *roundFinder) clean(old []int64) {
	f.old = old
	switch {
	case len(old) > 0:
		f.m.state = Cleaning
		ask(f.m, machine.Read{Path: RoundPath(f.m.cfg.Path, old[0])}, f.onOld)
	case f.m.round.unread:
		f.m.state = Finding
		ask(f.m, machine.Read{Path: f.m.roundPath()}, f.onNewest)
	default:
		f.m.proceed()
	}
}

func (f *roundFinder) onOld(ev machine.Seen) {
	v := ParseVerdict(ev.Data)
	other := nameOf(v.Names, f.m.cfg.ID)
	switch {
	case ev.Code != machine.Done:
		f.m.refused(ev.Err)
	case !ev.Exists:
		f.clean(f.old[1:])
	case v.full(ev.Stat.Children) && other == "": // this party is one too many
		f.m.refused(ErrCrowd)
	case ev.Stat.Children <= fixtures: // no party is left
		ask(f.m, machine.List{Path: znode.Join(ev.Path, departures)}, f.onDepartures)
	case other != "": // it may be inside
		f.m.awaited = znode.Join(ev.Path, other)
		ask(f.m, machine.Read{Path: f.m.awaited, Watch: true}, f.onOther)
	default: // others are leaving it
		f.clean(f.old[1:])
	}
}

// onOther handles the read of another process's znode: one with this party's id, a member of an
// older round. The other process may be inside, so this one arrives only when that znode is changed
// or deleted. The watch tells.
func (f *roundFinder) onOther(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		f.m.refused(ev.Err)
	case !ev.Exists:
		f.clean(f.old[1:])
	}
}

// onDepartures deletes a round together with the departures recorded in it. If there is a party
// after all, the transaction fails.
func (f *roundFinder) onDepartures(ev machine.Listed) {
	f.m.deleteParts(roundDeletions(RoundPath(f.m.cfg.Path, f.old[0]), ev.Names), func() { f.clean(f.old[1:]) })
}

// deleteParts carries out the deletions of a round, and leaves out the znodes that another client
// has deleted already.
func (m *Machine) deleteParts(ops []machine.Op, then func()) {
	ask(m, machine.Transact{Ops: ops}, func(ev machine.Transacted) {
		if ev.Code == machine.NoNode && ev.Failed < len(ops)-1 {
			m.deleteParts(slices.Delete(ops, ev.Failed, ev.Failed+1), then)
			return
		}
		then()
	})
}

// roundDeletions returns the operations that delete a round without parties.
func roundDeletions(round string, departed []string) []machine.Op {
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

func (f *roundFinder) onNewest(ev machine.Seen) {
	if ev.Code != machine.Done {
		f.m.refused(ev.Err)
		return
	}
	f.m.round.unread = false
	if v := ParseVerdict(ev.Data); ev.Exists && v.Kind == Open {
		f.m.round.version = ev.Stat.Version
		f.m.proceed()
		return
	}
	f.create(f.m.round.number + 1) // the party that wrote the verdict created the next round too, so another client has deleted that one
}
