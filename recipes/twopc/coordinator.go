package twopc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Coordinator begins transactions and decides them, any number at once. It is safe for concurrent
// use.
type Coordinator struct {
	session *session.Session
	path    string
	guid    string
	root    protocol.Root
	peers   bool
	most    int
	host    *recipe.Host

	mu   sync.Mutex // guards the record of what the application wants and has, which outlives a crash of the machine
	last uint64
	txs  map[uint64]*Tx
	kept []protocol.Keep // outcomes that the application has not acknowledged, the oldest first
}

// NewCoordinator creates a coordinator of the transactions under a path, which it shares with their
// sites. It does no I/O. There may be several coordinators, in several processes. Errors name the
// invalid argument; for a closed session the error is session.ErrClosed.
func NewCoordinator(s *session.Session, path string, opts ...Option) (*Coordinator, error) {
	const op = "twopc.NewCoordinator"
	o, err := configure(op, s, path, false, opts)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{session: s, path: path, guid: string(znode.NewGUID()), root: protocol.Root(path), peers: o.peers, most: o.most, txs: map[uint64]*Tx{}}
	c.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "twopc", Path: path,
		Machine: func() machine.Machine {
			return protocol.NewCoordinator(c.root, c.guid, o.timeout.Milliseconds()).Retain(o.most, o.age.Milliseconds()).Limit(o.limit)
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

// Begin asks the sites to commit a transaction. It returns when ZooKeeper has confirmed that the
// transaction exists: from then on every site will be told, now or when it is back. id names it
// among all transactions under the coordinator's path until it is finished; payload describes it;
// sites are the participants, at least one, without duplicates.
//
// ctx bounds the wait for the beginning, not the transaction. If it ends first, the transaction is
// withdrawn, and the error is ctx's cause; session.ErrUnknownOutcome comes with it if the request
// may have been sent.
//
// session.ErrUnknownOutcome says that the transaction may have begun, and may even be committed: by
// its sites ([WithPeerDecision]), or by a coordinator that recovers it. Otherwise it is aborted as
// soon as that is possible. Do not repeat it under another id before its outcome is known. Begin
// returns the Tx along with this error, and with no other. Its Outcome is known when its Done
// closes, Aborted if it never began; or else [Tx.Err] says why not. If the coordinator has ended,
// only the Recover of another one tells. A caller that drops the Tx gets it from
// [Coordinator.Recover] if it is committed, unless another coordinator has recovered it. The other
// cause is ctx's, the coordinator's Err, or ZooKeeper's refusal of what would show the outcome.
//
// [ErrGone] leaves open for ever whether the transaction had begun: the reply was lost for so long
// that it may have been swept.
//
// After any other error the transaction has not begun, and never will: invalid arguments;
// [ErrInUse]; [ErrFinished]; [ErrBusy]; session.ErrTooLarge, if payload and sites exceed one
// request; ctx's cause; session.ErrClosed; those of ZooKeeper.
//
// A transaction that has begun never begins again by itself. If the reply is lost, and the
// transaction is decided, acknowledged by every site and recovered by another coordinator before
// this one can look, the returned Tx has that outcome.
func (c *Coordinator) Begin(ctx context.Context, id string, payload []byte, sites ...string) (*Tx, error) {
	const op = "begin"
	err := checkName("id", id)
	if err == nil && len(id) > longestID {
		err = fmt.Errorf("id: %d bytes exceed the limit of %d", len(id), longestID)
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
	err = t.await(ctx)
	if errors.Is(err, session.ErrTooLarge) {
		err = fmt.Errorf("payload, sites: %w", err)
	}
	if err != nil && !errors.Is(err, session.ErrUnknownOutcome) {
		return nil, failed(op, t.path(), err)
	}
	return t, failed(op, t.path(), err)
}

// enter records a transaction and tells the machine, atomically, so that a new machine is not told
// of it again when it is over.
func (c *Coordinator) enter(t *Tx) {
	c.mu.Lock()
	c.last++
	t.n = c.last
	c.txs[t.n] = t
	told := c.host.Tell(t.event(false))
	c.mu.Unlock()
	if !told {
		c.finally(t.n, func(t *Tx) { t.refuse(session.ErrClosed) })
	}
}

// drop removes a transaction from the record.
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

// inOrder are the recorded transactions, the oldest first.
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

// standing are the events for a new machine.
func (c *Coordinator) standing() []machine.Event {
	var all []machine.Event
	c.mu.Lock()
	for _, k := range c.kept {
		all = append(all, k)
	}
	c.mu.Unlock()
	for _, t := range c.inOrder() {
		c.mu.Lock()
		ev, abort := t.event(true), t.abort
		c.mu.Unlock()
		all = append(all, ev)
		if abort != nil {
			all = append(all, *abort)
		}
	}
	return all
}

// perform passes the machine's effects to the transactions. The actor calls it.
func (c *Coordinator) perform(e machine.Effect) {
	switch e := e.(type) {
	case protocol.Sent:
		c.sent(e)
	case protocol.Begun:
		c.with(e.N, (*Tx).begun)
	case protocol.Recovered:
		c.with(e.N, func(t *Tx) { t.taken(e) })
	case protocol.Refused:
		c.finally(e.N, func(t *Tx) { t.refuse(e.Err) })
	case protocol.Doubtful:
		c.with(e.N, func(t *Tx) { t.doubtful.Close() })
	case protocol.Voted:
		c.with(e.N, func(t *Tx) { t.deliver(Vote(e.Vote)) })
	case protocol.Decided:
		c.with(e.N, func(t *Tx) { t.learn(e) })
	case protocol.Denied:
		c.with(e.N, func(t *Tx) { t.hindered(e.Err) })
	case protocol.Failed:
		c.finally(e.N, func(t *Tx) { t.finish(failed("transaction", t.path(), e.Err)) })
	case protocol.Over:
		c.finally(e.N, func(t *Tx) {
			c.keep(protocol.Keep{ID: t.id, GUID: t.guid, Czxid: e.Czxid})
			t.decidedAlone()
		})
	case protocol.OutcomeAcked:
		c.finally(e.N, func(t *Tx) {
			if e.Err == nil {
				c.release(t.guid)
			}
			t.settled(e.Err)
		})
	}
}

// keep records an outcome that the application has, up to the machine's limit.
func (c *Coordinator) keep(k protocol.Keep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, k)
	if len(c.kept) > c.most {
		c.kept = c.kept[1:]
	}
}

// release: the application has acknowledged the outcome, or does not have it.
func (c *Coordinator) release(guid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(k protocol.Keep) bool { return k.GUID == guid })
}

// with calls f with a transaction, unless it is not recorded any more: a new machine may be told of
// a transaction that is over, and answer.
func (c *Coordinator) with(n uint64, f func(t *Tx)) {
	if t := c.tx(n); t != nil {
		f(t)
	}
}

// finally removes a transaction from the record before it calls f.
func (c *Coordinator) finally(n uint64, f func(t *Tx)) {
	t := c.tx(n)
	c.drop(n)
	if t != nil {
		f(t)
		t.over.Close()
	}
}

func (c *Coordinator) sent(e protocol.Sent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.txs[e.N]; t != nil {
		t.floor = e.Floor
	}
}

// ended answers all waiting callers, since nothing will follow.
func (c *Coordinator) ended(err error) {
	for _, t := range c.inOrder() {
		c.drop(t.n)
		if t.floor != 0 { // it was sent
			t.answered.Set(unknown(err))
		}
		t.refuse(err)
		t.settled(err)
		t.over.Close()
	}
}

// Done closes when the coordinator has ended: by Close, with its session, or because of a permanent
// failure. Err then says why.
func (c *Coordinator) Done() <-chan struct{} { return c.host.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (c *Coordinator) Err() error { return c.host.Err() }

// Close aborts what is undecided and returns when ZooKeeper has confirmed all pending requests,
// including acknowledgements. Outcomes that were not acknowledged are kept for
// [Coordinator.Recover]. If ctx ends first its cause is returned; what is undecided then is aborted
// by its sites, which see that this coordinator is gone. It is idempotent.
func (c *Coordinator) Close(ctx context.Context) error {
	return failed("close", c.path, c.host.Close(ctx))
}
