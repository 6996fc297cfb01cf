package twopc

import (
	"context"
	"math"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Site is a participant in transactions, under one name. It is safe for concurrent use.
type Site struct {
	path      string
	name      string
	root      protocol.Root
	host      *recipe.Host
	proposals *notify.Stream[*Proposal]

	mu   sync.Mutex // guards the record of what the application wants, which outlives a crash of the machine
	open map[string]*Proposal
}

// NewSite creates the site with a name, under the path that it shares with its coordinators. It
// does not wait: the site registers in the background, as soon as the session is connected, and
// stays registered, in every epoch, until it is closed. A name belongs to one site. If another site
// with the name is alive, the later one ends with [ErrTaken]; if the other has died and its session
// has not expired yet, the later one waits for that. Errors name the invalid argument; for a closed
// session the error is session.ErrClosed.
func NewSite(s *session.Session, path, name string, opts ...Option) (*Site, error) {
	const op = "twopc.NewSite"
	if _, err := configure(op, s, path, true, opts); err != nil {
		return nil, err
	}
	if err := checkName("name", name); err != nil {
		return nil, failed(op, path, err)
	}
	p := &Site{path: path, name: name, root: protocol.Root(path), proposals: notify.NewStream[*Proposal](math.MaxInt), open: map[string]*Proposal{}}
	guid := string(znode.NewGUID())
	var err error
	p.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "twopc site " + name, Path: path,
		Machine:  func() machine.Machine { return protocol.NewSite(p.root, name, guid) },
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

// Proposals delivers each transaction that asks for this site's vote, once, in the order in which
// they began; receivers compete. Transactions that this site has not acknowledged are delivered
// again after a restart of the process: not voted on, in doubt, or decided. So check
// [Proposal.Voted] first. At most 1,024 are with the application at a time, received or not; the
// rest stays in ZooKeeper and is delivered when some are acknowledged. The channel closes with
// Done.
func (p *Site) Proposals() <-chan *Proposal { return p.proposals.C() }

// Done closes when the site has ended: by Close, with its session, or because of a permanent
// failure, such as [ErrTaken]. Err then says why.
func (p *Site) Done() <-chan struct{} { return p.host.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (p *Site) Err() error { return p.host.Err() }

// Close ends the site and returns when ZooKeeper has confirmed the pending votes and that the site
// is gone. Transactions on which it has not voted are aborted by their coordinators. Those it voted
// to commit continue without it, and are delivered again when it is back. If ctx ends first its
// cause is returned, and the rest goes on in the background until the epoch ends. It is idempotent.
func (p *Site) Close(ctx context.Context) error {
	return failed("close", p.path, p.host.Close(ctx))
}

// standing are the events for a new machine.
func (p *Site) standing() []machine.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []machine.Event
	for _, o := range p.open {
		all = append(all, protocol.Delivered{GUID: o.guid})
		if o.voting != nil {
			all = append(all, o.voting.cast)
		}
		if o.acking != nil {
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

// perform passes the machine's effects on. The actor calls it.
func (p *Site) perform(e machine.Effect) {
	switch e := e.(type) {
	case protocol.Propose:
		p.offer(e)
	case protocol.CastDone:
		if o := p.proposal(e.GUID); o != nil { // else it was acknowledged at the same time
			o.voteDone(e.Err)
		}
	case protocol.Learned:
		p.proposal(e.GUID).decide(Outcome(e.Outcome), e.Reason)
	case protocol.Gone:
		o := p.proposal(e.GUID)
		o.finish(failed("transaction", o.path(), ErrGone))
	case protocol.Acked:
		p.acked(e)
	}
}

// offer delivers a proposal to the application, unless it was delivered before a crash of the
// machine.
func (p *Site) offer(e protocol.Propose) {
	p.mu.Lock()
	o := p.open[e.GUID]
	if o == nil {
		o = newProposal(p, e)
		p.open[e.GUID] = o
	}
	p.mu.Unlock()
	if o.offered.Close() {
		p.proposals.Send(o) // the machine delivers at most its window; the rest stays in ZooKeeper
	}
}

func (p *Site) acked(e protocol.Acked) {
	o := p.proposal(e.GUID)
	if o == nil {
		return
	}
	over := e.Err == nil || isGone(e.Err)
	if over { // before it is removed from the record: later callers see the end
		o.finish(failed("transaction", o.path(), session.ErrReleased))
		p.mu.Lock()
		delete(p.open, e.GUID)
		p.mu.Unlock()
		o.voteDone(ErrDecided)
	}
	o.acked(e.Err)
}

// ended answers all waiting callers, since nothing will follow.
func (p *Site) ended(err error) {
	p.proposals.Close()
	p.mu.Lock()
	open := p.open
	p.open = map[string]*Proposal{}
	p.mu.Unlock()
	for _, o := range open {
		o.voteDone(err)
		o.acked(err)
		o.finish(failed("transaction", o.path(), err))
	}
}
