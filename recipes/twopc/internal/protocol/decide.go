package protocol

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

// abortFor notes a reason for an abort, unless there is one already. A death counts only while the
// site has not voted.
func (t *tx) abortFor(reason string) {
	if t.cause == nil || t.cause.dead != "" {
		t.cause = &cause{reason: reason}
	}
}

// weigh decides if enough is known to decide.
func (t *tx) weigh() {
	if t.phase != Preparing || t.pending != nothing || !t.known || t.record == nil {
		return
	}
	for _, b := range t.ballots {
		switch {
		case t.cause != nil:
		case b.missing:
			t.cause = &cause{reason: fmt.Sprintf("the vote of site %q is gone", b.Site)}
		case b.voted && !b.Commit:
			t.cause = &cause{by: b.Site, reason: b.Reason}
		case b.dead && !b.voted:
			t.cause = &cause{dead: b.Site, reason: fmt.Sprintf("site %q died before it voted", b.Site)}
		}
	}
	all := t.agreed()
	if all && t.stopTimer != nil {
		t.stopTimer() // no vote is waited for any more
	}
	switch {
	case t.cause != nil:
		t.write(t.rec.decided(Aborted, t.cause.by, t.cause.reason))
	case all && !t.rec.Peers && t.rec.Coordinator == t.c.guid:
		t.write(t.rec.decided(Committed, "", ""))
	}
}

// write writes the decision.
func (t *tx) write(rec Record) {
	t.pending = reply
	t.move(Deciding)
	dead := ""
	if t.cause != nil {
		dead = t.cause.dead
	}
	t.decide(rec, dead, func(ev machine.Transacted, changed *ballot) { t.wrote(ev, rec, changed) })
}

func (t *tx) wrote(ev machine.Transacted, rec Record, changed *ballot) {
	if t.phase != Deciding { // seen to be decided, or gone, meanwhile
		return
	}
	t.pending = nothing
	switch ev.Code {
	case machine.Done:
		t.conclude(rec)
		return
	case machine.Refused:
		t.denial.deferred = ev.Err
	}
	t.move(Preparing)
	if err := t.denial.deferred; err != nil {
		t.denial.deferred = nil
		t.denied(err)
		return
	}
	switch {
	case changed == nil:
	case rec.State == Aborted: // the site voted before it died
		changed.dead = false
		if t.cause != nil && t.cause.dead == changed.Site {
			t.cause = nil
		}
		changed.look()
	default:
		changed.voted = false
		changed.look()
	}
	t.look()
}

// overdue handles the end of the vote timeout.
func (t *tx) overdue() {
	var late []string
	for _, b := range t.ballots {
		if !b.voted {
			late = append(late, fmt.Sprintf("%q", b.Site))
		}
	}
	t.giveUp("no vote in time from " + strings.Join(late, ", "))
}

// siteDied handles the death of a site.
func (t *tx) siteDied(b *ballot) {
	if !b.voted {
		b.dead = true
		t.weigh()
	}
}
