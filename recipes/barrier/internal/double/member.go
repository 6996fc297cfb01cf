package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// member is this party's membership of a released round, until all members have left.
type member struct {
	m     *Machine
	round int64    // the number of the round
	names []string // of the members' znodes, sorted: the order of the ring
	me    int      // the position of the own znode in names
	token int64    // Czxid of the own znode
	// The passage.
	claim    Wanted // Claim is 0 if there is no passage
	regained bool   // trust, or the connection, has come back since the passage was offered
	// The departures.
	neighbour   int  // the position of the member whose departure is being recorded, or whose znode is watched
	tries       int  // attempts to delete the round
	membersOnly bool // another client's znode keeps the round from being deleted: delete the members' znodes alone
}

func (b *member) roundPath() string { return RoundPath(b.m.cfg.Path, b.round) }

// path is the path of a member's znode.
func (b *member) path(i int) string { return znode.Join(b.roundPath(), b.names[i]) }

func (b *member) departures() string { return znode.Join(b.roundPath(), departures) }

// enter offers the application its passage.
func (b *member) enter() {
	b.m.state, b.regained = Entered, false
	b.m.requests.Emit(Enter{
		Claim: b.claim.Claim, Epoch: b.m.requests.Epoch(), Round: b.round, Path: b.path(b.me), Self: b.names[b.me], Token: b.token, Names: b.names,
	})
}

// onOwnGone handles the deletion of the own znode by another client.
func (b *member) onOwnGone() {
	if b.m.state == Ready {
		b.m.repeatClaim()
		b.m.proceed()
		return
	}
	b.m.requests.Emit(Lost{Claim: b.claim.Claim})
	b.depart()
}

// depart records the departure of this member.
func (b *member) depart() { b.recordDeparture(b.me) }

// recordDeparture records the departure of this member, or of another one whose znode is gone. No
// departure can be recorded twice, so the version of their parent is their number.
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
	case machine.NodeExists: // the member that recorded it may have died before it could delete the round
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

// counted takes the next step, given the number of departures.
func (b *member) counted(departed int32) {
	if int(departed) >= len(b.names) {
		b.closeRound()
		return
	}
	b.watch(b.neighbour + 1)
}

// watch watches the znode of member i or, if that is gone, of the next one in the ring.
func (b *member) watch(i int) {
	i %= len(b.names)
	switch {
	case b.m.closing:
		b.quit()
	case i == b.me: // all other znodes are gone, and their departures are recorded
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

// neighbourChanged handles the watch on the neighbour's znode. If that is gone, the neighbour has
// died. Otherwise the round is being deleted.
func (b *member) neighbourChanged(gone bool) {
	if gone {
		b.recordDeparture(b.neighbour)
		return
	}
	b.onRoundDeleted()
}

// abandon leaves a round in which no departure can be recorded, because out is gone. Another client
// may have deleted only out, so the own znode has to be deleted: it would keep other processes out.
func (b *member) abandon() {
	b.m.state = Removing
	ask(b.m, machine.Remove{Path: b.path(b.me)}, func(machine.Removed) { b.onRoundDeleted() })
}

// quit leaves the ring. The member that watches this one sees the deletion, and finds the departure
// recorded.
func (b *member) quit() {
	b.m.state = Removing
	ask(b.m, machine.Remove{Path: b.path(b.me)}, func(machine.Removed) {
		b.m.member = nil
		b.m.proceed()
	})
}

// closeRound deletes the round after the last departure: all of it in one transaction if no member
// has died.
func (b *member) closeRound() {
	b.m.state = Deleting
	b.tries, b.membersOnly = 0, false
	b.deleteRound(b.names)
}

// deleteRound writes to the znodes of the members that are present, and deletes them with the rest
// of the round.
func (b *member) deleteRound(present []string) {
	round := b.roundPath()
	var ops []machine.Op
	for _, name := range present { // all changes before all deletions: a change tells of the end of the round, a deletion without one of a death
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
	b.membersOnly = b.membersOnly || b.tries > len(b.names) // another client deleted parts of the round
	ask(b.m, machine.List{Path: b.roundPath()}, b.onRemaining)
}

// onRemaining tries again with the members whose znodes are left.
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

// onRoundDeleted tells the application that every member of the round has departed, or died.
func (b *member) onRoundDeleted() {
	if b.claim.Claim != 0 {
		b.m.requests.Emit(Left{Claim: b.claim.Claim})
	}
	b.m.member = nil
	b.m.proceed()
}
