package twopc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipe/host"
	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

// Coordinator begins transactions and decides them. It serves any number at once, and is safe for
// concurrent use.
type Coordinator struct {
	session *session.Session
	path    string
	guid    string
	root    pact.Root
	peers   bool
	most    int
	host    *host.Host

	mu   sync.Mutex // guards the record of what the application wants and has, which outlives a crash of the machine
	last uint64
	txs  map[uint64]*Tx
	kept []pact.Keep // outcomes that the application has not acknowledged, the oldest first
}

// NewCoordinator makes a coordinator of the transactions under a path, which it shares with their
// sites. It does no I/O. There may be several of them, in several processes. Errors name the
// argument that is wrong; a closed session is session.ErrClosed.
func NewCoordinator(s *session.Session, path string, opts ...Option) (*Coordinator, error) {
	const op = "twopc.NewCoordinator"
	o, err := settle(op, s, path, false, opts)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{session: s, path: path, guid: string(znode.NewGUID()), root: pact.Root(path), peers: o.peers, most: o.most, txs: map[uint64]*Tx{}}
	c.host, err = host.New(host.Config{
		Session: s, Kind: "twopc", Path: path,
		Machine: func() recipe.Machine {
			return pact.NewCoordinator(c.root, c.guid, o.timeout.Milliseconds()).Retain(o.most, o.age.Milliseconds()).Limit(o.limit)
		},
		Standing: c.standing,
		Perform:  c.perform,
		Ended:    c.ended,
	})
	if err != nil {
		return nil, failed(op, path, err)
	}
	return c, nil
}

// Begin asks the sites to commit. It returns when ZooKeeper has confirmed that the transaction
// stands: from then on every site will hear of it, now or when it is back. id names it among all
// under the coordinator's path until it is finished; payload says what it is about, and sites who
// takes part: at least one, none twice.
//
// ctx bounds the wait for the beginning, not the transaction. If it ends first, the transaction is
// withdrawn: it does not begin, or it is aborted. Errors: what is wrong with an argument;
// [ErrInUse]; [ErrFinished]; [ErrBusy]; session.ErrTooLarge, if payload and sites are more than one
// request may hold; session.ErrClosed; [ErrGone], if the answer was lost for so long that it can't
// be known any more whether it had begun; session.ErrUnknownOutcome, with the refusal beside it, if
// the answer was lost and ZooKeeper refuses to show what stands: then it does not begin, or it is
// aborted as soon as that is allowed.
//
// What has once begun is never begun again by itself: if the answer is lost, and the transaction is
// decided, acknowledged by every site and recovered by another coordinator before this one can
// look, the Tx that is returned has that outcome.
func (c *Coordinator) Begin(ctx context.Context, id string, payload []byte, sites ...string) (*Tx, error) {
	const op = "begin"
	err := checkName("id", id)
	if err == nil && len(id) > longestID {
		err = fmt.Errorf("id: %d bytes are more than %d", len(id), longestID)
	}
	if err == nil {
		err = checkSites(sites)
	}
	if err != nil {
		return nil, failed(op, c.path, err)
	}
	t := newTx(c, id, slices.Clone(sites))
	t.guid, t.payload = string(znode.NewGUID()), slices.Clone(payload)
	c.enter(t)
	if err := t.await(ctx); err != nil {
		if errors.Is(err, session.ErrTooLarge) {
			err = fmt.Errorf("payload, sites: %w", err)
		}
		return nil, failed(op, t.path(), err)
	}
	return t, nil
}

// enter records a transaction and tells the machine: in one, so that a machine that is made anew
// does not hear of it once more when it is over.
func (c *Coordinator) enter(t *Tx) {
	c.mu.Lock()
	c.last++
	t.n = c.last
	c.txs[t.n] = t
	told := c.host.Tell(t.wish(false))
	c.mu.Unlock()
	if !told {
		c.drop(t.n)
		t.refuse(session.ErrClosed)
	}
}

// drop takes a transaction off the record.
func (c *Coordinator) drop(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.txs, n)
}

func (c *Coordinator) tx(n uint64) *Tx {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.txs[n]
}

// inOrder are the transactions on record, the oldest first.
func (c *Coordinator) inOrder() []*Tx {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Tx, 0, len(c.txs))
	for _, t := range c.txs {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *Tx) int { return int(a.n) - int(b.n) })
	return all
}

// standing is what a machine that was made anew has to know.
func (c *Coordinator) standing() []recipe.Event {
	var all []recipe.Event
	c.mu.Lock()
	for _, k := range c.kept {
		all = append(all, k)
	}
	c.mu.Unlock()
	for _, t := range c.inOrder() {
		c.mu.Lock()
		wish, abort := t.wish(true), t.abort
		c.mu.Unlock()
		all = append(all, wish)
		if abort != nil {
			all = append(all, *abort)
		}
	}
	return all
}

// perform hands the machine's news to the transactions. It is called by the actor.
func (c *Coordinator) perform(e recipe.Effect) {
	switch e := e.(type) {
	case pact.Sent:
		c.sent(e)
	case pact.Begun:
		c.with(e.N, (*Tx).begun)
	case pact.Adopted:
		c.with(e.N, func(t *Tx) { t.taken(e) })
	case pact.Refused:
		if errors.Is(e.Err, pact.ErrWithdrew) { // by Close, if anybody still waits
			e.Err = session.ErrClosed
		}
		c.finally(e.N, func(t *Tx) { t.refuse(e.Err) })
	case pact.Voted:
		c.with(e.N, func(t *Tx) { t.voted(Vote(e.Vote)) })
	case pact.Decided:
		c.with(e.N, func(t *Tx) { t.decide(e) })
	case pact.Hindered:
		c.with(e.N, func(t *Tx) { t.hindered(e.Err) })
	case pact.Failed:
		c.finally(e.N, func(t *Tx) { t.finish(failed("transaction", t.path(), e.Err)) })
	case pact.Over:
		c.finally(e.N, func(t *Tx) {
			c.keep(pact.Keep{ID: t.id, GUID: t.guid, Czxid: e.Czxid})
			t.decidedAlone()
		})
	case pact.Settled:
		c.finally(e.N, func(t *Tx) {
			if e.Err == nil {
				c.release(t.guid)
			}
			t.settled(e.Err)
		})
	}
}

// keep notes an outcome that the application has, as many as the machine keeps.
func (c *Coordinator) keep(k pact.Keep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, k)
	if len(c.kept) > c.most {
		c.kept = c.kept[1:]
	}
}

// release: the application has acknowledged it, or does not have it.
func (c *Coordinator) release(guid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(k pact.Keep) bool { return k.GUID == guid })
}

// with does something with a transaction, unless it is off the record: a machine that was made anew
// may be told once more of one that is over, and answer.
func (c *Coordinator) with(n uint64, f func(t *Tx)) {
	if t := c.tx(n); t != nil {
		f(t)
	}
}

// finally takes a transaction off the record first.
func (c *Coordinator) finally(n uint64, f func(t *Tx)) {
	t := c.tx(n)
	c.drop(n)
	if t != nil {
		f(t)
	}
}

func (c *Coordinator) sent(e pact.Sent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.txs[e.N]; t != nil {
		t.floor = e.Floor
	}
}

// ended: whoever waits learns that nothing will come.
func (c *Coordinator) ended(err error) {
	for _, t := range c.inOrder() {
		c.drop(t.n)
		t.refuse(err)
		t.finish(failed("transaction", t.path(), err))
		t.settled(err)
	}
}

// Done closes when the coordinator is over: by Close, with its session, or because it failed for
// good. Err then says why.
func (c *Coordinator) Done() <-chan struct{} { return c.host.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else
// the cause.
func (c *Coordinator) Err() error { return c.host.Err() }

// Close aborts what is undecided and returns when ZooKeeper has confirmed all that was under way,
// acknowledgements included. Outcomes that were not acknowledged are kept for
// [Coordinator.Recover]. If ctx ends first its cause is returned; what is undecided then is aborted
// by its sites, which see this coordinator gone. It is idempotent.
func (c *Coordinator) Close(ctx context.Context) error {
	return failed("close", c.path, c.host.Close(ctx))
}
