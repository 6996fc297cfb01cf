package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// member is this party as a member of a round that was released, until the round is over.
type member struct {
	m           *Machine
	claim       Wanted // Claim is 0 if there is no passage
	round       int64  // the round's number
	names       []string
	me          int
	token       int64 // Czxid of the own znode
	neighbour   int   // the member whose departure is recorded, or that is watched
	tries       int   // to close the round
	membersOnly bool  // another client's znode keeps the round from being deleted: delete the members alone
	regained    bool  // trust, or the connection, since a possession was asked for
}

func (b *member) roundPath() string { return RoundPath(b.m.cfg.Path, b.round) }

// path is that of a member's znode.
func (b *member) path(i int) string { return znode.Join(b.roundPath(), b.names[i]) }

func (b *member) departures() string { return znode.Join(b.roundPath(), departures) }

// enter offers the application its passage.
func (b *member) enter() {
	b.m.state, b.regained = Inside, false
	b.m.requests.Emit(Enter{
		Claim: b.claim.Claim, Epoch: b.m.requests.Epoch(), Round: b.round, Path: b.path(b.me), Self: b.names[b.me], Token: b.token, Names: b.names,
	})
}

// onOwnGone: another client deleted the own znode.
func (b *member) onOwnGone() {
	if b.m.state == Ready {
		b.m.repeatClaim()
		b.m.proceed()
		return
	}
	b.m.requests.Emit(Lost{Claim: b.claim.Claim})
	b.depart()
}

// depart records that this member departs.
func (b *member) depart() { b.recordDeparture(b.me) }

// recordDeparture records a departure: of this member, or of another one whose znode is gone. None is
// recorded twice, so the version of their parent counts them.
func (b *member) recordDeparture(i int) {
	b.m.state, b.neighbour = Departing, i
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
		b.recordDeparture(b.neighbour)
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
		b.closeRound()
		return
	}
	b.watch(b.neighbour + 1)
}

// watch watches the next member in the ring that exists.
func (b *member) watch(i int) {
	i %= len(b.names)
	switch {
	case b.m.closing:
		b.quit()
	case i == b.me: // all others are gone, and their departures are recorded
		b.closeRound()
	default:
		b.m.state, b.neighbour = Watching, i
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
		b.recordDeparture(b.neighbour)
	}
}

// neighbourChanged: the neighbour has died, if it is gone. Otherwise the round is over.
func (b *member) neighbourChanged(gone bool) {
	if gone {
		b.recordDeparture(b.neighbour)
		return
	}
	b.onRoundDeleted()
}

// abandon leaves a round of which there is nothing to record a departure in. Another client may
// have deleted only that: this party's znode would keep others out.
func (b *member) abandon() {
	b.m.state = Removing
	ask(b.m, machine.Remove{Path: b.path(b.me)}, func(machine.Removed) { b.onRoundDeleted() })
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

// closeRound deletes the round, from which all have departed: everything in one transaction if none has
// died.
func (b *member) closeRound() {
	b.m.state = Deleting
	b.tries, b.membersOnly = 0, false
	b.deleteRound(b.names)
}

// deleteRound tells the members that still exist that the round is over, and deletes them with the rest.
func (b *member) deleteRound(present []string) {
	round := b.roundPath()
	var ops []machine.Op
	for _, name := range present { // first all of this: a change is the end, a deletion without one a death
		ops = append(ops, machine.Op{Do: machine.Set, Path: znode.Join(round, name), Data: []byte("over"), Version: machine.Any})
	}
	for _, name := range present {
		ops = append(ops, deletion(znode.Join(round, name)))
	}
	if !b.membersOnly {
		ops = append(ops, roundDeletions(round, b.names)...)
	}
	ask(b.m, machine.Transact{Ops: ops}, b.onDeleted)
}

func (b *member) onDeleted(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		b.onRoundDeleted()
		return
	case machine.Refused:
		b.m.stop(ev.Err)
		return
	case machine.NotEmpty:
		b.membersOnly = true
	}
	b.tries++
	b.membersOnly = b.membersOnly || b.tries > len(b.names) // another client deleted parts of it
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
	case ev.Code != machine.Done || !slices.Contains(ev.Names, departures) || b.membersOnly && len(present) == 0:
		b.onRoundDeleted()
	default:
		b.deleteRound(present)
	}
}

// onRoundDeleted: every member of the round has departed, or died.
func (b *member) onRoundDeleted() {
	if b.claim.Claim != 0 {
		b.m.requests.Emit(Left{Claim: b.claim.Claim})
	}
	b.m.member = nil
	b.m.proceed()
}
