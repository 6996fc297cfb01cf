package double

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// count lists the parties. A release requires that no party has arrived since the listing: such a
// party may be a process that was restarted, whose predecessor's znode must not be released. So the
// number of arrivals has to be known before the listing. Usually the reply to the own arrival has
// told it.
func (a *arrival) count() {
	if a.arrivedKnown {
		a.list()
		return
	}
	a.m.state = Counting
	ask(a.m, machine.Read{Path: a.arrivals()}, func(ev machine.Seen) {
		if ev.Code != machine.Done {
			a.m.stop(ev.Err)
			return
		}
		a.arrivedKnown, a.arrived = true, ev.Stat.Version
		a.list()
	})
}

func (a *arrival) list() {
	a.m.state = Counting
	ask(a.m, machine.List{Path: a.m.roundPath()}, a.onParties)
}

func (a *arrival) onParties(ev machine.Listed) {
	found, agreed, parties := byID(ev.Names), ParseVerdict(a.seen.Data).Parties, a.m.cfg.Parties
	switch {
	case ev.Code == machine.Refused:
		a.m.stop(ev.Err)
	case ev.Code != machine.Done || !slices.Contains(ev.Names, a.name): // the round or the own znode is gone, as an event tells
		a.resume()
	case !slices.Contains(ev.Names, arrivals) || !slices.Contains(ev.Names, departures):
		a.m.state = Deciding
		a.restore(agreed, ev.Names, func(ev machine.Transacted) { a.onVerdictWritten(ev, Verdict{Kind: Open}) })
	case agreed != parties && allExpect(ev.Names, parties): // the round takes over their number
		a.writeVerdict(Verdict{Kind: Open, Parties: parties})
	case agreed != parties:
		a.writeVerdict(Verdict{Kind: Broken, Parties: agreed, Why: Differing})
	case len(found) > parties:
		a.writeVerdict(Verdict{Kind: Broken, Parties: parties, Why: Crowd})
	case len(found) == parties:
		a.release(found, map[string]int64{})
	default: // some of the znodes are not parties', or an id has several; the next party to arrive counts again
		a.rank = 0
		a.resume()
	}
}

// release releases the parties found, by id. If an id has several znodes, the latest counts: the
// others belong to processes that have died, as far as their successors know. born has the Czxids
// of such znodes, which release reads one by one.
func (a *arrival) release(found map[string][]string, born map[string]int64) {
	names := make([]string, 0, len(found))
	for _, id := range slices.Sorted(maps.Keys(found)) {
		for _, name := range found[id] {
			if len(found[id]) > 1 && born[name] == 0 {
				ask(a.m, machine.Read{Path: znode.Join(a.m.roundPath(), name)}, func(ev machine.Seen) {
					switch {
					case ev.Code != machine.Done:
						a.m.stop(ev.Err)
						return
					case ev.Exists:
						born[name] = ev.Stat.Czxid
					case name == a.name: // the own znode is gone, and its place must not go to a predecessor
						a.m.proceed()
						return
					default:
						born[name] = -1
					}
					a.release(found, born)
				})
				return
			}
		}
		names = append(names, slices.MaxFunc(found[id], func(x, y string) int { return cmp.Compare(born[x], born[y]) }))
	}
	slices.Sort(names)
	a.writeVerdict(Verdict{Kind: Released, Parties: a.m.cfg.Parties, Names: names})
}

// restore creates the parts of the open round that another client has deleted. It also gives the
// round a new version, which makes void what other parties have counted. From then on every arrival
// may be the last one needed.
func (a *arrival) restore(parties int, names []string, then func(machine.Transacted)) {
	ops := []machine.Op{{Do: machine.Set, Path: a.m.roundPath(), Data: Verdict{Kind: Open, Parties: parties}.Bytes(), Version: a.m.round.version}}
	if !slices.Contains(names, departures) {
		ops = append(ops, machine.Op{Do: machine.Create, Path: znode.Join(a.m.roundPath(), departures)})
	}
	if !slices.Contains(names, arrivals) {
		ops = append(ops, machine.Op{Do: machine.Create, Path: a.arrivals()})
		ops = append(ops, slices.Repeat([]machine.Op{{Do: machine.Set, Path: a.arrivals(), Version: machine.Any}}, parties)...)
	}
	ask(a.m, machine.Transact{Ops: ops}, then)
}

// resume goes back to waiting, and handles the events that came during a decision.
func (a *arrival) resume() {
	a.m.state = Waiting
	switch {
	case a.ownGone:
		a.m.proceed()
	case a.roundChanged:
		a.reread(false)
	default:
		a.advance()
	}
}

// writeVerdict writes a verdict if the round has not changed since it was read.
func (a *arrival) writeVerdict(v Verdict) {
	a.m.state = Deciding
	var ops []machine.Op
	round := a.m.roundPath()
	if v.Kind == Released {
		ops = append(ops,
			machine.Op{Do: machine.Check, Path: a.arrivals(), Version: a.arrived},
			machine.Op{Do: machine.Check, Path: znode.Join(round, departures), Version: machine.Any}, // without it, no departure can be recorded
		)
		for _, name := range v.Names {
			ops = append(ops, machine.Op{Do: machine.Check, Path: round + "/" + name, Version: machine.Any})
		}
	}
	ops = append(ops, machine.Op{Do: machine.Set, Path: round, Data: v.Bytes(), Version: a.m.round.version})
	if v.Kind != Open && !a.nextExists {
		ops = append(ops, Opening(a.m.cfg.Path, a.m.round.number+1, a.m.cfg.Parties, machine.Any)...)
	}
	ask(a.m, machine.Transact{Ops: ops}, func(ev machine.Transacted) { a.onVerdictWritten(ev, v) })
}

func (a *arrival) onVerdictWritten(ev machine.Transacted, v Verdict) {
	switch {
	case ev.Code == machine.Done && v.Kind != Open:
		a.onVerdict(v)
	case ev.Code == machine.Refused:
		a.m.stop(ev.Err)
	case a.ownGone:
		a.m.proceed()
	default: // another party has decided, arrived or died, or the outcome is not known
		a.nextExists = a.nextExists || ev.Code == machine.NodeExists
		a.reread(true)
	}
}
