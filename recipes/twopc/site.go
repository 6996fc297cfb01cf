package twopc

import (
	"context"
	"math"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipe/host"
	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

// Site takes part in transactions under one name. It is safe for concurrent use.
type Site struct {
	path      string
	name      string
	root      pact.Root
	host      *host.Host
	proposals *notify.Stream[*Proposal]

	mu   sync.Mutex // guards the record of what the application wants, which outlives a crash of the machine
	open map[string]*Proposal
}

// NewSite makes the site of a name, under the path that it shares with its coordinators. It waits
// for nothing: the site registers in the background, as soon as the session is connected, and stays
// registered, in every epoch, until it is closed. A name is one site's: if another one of it lives,
// the later one ends with [ErrTaken]; if the other died and its session has not expired yet, the
// later one waits for that. Errors name the argument that is wrong; a closed session is
// session.ErrClosed.
func NewSite(s *session.Session, path, name string, opts ...Option) (*Site, error) {
	const op = "twopc.NewSite"
	if _, err := settle(op, s, path, true, opts); err != nil {
		return nil, err
	}
	if err := checkName("name", name); err != nil {
		return nil, failed(op, path, err)
	}
	p := &Site{path: path, name: name, root: pact.Root(path), proposals: notify.NewStream[*Proposal](math.MaxInt), open: map[string]*Proposal{}}
	guid := string(znode.NewGUID())
	var err error
	p.host, err = host.New(host.Config{
		Session: s, Kind: "twopc site " + name, Path: path,
		Machine:  func() recipe.Machine { return pact.NewSite(p.root, name, guid) },
		Standing: p.standing,
		Perform:  p.perform,
		Ended:    p.ended,
	})
	if err != nil {
		return nil, failed(op, path, err)
	}
	s.AfterStart(func() {})
	return p, nil
}

// Proposals gives each transaction that asks for this site's vote, once, in the order in which they
// began; receivers compete. Those that this site has not acknowledged are given again after a
// restart of the process: what was not voted on, what was voted on and is in doubt, and what is
// decided. So have a look at [Proposal.Voted] first. At most 1,024 are before the application at a
// time, received or not; the rest stays in ZooKeeper and is offered when some are acknowledged. It
// closes with Done.
func (p *Site) Proposals() <-chan *Proposal { return p.proposals.C() }

// Done closes when the site is over: by Close, with its session, or because it failed for good, as
// with [ErrTaken]. Err then says why.
func (p *Site) Done() <-chan struct{} { return p.host.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else
// the cause.
func (p *Site) Err() error { return p.host.Err() }

// Close ends the site and returns when ZooKeeper has confirmed the votes that were under way and
// that the site is gone. Transactions on which it has not voted are aborted by their coordinators;
// those it voted for go on without it, and are offered again when it is back. If ctx ends first its
// cause is returned, and the rest goes on in the background until the epoch ends. It is idempotent.
func (p *Site) Close(ctx context.Context) error {
	return failed("close", p.path, p.host.Close(ctx))
}

// standing is what a machine that was made anew has to know.
func (p *Site) standing() []recipe.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []recipe.Event
	for _, o := range p.open {
		all = append(all, pact.Held{GUID: o.guid, ID: o.id})
		if o.vote != nil {
			all = append(all, o.vote.cast)
		}
		if o.leaving != nil {
			all = append(all, o.ack())
		}
	}
	return all
}

func (p *Site) proposal(guid string) *Proposal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[guid]
}

// perform hands the machine's news on. It is called by the actor.
func (p *Site) perform(e recipe.Effect) {
	switch e := e.(type) {
	case pact.Offer:
		p.offer(e)
	case pact.CastDone:
		if o := p.proposal(e.GUID); o != nil { // else it was acknowledged at the same time
			o.voteDone(e.Err)
		}
	case pact.Learned:
		p.proposal(e.GUID).decide(Outcome(e.Outcome), e.Reason)
	case pact.Vanished:
		o := p.proposal(e.GUID)
		o.finish(failed("transaction", o.path(), ErrGone))
	case pact.Acked:
		p.acked(e)
	}
}

// offer gives the application a proposal, unless it had it before a crash of the machine.
func (p *Site) offer(e pact.Offer) {
	p.mu.Lock()
	o := p.open[e.GUID]
	if o == nil {
		o = newProposal(p, e)
		p.open[e.GUID] = o
	}
	p.mu.Unlock()
	if o.offered.Close() {
		p.proposals.Send(o) // the machine has no more than its window before the application; the rest stays in ZooKeeper
	}
}

func (p *Site) acked(e pact.Acked) {
	o := p.proposal(e.GUID)
	if o == nil {
		return
	}
	over := e.Err == nil || isGone(e.Err)
	if over { // before it is off the record: whoever asks from now on sees the end
		o.finish(failed("transaction", o.path(), session.ErrReleased))
		p.mu.Lock()
		delete(p.open, e.GUID)
		p.mu.Unlock()
		o.voteDone(ErrDecided)
	}
	o.left(e.Err)
}

// ended: whoever waits learns that nothing will come.
func (p *Site) ended(err error) {
	p.proposals.Close()
	p.mu.Lock()
	open := p.open
	p.open = map[string]*Proposal{}
	p.mu.Unlock()
	for _, o := range open {
		o.voteDone(err)
		o.left(err)
		o.finish(failed("transaction", o.path(), err))
	}
}
