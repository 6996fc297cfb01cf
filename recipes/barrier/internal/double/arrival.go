package double

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// arrival is a party's znode in an open round, until the round is decided.
type arrival struct {
	m    *Machine
	name string // of the own znode
	rank int    // this is at least the rank-th arrival in the round
	// Read while Waiting. The next step needs both, and the watch.
	czxid        int64         // of the own znode; 0 until it was read
	seen         *machine.Seen // the round; nil until it was read
	roundWatched bool          // a watch is set on the round's data
	// Events during Counting and Deciding, which resume handles.
	ownGone      bool // the own znode was deleted
	roundChanged bool
	// For a verdict.
	arrivedKnown bool  // arrived is known
	arrived      int32 // the number of arrivals before the parties were listed
	nextExists   bool  // the next round exists already: another client has created it
}

// path is the path of the own znode.
func (a *arrival) path() string { return znode.Join(a.m.roundPath(), a.name) }

func (a *arrival) arrivals() string { return znode.Join(a.m.roundPath(), arrivals) }

// arrive creates the own znode, if the round is still open.
func (m *Machine) arrive() {
	a := &arrival{m: m, name: PartyName(m.cfg.GUID(), m.cfg.ID, m.cfg.Parties)}
	m.state, m.arrival = Arriving, a
	ask(m, machine.Transact{Ops: []machine.Op{
		{Do: machine.Check, Path: m.roundPath(), Version: m.round.version},
		{Do: machine.Create, Path: a.path(), Ephemeral: true},
		{Do: machine.Set, Path: a.arrivals(), Version: machine.Any},
	}}, a.onArrived)
}

func (a *arrival) onArrived(ev machine.Transacted) {
	const counts = 2 // the operation of arrive that counts the arrivals, on in
	switch {
	case ev.Code == machine.Done:
		number := ev.Results[counts].Stat.Version
		a.check(int(number))
		a.arrivedKnown, a.arrived = true, number
	case ev.Code == machine.Unknown:
		a.m.state = Resolving
		ask(a.m, machine.Read{Path: a.path()}, a.onFound)
	case ev.Code == machine.NoNode && ev.Failed == counts: // another client deleted in
		a.m.round.unread = true
		a.restore(a.m.cfg.Parties, []string{departures}, a.findAgain)
	default: // the round is not as it was read, or it is refused
		a.m.round.unread = a.m.round.unread || ev.Code == machine.BadVersion || ev.Failed > 0
		a.findAgain(ev)
	}
}

// findAgain finds the newest round again, unless ZooKeeper has refused the arrival.
func (a *arrival) findAgain(ev machine.Transacted) {
	if ev.Code == machine.Refused {
		a.m.refused(ev.Err)
		return
	}
	a.m.round.number = 0
	a.m.proceed()
}

// onFound handles the read after an arrival whose reply was lost.
func (a *arrival) onFound(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		a.m.refused(ev.Err)
	case ev.Exists:
		a.check(a.m.cfg.Parties) // the number of the arrival is not known: it may have been the last one needed
	default:
		a.m.proceed()
	}
}

// check reads the own znode and the round, and watches both. The own znode is read by a listing of
// its children. It has none, so the watch on them fires only when the znode is deleted.
func (a *arrival) check(rank int) {
	*a = arrival{m: a.m, name: a.name, rank: rank, roundWatched: true}
	a.m.state = Waiting
	askFor(a.m, ownRead, machine.List{Path: a.path(), Watch: true}, a.onOwn)
	askFor(a.m, roundRead, machine.Read{Path: a.m.roundPath(), Watch: true}, a.onRound)
}

func (a *arrival) onOwn(ev machine.Listed) {
	switch {
	case ev.Code == machine.Refused:
		a.m.stop(ev.Err)
	case ev.Code != machine.Done || ev.Stat.Owner != a.m.session:
		a.onOwnGone()
	default:
		a.czxid = ev.Stat.Czxid
		a.advance()
	}
}

// onOwnGone handles the deletion of the own znode. The party arrives again, unless the round is
// released with this party as a member.
func (a *arrival) onOwnGone() {
	if a.m.state == Waiting {
		a.m.proceed()
		return
	}
	a.ownGone = true
}

func (a *arrival) onRound(ev machine.Seen) {
	if ev.Code != machine.Done {
		a.m.stop(ev.Err)
		return
	}
	a.seen = &ev
	a.advance()
}

func (a *arrival) onRoundChanged() {
	if a.m.state == Waiting {
		a.reread(false)
		return
	}
	a.roundChanged = true
}

// reread reads the round again. Without watch, the watch that fired is not set again: the answer
// tells whether there is still something to wait for.
func (a *arrival) reread(watch bool) {
	a.m.state = Waiting
	a.seen, a.roundChanged, a.roundWatched, a.arrivedKnown = nil, false, watch, false
	askFor(a.m, roundRead, machine.Read{Path: a.m.roundPath(), Watch: watch}, a.onRound)
}

// advance takes the next step by the round's data, once the round and the own znode have been read.
func (a *arrival) advance() {
	if a.m.state != Waiting || a.czxid == 0 || a.seen == nil {
		return
	}
	v := ParseVerdict(a.seen.Data)
	switch {
	case !a.seen.Exists:
		a.findAgain(machine.Transacted{})
	case v.Kind == Open:
		a.m.round.version = a.seen.Stat.Version
		a.advanceOpen(v, Present(a.seen.Stat.Children))
	default:
		a.onVerdict(v)
	}
}

// onVerdict handles the verdict on the round. Even the party that wrote it need not be a member: a
// later process with its id may be the member.
func (a *arrival) onVerdict(v Verdict) {
	me, member := position(v.Names, a.name)
	switch {
	case member:
		a.released(v.Names, me)
	case v.Kind == Released && a.ownGone: // it was not among the parties: the next round
		a.m.proceed()
	case v.Kind == Released && nameOf(v.Names, a.m.cfg.ID) != "": // a later process is
		a.excluded(ErrReplaced)
	case v.Kind == Released:
		a.excluded(ErrCrowd)
	default:
		a.excluded(broken(v))
	}
}

func (a *arrival) advanceOpen(v Verdict, present int) {
	switch {
	case len(a.m.claims) == 0:
		a.withdraw()
	case !a.roundWatched:
		a.reread(true)
	case v.Parties != a.m.cfg.Parties: // the round was created for another number of parties; whether all present agree on the new number, their names tell
		a.list()
	case a.rank >= a.m.cfg.Parties && present >= a.m.cfg.Parties-fixtures: // another client may have deleted in and out
		a.count()
	}
}

// released makes this party a member of the round.
func (a *arrival) released(names []string, me int) {
	m := a.m
	m.member = &member{m: m, round: m.round.number, names: names, me: me, token: a.czxid}
	m.round.number, m.round.version = m.round.number+1, 0
	if len(m.claims) == 0 {
		m.proceed() // the claim was withdrawn: the party leaves at once
		return
	}
	m.member.claim = m.claims[0]
	m.claims = m.claims[1:]
	if a.ownGone {
		m.repeatClaim()
		m.proceed()
		return
	}
	m.member.enter()
}

// excluded handles a verdict without this party. It refuses the claim and deletes the own znode.
// Then it tries to delete the round: that transaction fails while other parties are left.
func (a *arrival) excluded(why error) {
	m, path, round := a.m, a.path(), a.m.roundPath()
	m.fail(why)
	m.state = Removing
	ask(m, machine.Remove{Path: path}, func(machine.Removed) {
		if m.closing {
			m.proceed()
			return
		}
		m.round.number = 0
		m.deleteParts(roundDeletions(round, nil), m.proceed)
	})
}

// withdraw deletes the own znode, unless the round is decided first.
func (a *arrival) withdraw() {
	a.m.state = Withdrawing
	ops := []machine.Op{{Do: machine.Check, Path: a.m.roundPath(), Version: a.m.round.version}, deletion(a.path())}
	ask(a.m, machine.Transact{Ops: ops}, a.onWithdrawn)
}

func (a *arrival) onWithdrawn(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done, machine.NoNode:
		a.m.proceed()
	case machine.BadVersion: // the round has changed; an attempt whose reply was lost, or another client, may have deleted the own znode
		a.check(a.rank)
	case machine.Unknown:
		a.withdraw()
	default:
		a.m.stop(ev.Err)
	}
}
