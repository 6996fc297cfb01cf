package double

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// arrival is a party's znode in an open round, until the round is decided.
type arrival struct {
	m                 *Machine
	name              string        // of the own znode
	rank              int           // which arrival it was, at least
	czxid             int64         // of the own znode; 0 until it was seen
	seen              *machine.Seen // the round; nil until it was read
	roundWatched      bool          // the round's data are
	ownGone           bool          // the own znode was deleted during a decision
	roundChanged      bool          // the round changed during a decision
	arrivedKnown      bool          // arrived is known
	arrived           int32         // how many had arrived before the parties were listed
	nextExists        bool          // there is a next round already, against all rules
	withdrawalUnknown bool          // it was asked to be withdrawn, and the reply was lost
}

// path is that of the own znode.
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
	switch {
	case ev.Code == machine.Done:
		a.check(int(ev.Results[2].Stat.Version))
		a.arrivedKnown, a.arrived = true, ev.Results[2].Stat.Version
	case ev.Code == machine.Unknown:
		a.m.state = Resolving
		ask(a.m, machine.Read{Path: a.path()}, a.onFound)
	case ev.Code == machine.NoNode && ev.Failed == 2:
		a.m.round.unread = true
		a.restore(a.m.cfg.Parties, []string{departures}, a.findAgain)
	default:
		a.m.round.unread = a.m.round.unread || ev.Code == machine.BadVersion || ev.Failed > 0 // another client deleted parts of it
		a.findAgain(ev)
	}
}

// findAgain searches for the newest round, if this party still wants one, and was not refused.
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
		a.check(a.m.cfg.Parties) // which arrival it was is not known: it may have been the last
	default:
		a.m.proceed()
	}
}

// check reads the own znode and the round, and watches both. The own znode is listed: that watch
// reports only its end, which comes once.
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

// onOwnGone: the own znode does not exist. If the round is not released with this party in it, the
// party arrives again.
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

// reread reads the round again. The watch that fired is set again only if there is still something
// to wait for, which the answer tells.
func (a *arrival) reread(watch bool) {
	a.m.state = Waiting
	a.seen, a.roundChanged, a.roundWatched, a.arrivedKnown = nil, false, watch, false
	askFor(a.m, roundRead, machine.Read{Path: a.m.roundPath(), Watch: watch}, a.onRound)
}

// advance takes the next step according to the round's data, when they and the own znode have been
// seen.
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

// onVerdict: the round is decided, by whichever party. Even the one that released it need not be a
// member: a later process of its id is.
func (a *arrival) onVerdict(v Verdict) {
	me, member := position(v.Names, a.name)
	switch {
	case member:
		a.released(v.Names, me)
	case v.Kind == Released && a.ownGone:
		a.m.proceed()
	case v.Kind == Released && nameOf(v.Names, a.m.cfg.ID) != "":
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
	case v.Parties != a.m.cfg.Parties: // left over from when there were more parties, or fewer, if all who are present agree: their names tell
		a.list()
	case a.rank >= a.m.cfg.Parties && present >= a.m.cfg.Parties-fixtures: // another client may have deleted those
		a.count()
	}
}

// released: this party is a member of the round.
func (a *arrival) released(names []string, me int) {
	m := a.m
	m.member = &member{m: m, round: m.round.number, names: names, me: me, token: a.czxid}
	m.round.number, m.round.version = m.round.number+1, 0
	if len(m.claims) == 0 {
		m.proceed() // the claim was withdrawn: it leaves
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

// excluded: this party is not a member of the round. It deletes its znode. The round is deleted by
// its last party; while there are others, that transaction fails.
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
	switch {
	case ev.Code == machine.Done, ev.Code == machine.NoNode:
		a.m.proceed()
	case ev.Code == machine.BadVersion && a.withdrawalUnknown: // the decision came before the repetition; the first attempt may have been carried out before it
		a.check(a.rank)
	case ev.Code == machine.BadVersion:
		a.reread(true)
	case ev.Code == machine.Unknown:
		a.withdrawalUnknown = true
		a.withdraw()
	default:
		a.m.stop(ev.Err)
	}
}
