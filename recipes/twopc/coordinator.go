package twopc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	host    *recipe.Host

	mu   sync.Mutex     // guards the application's requests, which outlive a crash of the machine
	last uint64         // the number of the last request
	txs  map[uint64]*Tx // those whose requests have not ended, by the numbers of the requests
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
	c := &Coordinator{session: s, path: path, guid: string(znode.NewGUID()), root: protocol.Root(path), peers: o.peers, txs: map[uint64]*Tx{}}
	c.mu.Lock() // until the host is set, so that no effect uses it before
	defer c.mu.Unlock()
	c.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "twopc", Path: path, ACL: o.acl,
		Machine:  func() machine.Machine { return protocol.NewCoordinator(c.root, c.guid, o.timeout.Milliseconds()) },
		Standing: c.standing,
		Perform:  c.perform,
		Ended:    c.endAll,
	})
	if err != nil {
		return nil, recipe.Failed(s, op, path, err)
	}
	return c, nil
}

// Begin asks the sites to commit a transaction. It returns when ZooKeeper has confirmed that the
// transaction exists: from then on every site will be told, now or when it is back. id names the
// transaction among all under the coordinator's path until it is finished; payload describes it;
// sites are the participants, at least one, without duplicates.
//
// ctx bounds the wait for the beginning. If it ends first, the transaction is withdrawn, and the
// error is ctx's cause, with session.ErrUnknownOutcome if the request was sent. In that case the
// transaction may have begun, and may even be committed, and Begin returns the Tx along with the
// error. When the Tx's Done closes, its Outcome is known, or [Tx.Err] says why not. A transaction
// that never began is Aborted, and needs no Ack. Do not repeat the transaction under another id
// before Done closes.
//
// After any other error the transaction has not begun, and never will: invalid arguments;
// [ErrDuplicate]; [ErrFinished]; [ErrBusy]; session.ErrTooLarge, if payload and sites exceed one
// request; ctx's cause; session.ErrClosed; those of ZooKeeper.
func (c *Coordinator) Begin(ctx context.Context, id string, payload []byte, sites ...string) (*Tx, error) {
	if err := cmp.Or(checkBegin(id, sites), context.Cause(ctx)); err != nil {
		return nil, recipe.Failed(c.session, "begin", c.path, err)
	}
	t := newTx(c, protocol.Request{ID: id, GUID: string(znode.NewGUID()), Payload: slices.Clone(payload), Sites: slices.Clone(sites), Peers: c.peers})
	c.ask(t, func() bool { return true })
	err := t.awaitBegun(ctx, true)
	if errors.Is(err, session.ErrTooLarge) {
		err = fmt.Errorf("payload, sites: %w", err)
	}
	if err != nil && !errors.Is(err, session.ErrUnknownOutcome) {
		return nil, recipe.Failed(c.session, "begin", t.path(), err)
	}
	return t, recipe.Failed(c.session, "begin", t.path(), err)
}

// Recover takes over the transactions under the path that are neither acknowledged ([Tx.Ack]) nor
// in progress at a live coordinator: the undecided ones, which this coordinator decides from now
// on, with a new vote timeout; and the decided ones, also if this coordinator's application has the
// outcome. Call it when a coordinator starts, before anything else. Recover waits until each
// coordinator under the path has answered, or its session has ended: after that no request of a
// dead coordinator is in flight any more, so an id without a transaction may be begun again.
//
// If ctx ends or the coordinator closes first, or ZooKeeper refuses a request, the transactions
// taken over are returned along with the error. A transaction whose takeover was under way is
// aborted, unless it is decided, and the next Recover returns it.
func (c *Coordinator) Recover(ctx context.Context) ([]*Tx, error) {
	if err := c.Err(); err != nil {
		return nil, recipe.Failed(c.session, "recover", c.path, err)
	}
	// The last request of a process that was killed may be a Begin that is not carried out yet. It
	// would take effect under an id that is used again meanwhile.
	_, err := c.adopt(ctx, c.root.Coordinators(), func(guid string) protocol.Request { return protocol.Request{Stage: protocol.Asking, Asked: guid} })
	if err != nil {
		return nil, recipe.Failed(c.session, "recover", c.path, err)
	}
	taken, err := c.adopt(ctx, c.root.Transactions(), func(id string) protocol.Request { return protocol.Request{Stage: protocol.Recovering, ID: id} })
	return taken, recipe.Failed(c.session, "recover", c.path, err)
}

// adopt makes a request for each child of a path. It returns what was taken over, and the first
// error.
func (c *Coordinator) adopt(ctx context.Context, path string, request func(name string) protocol.Request) (taken []*Tx, err error) {
	if err := c.session.SyncQuorum(ctx, path); err != nil {
		return nil, err
	}
	names, _, err := c.session.Children(ctx, path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return nil, err
	}
	slices.Sort(names)
	var asked []*Tx
	for _, name := range names {
		if name != c.guid {
			t := newTx(c, request(name))
			c.ask(t, func() bool { return true })
			asked = append(asked, t)
		}
	}
	err = nil
	for _, t := range asked {
		switch e := t.awaitBegun(ctx, false); {
		case e == nil:
			taken = append(taken, t)
		case err == nil && !errors.Is(e, protocol.ErrNotRecoverable):
			err = e
		}
	}
	return taken, err
}

// ask tells the machine a request, with the next number, unless prepare returns false.
func (c *Coordinator) ask(t *Tx, prepare func() bool) {
	c.mu.Lock()
	n, told := c.last+1, true
	if prepare() {
		t.request.N, c.last, c.txs[n] = n, n, t
		told = c.host.Tell(t.request) // in the order of the numbers
	}
	c.mu.Unlock()
	if !told {
		c.endRequest(protocol.Ended{N: n, Err: session.ErrClosed})
	}
}

func (c *Coordinator) standing() []machine.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []machine.Event
	for _, n := range slices.Sorted(maps.Keys(c.txs)) {
		if t := c.txs[n]; t.request.N == n {
			all = append(all, t.request)
		}
	}
	return all
}

// perform passes the machine's effects to the transactions. The actor calls it.
func (c *Coordinator) perform(e machine.Effect) {
	switch e := e.(type) {
	case protocol.Progressed:
		c.with(e.Request.N, func(t *Tx) { t.progress(e.Request) })
	case protocol.Voted:
		c.with(e.N, func(t *Tx) { t.deliver(e.Vote) })
	case protocol.Decided:
		c.with(e.N, func(t *Tx) { t.learn(e) })
	case protocol.Ended:
		c.endRequest(e)
	}
}

// with calls f with a request's transaction, unless the request has ended: a restarted machine may
// tell of it once more.
func (c *Coordinator) with(n uint64, f func(t *Tx)) {
	c.mu.Lock()
	t := c.txs[n]
	c.mu.Unlock()
	if t != nil {
		f(t)
	}
}

func (c *Coordinator) endRequest(e protocol.Ended) {
	c.with(e.N, func(t *Tx) {
		c.mu.Lock()
		delete(c.txs, e.N)
		c.mu.Unlock()
		t.onEnded(e)
	})
}

// endAll ends all requests when the host has ended, so that no caller waits any longer.
func (c *Coordinator) endAll(err error) {
	c.mu.Lock()
	all := maps.Clone(c.txs)
	c.mu.Unlock()
	for n, t := range all {
		c.endRequest(protocol.Ended{N: n, Err: err, InDoubt: t.sent.Closed() && !t.begun.Closed()})
	}
}

// Done closes when the coordinator has ended: by Close, with its session, or because of a permanent
// failure. Err then says why.
func (c *Coordinator) Done() <-chan struct{} { return c.host.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (c *Coordinator) Err() error { return c.host.Err() }

// Close aborts the undecided transactions and returns when ZooKeeper has confirmed all pending
// requests, including acknowledgements. Outcomes that were not acknowledged are kept for
// [Coordinator.Recover]. If ctx ends first, its cause is returned; the sites abort the transactions
// that are undecided then, since this coordinator's presence is gone. Close is idempotent.
func (c *Coordinator) Close(ctx context.Context) error {
	return recipe.Failed(c.session, "close", c.path, c.host.Close(ctx))
}
