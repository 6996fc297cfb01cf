package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// participant is what the machines of both roles have in common.
type participant struct {
	requests *requests
	root     Root
	presence *presence
	closing  bool
	stopped  bool
}

// Phase returns the state, for the live tree.
func (p *participant) Phase() string {
	switch {
	case p.stopped:
		return "over"
	case p.closing:
		return "closing"
	case p.presence.state != registered:
		return "not registered"
	}
	return "registered"
}

// windUp stops the machine when nothing is left to do. The presence is deleted first, so that no
// process takes this participant for a live one. One that is not known to exist is left to the
// host.
func (p *participant) windUp() {
	switch p.presence.state {
	case leaving:
	case registered:
		p.presence.leave(func() { p.stop(nil) })
	default:
		p.stop(nil)
	}
}

func (p *participant) stop(err error) {
	if !p.stopped {
		p.stopped = true
		p.requests.Emit(machine.Stop{Err: err})
	}
}

// view is what a participant knows of a transaction's znodes: its record, and the votes that it
// watches. Both roles decide with it.
type view struct {
	requests *requests
	root     Root
	id       string
	rec      Record       // GUID is known from the start
	stat     machine.Stat // of the record
	known    bool         // rec is the current record, as far as this participant can know
	unmarked bool         // another client has deleted the coordinator's mark
	record   *following   // nil: the record is not followed in this epoch
	ballots  []*ballot
}

// ballot is what is known of a site's vote.
type ballot struct {
	*following
	Vote
	voted   bool
	version int32
	missing bool // its znode is gone

	site  *following   // of the site's presence, at a coordinator
	alive machine.Seen // that presence
	dead  bool         // the site has died; the vote is read again
}

// path is that of a site's vote.
func (v *view) path(site string) string { return v.root.vote(v.id, v.rec.GUID, site) }

// read takes a read of the record over. It returns false if the transaction is gone.
func (v *view) read(ev machine.Seen) bool {
	rec, ok := parseRecord(ev.Data)
	if !ev.Exists || !ok || rec.GUID != v.rec.GUID {
		return false
	}
	v.rec, v.stat, v.known = rec, ev.Stat, true
	return true
}

// look reads the record again before anything is concluded from it.
func (v *view) look() {
	v.known = false
	v.record.look()
}

// awaitVotes watches the votes, and calls seen for each read of one.
func (v *view) awaitVotes(refused func(error), seen func(*ballot)) {
	if v.ballots == nil {
		for _, site := range v.rec.Sites {
			v.ballots = append(v.ballots, &ballot{Vote: Vote{Site: site}})
		}
	}
	for _, b := range v.ballots {
		b.following = v.requests.follow(follower{path: v.path(b.Site), once: true}, refused, func(ev machine.Seen) {
			b.voted, b.missing = ev.Exists && ev.Stat.Version > 0, !ev.Exists
			if b.voted {
				b.Vote, b.version = parseVote(b.Site, ev.Data), ev.Stat.Version
			}
			if b.missing || b.voted && !b.Commit { // the record has the decision, unless another client interfered
				v.look()
			} else if !b.voted {
				b.rearm()
			}
			seen(b)
		})
	}
}

// stop ends all watches.
func (v *view) stop() {
	v.record.stop()
	for _, b := range v.ballots {
		b.stop()
		b.site.stop()
	}
}

// reset forgets the watches, which end with their epoch.
func (v *view) reset() {
	v.known, v.record = false, nil
	for _, b := range v.ballots {
		b.following, b.site = nil, nil
	}
}

// decided reports whether the outcome is known.
func (v *view) decided() bool { return v.rec.State != Undecided }

// counted reports whether each vote was read.
func (v *view) counted() bool {
	return !slices.ContainsFunc(v.ballots, func(b *ballot) bool { return b.last.Path == "" }) && v.ballots != nil
}

// agreed reports whether all sites have voted to commit.
func (v *view) agreed() bool {
	for _, b := range v.ballots {
		if !b.voted || !b.Commit {
			return false
		}
	}
	return len(v.ballots) > 0
}

// decide writes a decision. It competes for the version of the record, and checks the mark, so that
// it can't hit a later transaction with the same id. A commit checks every vote; if such a check
// fails, that vote is read again. The record is read again unless done is called with Done or
// Refused.
func (v *view) decide(rec Record, done func(ev machine.Transacted)) {
	var ops []machine.Op
	var checked []*ballot // by operation; nil for the mark
	check := func(b *ballot, path string, version int32) {
		checked = append(checked, b)
		ops = append(ops, machine.Op{Do: machine.Check, Path: path, Version: version})
	}
	if !v.unmarked {
		check(nil, v.root.mark(v.id, v.rec.GUID), machine.Any)
	}
	if rec.State == Committed {
		for _, b := range v.ballots {
			check(b, v.path(b.Site), b.version)
		}
	}
	ops = append(ops, machine.Op{Do: machine.Set, Path: v.root.Tx(v.id), Data: rec.bytes(), Version: v.stat.Version})
	v.requests.transact(func(ev machine.Transacted) {
		if ev.Code != machine.Done && ev.Code != machine.Refused {
			if ev.Failed >= 0 && ev.Failed < len(checked) {
				if b := checked[ev.Failed]; b == nil {
					v.unmarked = true
				} else {
					b.voted = false
					b.look()
				}
			}
			v.look()
		}
		done(ev)
	}, ops...)
}

// depart deletes the znodes of a participant that needs the transaction no more, the first of which
// is a child of the record. The last participant deletes the whole transaction in the same
// ZooKeeper transaction. Any other checks, in its own, that another one is still there. So nothing
// is left behind, whichever process dies and when. The last site also deletes the payload, which
// the coordinator does not need. done gets NoNode if the participant's znodes, or some, are gone.
func (v *view) depart(done func(machine.Code, error), own ...string) {
	record, payload, mark := v.root.Tx(v.id), v.root.payload(v.id, v.rec.GUID), v.root.mark(v.id, v.rec.GUID)
	v.requests.list(record, func(ev machine.Listed) {
		if ev.Code != machine.Done {
			done(ev.Code, ev.Err)
			return
		}
		var others []string // the participants that are still there; or another client's znodes
		last := true
		for _, name := range slices.Sorted(slices.Values(ev.Names)) {
			if path := record + "/" + name; path != payload && path != own[0] {
				others = append(others, path)
				last = last && path == mark
			}
		}
		var ops []machine.Op
		for _, path := range own {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
		}
		if last && slices.Contains(ev.Names, payload[len(record)+1:]) {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: payload, Version: machine.Any})
		}
		if len(others) == 0 {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: record, Version: machine.Any})
		} else { // the next one, so that not all check the same
			next, _ := slices.BinarySearch(others, own[0])
			ops = append(ops, machine.Op{Do: machine.Check, Path: others[next%len(others)], Version: machine.Any})
		}
		v.requests.transact(func(ev machine.Transacted) {
			if ev.Code == machine.Done || ev.Code == machine.Refused || ev.Code == machine.NoNode && ev.Failed < len(own) {
				done(ev.Code, ev.Err)
				return
			}
			v.depart(done, own...) // another participant was quicker, or the reply was lost
		}, ops...)
	})
}
