package twopc

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Site is a participant in transactions, under one name. It is safe for concurrent use.
type Site struct {
	session   *session.Session
	path      string
	root      protocol.Root
	host      *recipe.Host
	proposals *notify.Stream[*Proposal]

	mu   sync.Mutex // guards open, and in it the application's requests, which outlive a crash of the machine
	open map[string]*Proposal
}

// NewSite creates the site with a name, under the path that it shares with its coordinators. It
// does not wait: the site registers in the background, as soon as the session is connected, and
// stays registered, in every epoch, until it is closed. A name belongs to one site. If another site
// with the name is alive, the later one ends with [ErrDuplicate]. If the other site has died and
// its session has not expired yet, the later one waits for the expiry. Errors name the invalid
// argument; for a closed session the error is session.ErrClosed.
func NewSite(s *session.Session, path, name string, opts ...Option) (*Site, error) {
	const op = "twopc.NewSite"
	o, err := configure(op, s, path, true, opts)
	if err != nil {
		return nil, err
	}
	if err := checkName("name", name); err != nil {
		return nil, recipe.Failed(s, op, path, err)
	}
	site := &Site{session: s, path: path, root: protocol.Root(path), proposals: notify.NewStream[*Proposal](math.MaxInt), open: map[string]*Proposal{}}
	guid := string(znode.NewGUID())
	site.mu.Lock() // until the host is set, so that no effect uses it before
	defer site.mu.Unlock()
	site.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "twopc site " + name, Recipe: "twopc", Name: name, Path: path, ACL: o.acl,
		Machine:  func() machine.Machine { return protocol.NewSite(site.root, name, guid) },
		Standing: site.standing,
		Perform:  site.perform,
		Ended:    site.endAll,
	})
	if err != nil {
		return nil, recipe.Failed(s, op, path, err)
	}
	recipe.AfterStart(s, func() {}) // starts the session, unless it is deferred
	return site, nil
}

// Proposals delivers each transaction that asks for this site's vote, once, in the order in which
// they began; receivers compete. Transactions that this site has not acknowledged are delivered
// again after a restart of the process, with or without a vote, decided or not. So check
// [Proposal.Voted] first. At most 256 are with the application at a time, received or not; the
// others stay in ZooKeeper and are delivered when some are acknowledged. The channel closes with
// Done.
func (s *Site) Proposals() <-chan *Proposal { return s.proposals.C() }

// Done closes when the site has ended: by Close, with its session, or because of a permanent
// failure, such as [ErrDuplicate] or a refusal by ZooKeeper. Err then says why.
func (s *Site) Done() <-chan struct{} { return s.host.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (s *Site) Err() error { return s.host.Err() }

// Close ends the site and returns when ZooKeeper has confirmed the pending votes and the deletion
// of the site's presence. Coordinators abort the transactions on which the site has not voted.
// Those that it voted to commit continue without it, and are delivered again when it is back. If
// ctx ends first, its cause is returned, and the rest goes on in the background until the epoch
// ends. Close is idempotent.
func (s *Site) Close(ctx context.Context) error {
	return recipe.Failed(s.session, "close", s.path, s.host.Close(ctx))
}

func (s *Site) standing() []machine.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []machine.Event
	for _, p := range s.open {
		all = append(all, p.offer)
		if p.voting != nil {
			all = append(all, p.vote)
		}
		if p.acking != nil {
			all = append(all, protocol.Ack{GUID: p.offer.GUID})
		}
	}
	return all
}

func (s *Site) proposal(guid string) *Proposal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[guid]
}

// perform passes the machine's effects to the proposals. The actor calls it. Each effect after
// Propose finds its proposal in open: the last one is an Acked that ends it.
func (s *Site) perform(e machine.Effect) {
	switch e := e.(type) {
	case protocol.Propose:
		p := &Proposal{site: s, offer: e}
		p.voted.Store(int32(e.Voted))
		s.mu.Lock()
		s.open[e.GUID] = p
		s.mu.Unlock()
		s.proposals.Send(p) // the machine delivers at most its window; the rest stays in ZooKeeper
	case protocol.CastDone:
		p := s.proposal(e.GUID)
		p.voted.CompareAndSwap(int32(Undecided), int32(e.Voted)) // a vote never changes
		if e.Err == nil {
			s.host.Emit(session.Event{Kind: session.EventVoted, Name: p.ID(), To: Outcome(e.Voted).String()})
		}
		p.take(&p.voting).answer(e.Err)
	case protocol.Learned:
		if p := s.proposal(e.GUID); e.Outcome != protocol.Undecided {
			p.decide(s.host, p.ID(), e.Outcome, e.Reason)
		} else if p.Outcome() == Undecided {
			p.finish(ErrGone)
		}
	case protocol.Acked:
		switch p := s.proposal(e.GUID); {
		case errors.Is(e.Err, ErrGone) && p.Outcome() == Undecided:
			p.endWith(ErrGone, ErrDecided, ErrGone)
		case e.Err == nil || errors.Is(e.Err, ErrGone):
			p.endWith(session.ErrReleased, ErrDecided, nil)
		default: // the application may try again
			p.take(&p.acking).answer(e.Err)
		}
	}
}

// endAll ends all proposals when the host has ended, so that no caller waits any longer.
func (s *Site) endAll(err error) {
	s.proposals.Close()
	s.mu.Lock()
	open := maps.Clone(s.open)
	s.mu.Unlock()
	for _, p := range open {
		p.endWith(err, err, err)
	}
}

// Proposal is a transaction at one of its sites. It is safe for concurrent use.
type Proposal struct {
	site  *Site
	offer protocol.Propose

	// With the site's mutex.
	voting *call         // the pending vote; nil: none
	vote   protocol.Cast // which that is
	acking *call         // the pending acknowledgement; nil: none

	voted atomic.Int32
	decision
}

// ID is the transaction's id.
func (p *Proposal) ID() string { return p.offer.ID }

// Payload is the transaction's payload. It must not be changed.
func (p *Proposal) Payload() []byte { return p.offer.Payload }

// Voted is this site's vote, perhaps from before a restart: Committed, Aborted, or Undecided if
// there is none. A vote to commit binds the site: it has to wait for Decided.
func (p *Proposal) Voted() Outcome { return Outcome(p.voted.Load()) }

// VoteCommit votes to commit, and returns when ZooKeeper has confirmed the vote. It is a promise:
// even after a restart this process must be able to carry the transaction out if it is committed,
// and may not abort it any more. The same vote again is no error.
//
// ctx bounds the wait. If it ends first, the vote goes on, and binds this site: ask for the same
// vote again, or wait for Decided. Errors: [ErrDecided], [ErrVoted]; [ErrGone]; those of ZooKeeper,
// after which the vote is not written; session.ErrClosed, after which it may or may not be written:
// the next site with this name sees whether it is.
func (p *Proposal) VoteCommit(ctx context.Context) error {
	return recipe.Failed(p.site.session, "vote to commit", p.path(), p.cast(ctx, protocol.Cast{GUID: p.offer.GUID, Commit: true}))
}

// VoteAbort votes to abort, which decides the transaction at once. Otherwise it is like VoteCommit.
// The reason, at most 1,024 bytes, is stored in the record.
func (p *Proposal) VoteAbort(ctx context.Context, reason string) error {
	err := checkLength("reason", reason)
	if err == nil {
		err = p.cast(ctx, protocol.Cast{GUID: p.offer.GUID, Reason: reason})
	}
	return recipe.Failed(p.site.session, "vote to abort", p.path(), err)
}

func (p *Proposal) cast(ctx context.Context, c protocol.Cast) error {
	p.site.mu.Lock()
	err := p.end.Err()
	if err == nil && p.voting == nil {
		p.voting, p.vote = new(call), c
	}
	r, vote := p.voting, p.vote
	if err == nil && vote.Commit == c.Commit {
		p.site.host.Tell(vote) // in the order of the calls; endAll answers if the host has ended
	}
	p.site.mu.Unlock()
	switch {
	case errors.Is(err, session.ErrReleased):
		return ErrDecided
	case err != nil:
		return err
	case vote.Commit != c.Commit:
		return ErrVoted
	}
	return r.wait(ctx)
}

// Ack acknowledges the decision: this site has acted on it, durably, and does not need the
// transaction any more; it is not delivered again. When all parties have acknowledged, nothing is
// left of it in ZooKeeper. Errors: [ErrUndecided]; [ErrGone] if the transaction was deleted before
// its decision was known, in which case it is not delivered again either; session.ErrClosed, after
// which it may be delivered again; those of ZooKeeper, after which Ack may be tried again. ctx
// bounds the wait; if it ends first, the acknowledgement goes on.
func (p *Proposal) Ack(ctx context.Context) error {
	p.site.mu.Lock()
	if err := p.end.Err(); err != nil && p.site.open[p.offer.GUID] != p { // the proposal has ended, and its calls were answered
		p.site.mu.Unlock()
		if errors.Is(err, session.ErrReleased) {
			err = nil
		}
		return recipe.Failed(p.site.session, "acknowledge", p.path(), err)
	}
	if p.acking == nil {
		p.acking = new(call)
	}
	r := p.acking
	p.site.host.Tell(protocol.Ack{GUID: p.offer.GUID})
	p.site.mu.Unlock()
	return recipe.Failed(p.site.session, "acknowledge", p.path(), r.wait(ctx))
}

// Done closes when the proposal has ended: by Ack, because its znodes were deleted, or with its
// site. Err then says which.
func (p *Proposal) Done() <-chan struct{} { return p.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrReleased after Ack; [ErrGone];
// or session.ErrClosed with the site or its session, after which the transaction continues and is
// delivered again to the next site with this name.
func (p *Proposal) Err() error { return p.end.Err() }

func (p *Proposal) path() string { return p.site.root.Tx(p.offer.ID) }

// take returns a pending call, and removes it.
func (p *Proposal) take(pending **call) *call {
	p.site.mu.Lock()
	defer p.site.mu.Unlock()
	r := *pending
	*pending = nil
	return r
}

// endWith ends the proposal with err, and then answers its pending vote and acknowledgement.
func (p *Proposal) endWith(err, ofVote, ofAck error) {
	p.finish(err)
	p.site.mu.Lock()
	delete(p.site.open, p.offer.GUID)
	p.site.mu.Unlock()
	p.take(&p.voting).answer(ofVote)
	p.take(&p.acking).answer(ofAck)
}

func (p *Proposal) finish(err error) {
	p.end.Set(recipe.Failed(p.site.session, "transaction", p.path(), err))
}
