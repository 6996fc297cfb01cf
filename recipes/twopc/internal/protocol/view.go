package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// view is what a participant has read of a transaction's record and votes. Both roles decide with
// it.
type view struct {
	zk      *dispatcher
	side    side
	root    Root
	id      string
	rec     Record        // GUID is known from the start
	stat    machine.Stat  // of the record
	follows *subscription // of the record; nil: not begun in this epoch
	ballots []*ballot
	busy    bool // a request is pending, whose reply the next step needs
}

// side is a transaction at one of its participants.
type side interface {
	advance()             // takes the next step, if it is possible now
	onUndecided()         // the record was read; the transaction is undecided
	onDecided(rec Record) // the decision is in ZooKeeper
	onGone()              // the transaction was deleted by another client, or in part
	onRefused(err error)  // ZooKeeper has refused a read or a decision
}

// ballot is a site's vote, as far as this participant knows it.
type ballot struct {
	*subscription
	Vote
	voted   bool
	version int32
	// At a coordinator.
	site     *subscription // of the site's presence
	presence machine.Seen  // the last read of that
	dead     bool          // the site has died; its vote is being read once more
}

func (v *view) path(site string) string { return v.root.Vote(v.id, v.rec.GUID, site) }

// fresh reports whether rec is the latest record, as far as this participant can know.
func (v *view) fresh() bool {
	return v.follows != nil && v.follows.last.Path != "" && !v.follows.reading
}

// watchRecord watches the record.
func (v *view) watchRecord() {
	v.follows = v.zk.follow(follower{path: v.root.Tx(v.id), once: true}, v.side.onRefused, func(ev machine.Seen) {
		rec, ok := ParseRecord(ev.Data)
		if !ok || rec.GUID != v.rec.GUID {
			v.side.onGone()
		} else if v.rec, v.stat = rec, ev.Stat; v.decided() {
			v.side.onDecided(rec)
		} else {
			v.follows.rearm()
			v.side.onUndecided()
		}
		v.side.advance()
	})
}

// watchVotes watches the votes, and calls seen for each read of one. A vote to abort or a missing
// vote needs no action: the record has the decision.
func (v *view) watchVotes(seen func(*ballot)) {
	if v.ballots == nil {
		for _, site := range v.rec.Sites {
			v.ballots = append(v.ballots, &ballot{Vote: Vote{Site: site}})
		}
	}
	for _, b := range v.ballots {
		b.subscription = v.zk.follow(follower{path: v.path(b.Site), once: true}, v.side.onRefused, func(ev machine.Seen) {
			if b.voted = ev.Stat.Version > 0; b.voted {
				b.Vote, b.version = ParseVote(b.Site, ev.Data), ev.Stat.Version
			} else if ev.Exists {
				b.rearm()
			}
			seen(b)
			v.side.advance()
		})
	}
}

func (v *view) stop() {
	v.follows.stop()
	for _, b := range v.ballots {
		b.stop()
		b.site.stop()
	}
}

// reset forgets the subscriptions, which end with their epoch. A write in flight may have been
// carried out.
func (v *view) reset() {
	v.follows, v.busy = nil, false
	for _, b := range v.ballots {
		b.subscription, b.site = nil, nil
	}
}

func (v *view) decided() bool { return v.rec.State != Undecided }

// allRead reports whether each vote was read.
func (v *view) allRead() bool {
	return !slices.ContainsFunc(v.ballots, func(b *ballot) bool { return b.last.Path == "" }) && v.ballots != nil
}

// agreed reports whether all sites have voted to commit.
func (v *view) agreed() bool {
	return !slices.ContainsFunc(v.ballots, func(b *ballot) bool { return !b.voted || !b.Commit }) && v.ballots != nil
}

// decide writes a decision. The write requires the version of the record, so only one decision
// succeeds, and the mark, so that it can't hit a later transaction with the same id. A commit
// checks every vote; if such a check fails, another client has changed that vote, and the decision
// is to abort.
func (v *view) decide(rec Record) {
	v.busy = true
	const markCheck, votes = 1, 2 // indexes of ops
	ops := []machine.Op{
		{Do: machine.Set, Path: v.root.Tx(v.id), Data: rec.bytes(), Version: v.stat.Version},
		{Do: machine.Check, Path: v.root.mark(v.id, v.rec.GUID), Version: machine.Any},
	}
	if rec.State == Committed {
		for _, b := range v.ballots {
			ops = append(ops, machine.Op{Do: machine.Check, Path: v.path(b.Site), Version: b.version})
		}
	}
	v.zk.transact(func(ev machine.Transacted) {
		v.busy = false
		switch {
		case v.decided(): // a decision was seen meanwhile
		case ev.Code == machine.Done:
			v.side.onDecided(rec)
		case ev.Code == machine.Refused:
			v.side.onRefused(ev.Err)
		case ev.Failed == markCheck: // the record has this version, and no mark: a write to it tells all participants that wait
			ops[0].Data, ops[markCheck].Path = nil, v.root.payload(v.id, v.rec.GUID)
			v.zk.transact(func(machine.Transacted) {}, ops[:votes]...)
			v.side.onGone()
		case ev.Failed >= votes:
			v.decide(v.rec.decided(Aborted, "", "another client has changed the vote of site "+v.ballots[ev.Failed-votes].Site))
			return
		default:
			v.follows.readNow()
		}
		v.side.advance()
	}, ops...)
}

// deleteOwn deletes the znodes of a participant that does not need the transaction any more; own[0]
// is a child of the record. The last participant deletes the whole transaction in the same
// ZooKeeper transaction. Any other participant checks, in its ZooKeeper transaction, that another
// one is still there. So nothing is left behind, even if processes die. The last site also deletes
// the payload, which the coordinator does not need. A missing znode was deleted before, and the
// reply was lost; or another client has deleted it, or another coordinator that had the
// transaction.
func (v *view) deleteOwn(done func(error), own ...string) {
	record, payload, mark := v.root.Tx(v.id), v.root.payload(v.id, v.rec.GUID), v.root.mark(v.id, v.rec.GUID)
	v.zk.list(record, func(ev machine.Listed) {
		if ev.Code != machine.Done && ev.Code != machine.NoNode {
			done(ev.Err)
			return
		}
		var others []string // the znodes of other participants, or of other clients
		for _, name := range slices.Sorted(slices.Values(ev.Names)) {
			if path := record + "/" + name; path != payload && path != own[0] {
				others = append(others, path)
			}
		}
		lastSite := !slices.ContainsFunc(others, func(path string) bool { return path != mark }) // or the coordinator, with no site left
		var ops []machine.Op
		for _, path := range own {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
		}
		if lastSite && slices.Contains(ev.Names, payload[len(record)+1:]) {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: payload, Version: machine.Any})
		}
		if len(others) == 0 && ev.Code == machine.Done {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: record, Version: machine.Any})
		} else if len(others) > 0 { // the next one, so that the participants do not all check the same znode
			next, _ := slices.BinarySearch(others, own[0])
			ops = append(ops, machine.Op{Do: machine.Check, Path: others[next%len(others)], Version: machine.Any})
		}
		v.zk.transact(func(ev machine.Transacted) {
			foreign := ev.Code == machine.NotEmpty && (ev.Failed < 0 || ops[ev.Failed].Path != record) // another client has created a znode below one of these
			if ev.Code == machine.NoNode && ev.Failed >= 0 && ev.Failed < len(own) {
				own, ev.Err = slices.Delete(own, ev.Failed, ev.Failed+1), nil
			}
			if len(own) == 0 || foreign || ev.Code == machine.Done || ev.Code == machine.Refused {
				done(ev.Err)
				return
			}
			v.deleteOwn(done, own...) // another participant was quicker, or the reply was lost
		}, ops...)
	})
}
