package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// member is this party as a member of a round that was released, until the round is over.
type member struct {
	m        *Machine
	claim    Wanted // Claim is 0 if there is no passage
	of       int64  // the round's number
	names    []string
	me       int
	token    int64 // Czxid of the own znode
	at       int   // the member whose departure is recorded, or that is watched
	tries    int   // to close the round
	partly   bool  // another client's znode keeps the round from being deleted: delete the members alone
	regained bool  // trust, or the connection, since a possession was asked for
}

func (b *member) roundPath() string { return RoundPath(b.m.cfg.Path, b.of) }

// path is that of a member's znode.
func (b *member) path(i int) string { return znode.Join(b.roundPath(), b.names[i]) }

func (b *member) departures() string { return znode.Join(b.roundPath(), departures) }

// enter offers the application its passage.
func (b *member) enter() {
	b.m.state, b.regained = Inside, false
	b.m.requests.Requests.Emit(Enter{
		Claim: b.claim.Claim, Epoch: b.m.requests.Requests.Epoch(), Round: b.of, Path: b.path(b.me), Self: b.names[b.me], Token: b.token, Names: b.names,
	})
}

// ownGone: another client deleted the own znode.
func (b *member) ownGone() {
	if b.m.state == Ready {
		b.m.again()
		b.m.proceed()
		return
	}
	b.m.requests.Requests.Emit(Lost{Claim: b.claim.Claim})
	b.depart()
}

// depart records that this member departs.
func (b *member) depart() { b.record(b.me) }

// record records a departure: of this member, or of another one whose znode is gone. None is
// recorded twice, so the version of their parent counts them.
func (b *member) record(i int) {
	b.m.state, b.at = Departing, i
	ask(b.m, machine.Transact{Ops: []machine.Op{
		{Do: machine.Create, Path: znode.Join(b.departures(), b.names[i])},
		{Do: machine.Set, Path: b.departures(), Version: machine.Any},
	}}, b.onRecorded)
}

func (b *member) onRecorded(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		b.counted(ev.Results[1].Stat.Version)
	case machine.NodeExists: // the member that recorded it may have died before it could close the round
		b.m.state = CountingDepartures
		ask(b.m, machine.Read{Path: b.departures()}, b.onDepartures)
	case machine.NoNode:
		b.abandon()
	case machine.Unknown:
		b.record(b.at)
	default:
		b.m.stop(ev.Err)
	}
}

func (b *member) onDepartures(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		b.m.stop(ev.Err)
	case !ev.Exists:
		b.abandon()
	default:
		b.counted(ev.Stat.Version)
	}
}

// counted goes on when it is known how many have departed.
func (b *member) counted(departed int32) {
	if int(departed) >= len(b.names) {
		b.close()
		return
	}
	b.watch(b.at + 1)
}

// watch watches the next member in the ring that exists.
func (b *member) watch(i int) {
	i %= len(b.names)
	switch {
	case b.m.closing:
		b.quit()
	case i == b.me: // all others are gone, and their departures are recorded
		b.close()
	default:
		b.m.state, b.at = Watching, i
		ask(b.m, machine.Read{Path: b.path(i), Watch: true}, b.onNeighbour)
	}
}

func (b *member) onNeighbour(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		b.m.stop(ev.Err)
	case ev.Exists:
		b.m.state = Leaving
	default:
		b.record(b.at)
	}
}

// neighbourChanged: the neighbour has died, if it is gone. Otherwise the round is over.
func (b *member) neighbourChanged(gone bool) {
	if gone {
		b.record(b.at)
		return
	}
	b.over()
}

// abandon leaves a round of which there is nothing to record a departure in. Another client may
// have deleted only that: this party's znode would keep others out.
func (b *member) abandon() {
	b.m.state = Removing
	ask(b.m, machine.Remove{Path: b.path(b.me)}, func(machine.Removed) { b.over() })
}

// quit leaves the ring: the member that watches this one sees that it is gone, and finds its
// departure recorded.
func (b *member) quit() {
	b.m.state = Removing
	ask(b.m, machine.Remove{Path: b.path(b.me)}, func(machine.Removed) {
		b.m.member = nil
		b.m.proceed()
	})
}

// close deletes the round, from which all have departed: everything in one transaction if none has
// died.
func (b *member) close() {
	b.m.state = Deleting
	b.tries, b.partly = 0, false
	b.delete(b.names)
}

// delete tells the members that still exist that the round is over, and deletes them with the rest.
func (b *member) delete(present []string) {
	round := b.roundPath()
	var ops []machine.Op
	for _, name := range present { // first all of this: a change is the end, a deletion without one a death
		ops = append(ops, machine.Op{Do: machine.Set, Path: znode.Join(round, name), Data: []byte("over"), Version: machine.Any})
	}
	for _, name := range present {
		ops = append(ops, deletion(znode.Join(round, name)))
	}
	if !b.partly {
		ops = append(ops, deleteRound(round, b.names)...)
	}
	ask(b.m, machine.Transact{Ops: ops}, b.onDeleted)
}

func (b *member) onDeleted(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		b.over()
		return
	case machine.Refused:
		b.m.stop(ev.Err)
		return
	case machine.NotEmpty:
		b.partly = true
	}
	b.tries++
	b.partly = b.partly || b.tries > len(b.names) // another client deleted parts of it
	ask(b.m, machine.List{Path: b.roundPath()}, b.onRemaining)
}

// onRemaining tries again with the members that are left.
func (b *member) onRemaining(ev machine.Listed) {
	present := slices.DeleteFunc(slices.Clone(ev.Names), func(name string) bool {
		_, member := position(b.names, name)
		return !member
	})
	switch {
	case ev.Code == machine.Refused:
		b.m.stop(ev.Err)
	case ev.Code != machine.Done || !slices.Contains(ev.Names, departures) || b.partly && len(present) == 0:
		b.over()
	default:
		b.delete(present)
	}
}

// over: every member of the round has departed, or died.
func (b *member) over() {
	if b.claim.Claim != 0 {
		b.m.requests.Requests.Emit(Left{Claim: b.claim.Claim})
	}
	b.m.member = nil
	b.m.proceed()
}
