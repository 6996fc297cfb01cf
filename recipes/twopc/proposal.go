package twopc

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Proposal is a transaction at one of its sites. It is safe for concurrent use.
type Proposal struct {
	site    *Site
	guid    string
	id      string
	payload []byte

	voting *vote    // the pending vote; these are guarded by the site's mutex
	acking *request // the pending acknowledgement

	offered *notify.Latch
	voted   atomic.Int32
	decision
}

// vote is a pending vote.
type vote struct {
	*request
	cast protocol.Cast
}

func newProposal(site *Site, e protocol.Propose) *Proposal {
	p := &Proposal{site: site, guid: e.GUID, id: e.ID, payload: e.Payload, offered: notify.NewLatch(), decision: decision{decided: notify.NewLatch()}}
	p.voted.Store(int32(e.Voted))
	return p
}

// ID is the transaction's id.
func (p *Proposal) ID() string { return p.id }

// Payload is the transaction's payload. It must not be changed.
func (p *Proposal) Payload() []byte { return p.payload }

// Voted is this site's vote, perhaps from before a restart: Committed, Aborted, or Undecided if it
// has not voted. A site that has voted to commit is bound by it, and waits for Decided.
func (p *Proposal) Voted() Outcome { return Outcome(p.voted.Load()) }

// Commit votes to commit, and returns when ZooKeeper has confirmed the vote. It is a promise:
// whatever happens to this process, it must be able to carry the transaction out if it is
// committed, and may not abort it any more. The same vote again is no error.
//
// ctx bounds the wait. If it ends first, the vote goes on, and binds this site: ask for the same
// vote again, or wait for Decided. Errors: [ErrDecided], [ErrVoted]; [ErrGone]; those of ZooKeeper,
// after which the vote is not written; session.ErrClosed, after which it may or may not be written:
// the next site with this name sees that.
func (p *Proposal) Commit(ctx context.Context) error {
	return p.cast(ctx, "vote to commit", protocol.Cast{GUID: p.guid, Commit: true})
}

// Abort votes to abort, which decides the transaction at once. Otherwise it is like Commit. The
// reason, at most 1,024 bytes, is stored in the record.
func (p *Proposal) Abort(ctx context.Context, reason string) error {
	const op = "vote to abort"
	if err := checkReason(reason); err != nil {
		return failed(op, p.path(), err)
	}
	return p.cast(ctx, op, protocol.Cast{GUID: p.guid, Reason: reason})
}

// Ack acknowledges the decision: this site has acted on it, durably, and does not need the
// transaction any more; it is not delivered again. When all parties have acknowledged, nothing is
// left of it in ZooKeeper. Errors: [ErrUndecided]; [ErrGone] if it was gone before its decision was
// known, in which case it is not delivered again either; session.ErrClosed, after which it may be
// delivered again; those of ZooKeeper, after which Ack may be tried again. ctx bounds the wait; if
// it ends first, the acknowledgement goes on.
func (p *Proposal) Ack(ctx context.Context) error {
	const op = "acknowledge"
	p.site.mu.Lock()
	if p.end.Err() != nil && p.site.open[p.guid] != p { // it is through here
		p.site.mu.Unlock()
		if err := p.end.Err(); !errors.Is(err, session.ErrReleased) {
			return failed(op, p.path(), err)
		}
		return nil
	}
	if p.acking == nil {
		p.acking = newRequest()
	}
	r := p.acking
	p.site.mu.Unlock()
	return failed(op, p.path(), p.ask(ctx, r, p.ack()))
}

// Done closes when there is nothing more to wait for. Err then says why.
func (p *Proposal) Done() <-chan struct{} { return p.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrReleased after Ack; [ErrGone];
// or session.ErrClosed with the site or its session, after which the transaction continues and is
// delivered again to the next site with this name.
func (p *Proposal) Err() error { return p.end.Err() }

func (p *Proposal) path() string { return p.site.root.Tx(p.id) }

func (p *Proposal) cast(ctx context.Context, op string, c protocol.Cast) error {
	p.site.mu.Lock()
	if err := p.end.Err(); err != nil {
		p.site.mu.Unlock()
		if errors.Is(err, session.ErrReleased) {
			err = ErrDecided
		}
		return failed(op, p.path(), err)
	}
	if p.voting == nil {
		p.voting = &vote{newRequest(), c}
	}
	v := p.voting
	p.site.mu.Unlock()
	if v.cast.Commit != c.Commit {
		return failed(op, p.path(), ErrVoted)
	}
	return failed(op, p.path(), p.ask(ctx, v.request, v.cast))
}

// ask tells the machine and waits for the answer.
func (p *Proposal) ask(ctx context.Context, r *request, ev machine.Event) error {
	if !p.site.host.Tell(ev) {
		<-p.site.host.Done() // under way: then everything has been answered
	}
	var err error
	select {
	case <-r.done.C():
	case <-p.site.host.Done():
		err = p.site.host.Err()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select {
	case <-r.done.C(): // the answer was there before
		return r.err
	default:
		return err
	}
}

func (p *Proposal) voteDone(err error) {
	p.site.mu.Lock()
	v := p.voting
	p.voting = nil
	p.site.mu.Unlock()
	switch {
	case v == nil:
		return
	case err == nil && v.cast.Commit:
		p.voted.Store(int32(Committed))
	case err == nil:
		p.voted.Store(int32(Aborted))
	}
	v.answer(err)
}

func (p *Proposal) ack() protocol.Ack {
	return protocol.Ack{GUID: p.guid, Known: p.Outcome() != Undecided}
}

func (p *Proposal) acked(err error) {
	p.site.mu.Lock()
	r := p.acking
	p.acking = nil
	p.site.mu.Unlock()
	r.answer(err)
}

func (p *Proposal) finish(err error) { p.end.Set(err) }

func isGone(err error) bool { return errors.Is(err, ErrGone) }
