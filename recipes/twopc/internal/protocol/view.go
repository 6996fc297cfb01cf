package protocol

import "github.com/troupe-go/troupe/machine"

// view is what a participant knows of a transaction's znodes: its record, and the votes that it
// watches. Both roles decide with it.
type view struct {
	requests *requests
	root     Root
	id       string
	rec      Record       // GUID is known from the start
	stat     machine.Stat // of the record
	known    bool         // rec is the current record, as far as this participant can know
	marked   bool         // the coordinator's mark existed at the last read
	record   *follower    // nil: the record is not followed in this epoch
	ballots  []*ballot
}

// ballot is what is known of a site's vote.
type ballot struct {
	*follower
	Vote
	voted   bool
	version int32
	missing bool // its znode is gone
	dead    bool // the site died without a vote
	told    bool // the application knows the vote
}

// path is that of a site's vote.
func (v *view) path(site string) string { return v.root.Vote(v.id, v.rec.GUID, site) }

func (v *view) mark() string { return v.root.Mark(v.id, v.rec.GUID) }

// follow watches the record, which changes once: when it is decided. seen is called for each read.
func (v *view) follow(seen func(machine.Seen)) {
	v.record = v.requests.await(v.root.Tx(v.id), seen)
}

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

// stop ends all watches.
func (v *view) stop() {
	v.record.stop()
	for _, b := range v.ballots {
		b.stop()
	}
}

// decided reports whether the outcome is known.
func (v *view) decided() bool { return v.rec.State != Undecided }

// read takes a read of a vote over.
func (b *ballot) read(ev machine.Seen) {
	b.voted, b.missing = ev.Exists && ev.Stat.Version > 0, !ev.Exists
	if b.voted {
		b.Vote, b.version = parseVote(b.Site, ev.Data), ev.Stat.Version
	}
}

// agreed reports whether all sites have voted to commit.
func (v *view) agreed() bool {
	for _, b := range v.ballots {
		if !b.voted || !b.Commit {
			return false
		}
	}
	return true
}

// decide writes a decision. It competes for the version of the record. A commit checks every vote;
// an abort because of the death of a site checks that this site has not voted. done gets the vote
// whose check failed, if that was the reason.
func (v *view) decide(rec Record, dead string, done func(ev machine.Transacted, changed *ballot)) {
	var ops []machine.Op
	var checked []*ballot // by operation; nil for the mark
	check := func(b *ballot, path string, version int32) {
		checked = append(checked, b)
		ops = append(ops, machine.Op{Do: machine.Check, Path: path, Version: version})
	}
	if v.marked {
		check(nil, v.mark(), machine.Any)
	}
	for _, b := range v.ballots {
		switch {
		case rec.State == Committed:
			check(b, v.path(b.Site), b.version)
		case b.Site == dead:
			check(b, v.path(b.Site), 0)
		}
	}
	ops = append(ops, machine.Op{Do: machine.Set, Path: v.root.Tx(v.id), Data: rec.bytes(), Version: v.stat.Version})
	v.requests.transact(func(ev machine.Transacted) {
		var changed *ballot
		if ev.Code != machine.Done && ev.Code != machine.Refused && ev.Failed >= 0 && ev.Failed < len(checked) {
			if changed = checked[ev.Failed]; changed == nil { // acknowledged by another coordinator, or deleted by another client
				v.marked = false
			}
		}
		done(ev, changed)
	}, ops...)
}
