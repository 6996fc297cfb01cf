package pact

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// cause is the reason for an abort.
type cause struct {
	by     string // the site that voted to abort
	dead   string // the site that died; only while it has not voted
	reason string
}

// weigh decides if enough is known to decide.
func (t *tx) weigh() {
	if t.phase != Open || t.busy || !t.known || t.record == nil {
		return
	}
	all := true
	for _, b := range t.ballots {
		all = all && b.voted && b.commit
		switch {
		case t.cause != nil:
		case b.missing:
			t.cause = &cause{reason: fmt.Sprintf("the vote of site %q is gone", b.site)}
		case b.voted && !b.commit:
			t.cause = &cause{by: b.site, reason: b.reason}
		case b.dead && !b.voted:
			t.cause = &cause{dead: b.site, reason: fmt.Sprintf("site %q died before it voted", b.site)}
		}
	}
	if all && t.relax != nil {
		t.relax() // no vote is waited for any more
		t.relax = nil
	}
	switch {
	case t.cause != nil:
		t.decide(t.rec.decided(Aborted, t.cause.by, t.cause.reason))
	case all && !t.peers && t.rec.Coordinator == t.c.guid:
		t.decide(t.rec.decided(Committed, "", ""))
	}
}

// decide writes the decision. It competes for the version of the record, and a commit checks every
// vote.
func (t *tx) decide(rec Record) {
	t.busy = true
	t.move(Deciding)
	var ops []machine.Op
	var checked []*ballot // by operation
	check := func(b *ballot, path string, version int32) {
		checked = append(checked, b)
		ops = append(ops, machine.Op{Do: machine.Check, Path: path, Version: version})
	}
	if t.marked {
		check(nil, t.c.root.Open(t.id, t.guid), machine.Any)
	}
	for _, b := range t.ballots {
		switch {
		case rec.State == Committed:
			check(b, t.c.root.Vote(t.id, t.guid, b.site), b.version)
		case b.site == t.cause.dead:
			check(b, t.c.root.Vote(t.id, t.guid, b.site), 0)
		}
	}
	ops = append(ops, machine.Op{Do: machine.Set, Path: t.c.root.Tx(t.id), Data: rec.bytes(), Version: t.version})
	t.c.desk.transact(func(ev machine.Transacted) { t.wrote(ev, rec, checked) }, ops...)
}

func (t *tx) wrote(ev machine.Transacted, rec Record, checked []*ballot) {
	if t.phase != Deciding { // seen to be decided, or gone, meanwhile
		return
	}
	t.busy = false
	switch ev.Code {
	case machine.Done:
		t.decided(rec)
		return
	case machine.Refused:
		t.refusal = ev.Err
	}
	t.move(Open)
	if err := t.refusal; err != nil {
		t.refusal = nil
		t.hinder(err)
		return
	}
	if ev.Failed >= 0 && ev.Failed < len(checked) {
		b := checked[ev.Failed]
		switch {
		case b == nil: // the mark is gone: another coordinator has settled the transaction, or another client deleted the mark
			t.marked = false
		case rec.State == Aborted: // the site voted before it died
			b.dead = false
			if t.cause != nil && t.cause.dead == b.site {
				t.cause = nil
			}
			b.look()
		default:
			b.voted = false
			b.look()
		}
	}
	t.look()
}

// overdue handles the end of the vote timeout.
func (t *tx) overdue() {
	t.relax = nil
	var late []string
	for _, b := range t.ballots {
		if !b.voted {
			late = append(late, fmt.Sprintf("%q", b.site))
		}
	}
	t.giveUp("no vote in time from " + strings.Join(late, ", "))
}

// died handles the death of a site.
func (t *tx) died(b *ballot) {
	if b.voted {
		return
	}
	b.dead = true
	t.weigh()
}
