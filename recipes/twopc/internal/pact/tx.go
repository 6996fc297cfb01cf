package pact

import "github.com/troupe-go/troupe/machine"

// tx is one transaction at its coordinator.
type tx struct {
	c       *Coordinator
	n       uint64
	id      string
	guid    string
	payload []byte
	sites   []string
	peers   bool

	phase    Phase
	admitted bool   // every site has room for it
	sent     bool   // it may have begun, or been taken over
	floor    int64  // the begin's znodes have larger zxids than this
	busy     bool   // a request is pending
	other    string // the coordinator to wait for, without a transaction
	probing  bool   // the pending request asks whether its coordinator is alive
	record   *follower
	rec      Record
	version  int32
	known    bool // rec is the current record, as far as this coordinator can know
	marked   bool // the coordinator's mark existed at the last read
	ballots  []*ballot
	cause    *cause // why it must be aborted
	timing   bool
	relax    func() // cancels the timer of the votes
	told     bool   // the application knows the outcome
	shared   Shared // with other coordinators, which may not know the outcome
	czxid    int64  // of the record
	refusal  error  // a refused read, while the decision is being written
	hindered error  // the last refusal
	refusals int
	pausing  func() // cancels the pause after a refusal; nil: none
}

// ballot is what is known of a site's vote.
type ballot struct {
	*follower
	site    string
	voted   bool
	commit  bool
	reason  string
	version int32
	missing bool // its znode is gone
	dead    bool // the site died without a vote
	told    bool
	refused int // number of refused reads in a row
}

func (t *tx) move(to Phase) {
	if t.c.moved != nil && t.phase != to {
		t.c.moved(t.phase, to)
	}
	t.phase = to
}

// reset forgets the state of the epoch. A write in flight may have been carried out.
func (t *tx) reset() {
	t.busy, t.probing, t.known, t.record, t.refusal = false, false, false, nil, nil
	t.rouse()
	for _, b := range t.ballots {
		b.follower = nil
	}
	if t.phase == Deciding {
		t.move(Open)
	}
}

// advance takes the next step, if that is possible now.
func (t *tx) advance() {
	if t.busy || !t.c.presence.standing || t.c.presence.leaving {
		return
	}
	switch t.phase {
	case Beginning:
		switch {
		case t.sent:
			t.resolve()
		case t.cause == nil:
			t.begin()
		default:
			t.refuse(ErrWithdrew)
		}
	case Claiming:
		t.claim()
	case Open:
		t.follow()
	case Settling:
		t.settle()
	}
}

// giveUp aborts the transaction, with the first reason that was given.
func (t *tx) giveUp(reason string) {
	if t.cause == nil || t.cause.dead != "" { // a death counts only while the site has not voted
		t.cause = &cause{reason: reason}
	}
	switch {
	case t.phase == Claiming && t.probing: // it belongs to another coordinator
		t.refuse(ErrWithdrew)
	case t.busy:
	case t.phase == Open:
		t.weigh()
	case (t.phase == Beginning || t.phase == Claiming) && !t.sent:
		t.refuse(ErrWithdrew)
	}
}

// opened is called when the transaction exists in ZooKeeper and belongs to this coordinator.
func (t *tx) opened() {
	t.busy, t.payload, t.marked = false, nil, true
	t.move(Open)
	t.follow()
}

// follow watches the record, the votes, and the presences of the sites that have not voted.
func (t *tx) follow() {
	if t.record != nil || t.c.desk.epoch == 0 {
		return
	}
	if t.ballots == nil {
		for _, site := range t.sites {
			t.ballots = append(t.ballots, &ballot{site: site})
		}
	}
	if !t.timing && t.hindered == nil {
		t.timing = true
		t.relax = t.c.desk.pause(t.c.timeout, t.overdue)
	}
	t.record = t.c.desk.await(t.c.root.Tx(t.id), t.onRecord)
	if t.hindered != nil { // it will be aborted, which needs only the record
		return
	}
	for _, b := range t.ballots {
		b.follower = t.c.desk.await(t.c.root.Vote(t.id, t.guid, b.site), func(ev machine.Seen) { t.onVote(b, ev) })
		if !b.voted {
			t.c.attend(b.site, t)
		}
	}
}

func (t *tx) onRecord(ev machine.Seen) {
	rec, ok := parseRecord(ev.Data)
	switch {
	case ev.Code == machine.Refused:
		t.refused(ev.Err)
	case !ev.Exists, !ok, rec.GUID != t.guid:
		t.bereaved()
	default:
		t.rec, t.version, t.known, t.czxid = rec, ev.Stat.Version, true, ev.Stat.Czxid
		t.peers = rec.Peers
		if rec.State != Undecided {
			t.decided(rec)
			return
		}
		t.record.rearm()
		t.weigh()
	}
}

func (t *tx) onVote(b *ballot, ev machine.Seen) {
	b.voted, b.missing = false, false
	switch {
	case ev.Code == machine.Refused:
		t.refused(ev.Err)
	case !ev.Exists: // already acknowledged, so the record has the decision; or another client deleted it
		b.missing = true
		t.look()
	case ev.Stat.Version == 0: // not written yet
		b.rearm()
	default:
		vote := parseVote(b.site, ev.Data)
		b.voted, b.commit, b.reason, b.version = true, vote.Commit, vote.Reason, ev.Stat.Version
		t.tell(b, vote)
		t.c.release(b.site, t)
		if !vote.Commit { // the vote aborted the transaction, unless another client wrote it
			t.look()
			return
		}
		t.weigh()
	}
}

func (t *tx) tell(b *ballot, vote Vote) {
	if !b.told {
		b.told = true
		t.c.desk.do(Voted{N: t.n, Vote: vote})
	}
}

// look reads the record again before anything is decided.
func (t *tx) look() {
	t.known = false
	t.record.look()
}

// unfollow stops watching.
func (t *tx) unfollow() {
	if t.relax != nil {
		t.relax()
		t.relax = nil
	}
	t.record.stop()
	for _, b := range t.ballots {
		b.stop()
		t.c.release(b.site, t)
	}
}

// decided is called when the decision is in ZooKeeper.
func (t *tx) decided(rec Record) {
	t.busy, t.rec = false, rec
	t.unfollow()
	for _, b := range t.ballots {
		if b.site == rec.By {
			t.tell(b, Vote{Site: rec.By, Reason: rec.Reason})
		}
	}
	t.announce(rec)
	t.c.sweeper.keep(outcome{id: t.id, guid: t.guid, czxid: t.czxid})
	t.c.desk.do(Over{N: t.n, Czxid: t.czxid})
	t.over()
}

func (t *tx) announce(rec Record) {
	if !t.told {
		t.told = true
		t.c.desk.do(Decided{N: t.n, Outcome: rec.State, By: rec.By, Reason: rec.Reason, Shared: rec.shared()})
	}
}

// fail ends the transaction at this coordinator without an outcome.
func (t *tx) fail(err error) {
	t.unfollow()
	t.c.desk.do(Failed{N: t.n, Err: err})
	t.over()
}

// over forgets the transaction.
func (t *tx) over() {
	t.rouse()
	t.move(Ended)
	t.c.forget(t.n)
}
