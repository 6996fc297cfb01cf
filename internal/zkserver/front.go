package zkserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/internal/seeded"
	"github.com/troupe-go/troupe/internal/zkserver/memnet"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

type watchTable = watch.Table[*conn]

// Front is one of the servers that share the tree: it has its own address, connections and watches,
// and normally shows the tree as it is. While it is behind, it shows a copy of its own to which
// transactions are applied later.
type Front struct {
	s     *Server
	index int
	name  string

	// Everything below is guarded by s.mu.
	data, child *watchTable // watches
	conns       map[*conn]struct{}
	bySession   map[int64]*conn
	listeners   []net.Listener
	address     string // of the first one, also while it is down
	down        bool   // killed: it does not listen, and the gates below are nil
	lost        bool   // isolated for longer than its limit: it serves no client
	term        int    // in which it leads; 0: it follows
	elected     time.Time

	// Its view of the tree.
	tree    *tree.Tree
	applied int64 // the last transaction that clients of this front can see
	behind  bool  // tree is an own copy
	pending []*txn
	lag     int // how many transactions it stays behind
	// Faults; any of them may be in force together. A gate is nil without its fault.
	isolated  *gate       // Isolate: handshakes and requests that need the leader wait at it
	frozen    *gate       // Stop: all requests wait at it
	heldUp    *gate       // HoldUp: new sessions wait at it, requests that need the leader in the queue
	waiting   []postponed // that queue
	deposed   *deposed    // Depose: it takes itself for the leader, and is not
	busyUntil time.Time   // with handshakes: see SlowHandshakes

	traffic traffic // for four-letter words
	// What it tells the leader: see expiry.go.
	touched  map[*session]time.Duration // heard of, not yet told; with the timeouts
	nextPing *time.Timer                // of the leader's; nil: none is waited for
	pinged   bool                       // by the leader, and has not answered yet
	phase    time.Duration              // by how much the pings come later than the half ticks
}

// gate holds up the goroutines that wait at it until it opens.
type gate struct{ opened chan struct{} }

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func newFront(s *Server, index int) *Front {
	return &Front{
		s: s, index: index, phase: time.Duration(s.rng.Int64N(int64(s.cfg.Tick / 2))),
		name: fmt.Sprintf("192.0.2.%d:2181", index+1), // of the range for documentation: no name lookup and no client reaches it by mistake
		data: watch.NewTable[*conn](s.dialect.watchModes), child: watch.NewTable[*conn](s.dialect.watchModes),
		conns: make(map[*conn]struct{}), bySession: make(map[int64]*conn),
		tree: s.tree, applied: s.zxid,
	}
}

var (
	errNoServer = errors.New("no such server")
	errTooMany  = errors.New("too many connections from one address")
)

// Name is the address under which [Server.Dial] finds this front.
func (f *Front) Name() string { return f.name }

// Listen opens a TCP socket at the address, or returns the address of the one that is open already.
func (f *Front) Listen(ctx context.Context, address string) (string, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.closed {
		return "", ErrClosed
	}
	if f.address != "" {
		return f.address, nil
	}
	l, err := f.listen(ctx, address)
	if err == nil {
		f.address = l.Addr().String()
	}
	if f.down { // it listens there when it is restarted
		f.shut()
	}
	return f.address, err
}

func (f *Front) listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := f.s.cfg.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	f.listeners = append(f.listeners, l)
	// The server owns this goroutine; it ends when the listener is closed, by Close or Kill.
	f.s.work.Go(func() { f.accept(l) })
	return l, nil
}

// ListenAlso opens one more TCP socket, until the front is killed or closed.
func (f *Front) ListenAlso(ctx context.Context, address string) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.closed {
		return ErrClosed
	}
	_, err := f.listen(ctx, address)
	return err
}

// attach begins to serve a connection.
func (f *Front) attach(transport net.Conn, from *seeded.Source, host string) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.closed || f.down || f.lost {
		return syscall.ECONNREFUSED
	}
	c := newConn(f, transport)
	c.from, c.host = from, host
	if !f.admits(c) {
		return errTooMany
	}
	f.conns[c] = struct{}{}
	c.expect()
	c.pace()
	c.cutOff(0)
	if f.frozen != nil {
		c.out.hold()
	}
	// The server owns this goroutine; it ends when the connection is closed, by either side.
	f.s.work.Go(c.serve)
	return nil
}

// Dial connects to a front in memory: by its name, by the address of its socket, or, if there is
// only one, by any address.
func (s *Server) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	return s.dial(ctx, nil, "", address)
}

func (s *Server) dial(ctx context.Context, from *seeded.Source, host, address string) (net.Conn, error) {
	if from != nil {
		from = from.Connection()
		rest(time.Until(from.Arrival(time.Now())), ctx.Done())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, port := s.find(address)
	if f == nil {
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: memnet.Addr(address), Err: errNoServer}
	}
	client, server := memnet.Pipe(memnet.Addr(fmt.Sprintf("127.0.0.1:%d", port)), memnet.Addr(f.name))
	if from != nil {
		client.SetArrivals(from.InOrder(), from.InOrder())
	}
	err := f.attach(server, from, host)
	if errors.Is(err, errTooMany) { // as with a socket, the client sees it behind its dialing
		_ = server.Close()
		return client, nil
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: memnet.Addr(address), Err: err}
	}
	return client, nil
}

// find is the front at an address, and a port for the client: unlike a socket's port it says in
// which order clients came.
func (s *Server) find(address string) (f *Front, port int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed++
	port = 1024 + s.dialed%60000
	for _, f := range s.fronts {
		if address == f.name || address == f.address {
			return f, port
		}
	}
	if len(s.fronts) == 1 {
		return s.fronts[0], port
	}
	return nil, port
}

// shut closes all listeners and connections of this front; it forgets connections as they end. The
// caller holds the lock.
func (f *Front) shut() {
	for _, l := range f.listeners {
		_ = l.Close() // it is closed, also if this fails
	}
	f.listeners = nil
	if f.nextPing != nil && f.nextPing.Stop() {
		f.nextPing = nil // so that it is set again after a restart; one that is running already says so itself
	}
	for c := range f.conns {
		c.abort()
	}
}

// evict ends the connection of a session that is over.
func (f *Front) evict(session int64) {
	if c := f.bySession[session]; c != nil && !c.busy {
		c.finish()
	}
}

// catchUp shows everything that was committed.
func (f *Front) catchUp() {
	if f.behind {
		f.follow(0)
	}
}

// catchUpIfFollower has a follower show everything that was committed, as a sync does there. At the
// leader a sync may show nothing new: the real leader tells its followers to commit before it does
// so itself, so that it may lag behind them (Lag). Only a transaction makes it catch up.
func (f *Front) catchUpIfFollower() {
	if !f.leads() {
		f.catchUp()
	}
}

// follow applies what is pending but for the last keep transactions.
func (f *Front) follow(keep int) {
	if f.isolated != nil || f.frozen != nil { // it hears of no transaction
		return
	}
	for len(f.pending) > keep {
		t := f.pending[0]
		f.pending[0] = nil
		f.pending = f.pending[1:]
		for i := range t.changes {
			n := f.tree.Apply(&t.changes[i], t.zxid, t.time)
			f.fire(&t.changes[i], n, t.zxid)
		}
		f.applied = t.zxid
		if t.ends != 0 {
			f.evict(t.ends)
		}
	}
	if f.lag == 0 && len(f.pending) == 0 {
		f.tree, f.behind, f.pending = f.s.tree, false, nil
	}
}

// detach makes the front show a copy of its own from here on.
func (f *Front) detach() {
	if !f.behind {
		f.tree, f.behind = f.s.tree.Clone(), true
	}
}
