package zkconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// Causes of an end, beside ErrExpired and ErrReplaced.
var (
	errClosed    = errors.New("the session was closed") // by the server; or there never was one
	errAbandoned = errors.New("the session was abandoned")
	errNotClosed = fmt.Errorf("the session can't be closed: %w", ErrAuthRequired)
)

// Conn is one ZooKeeper session, from Open until Ended, Close or Abandon. It is safe for concurrent
// use.
type Conn struct {
	core  *core
	alone bool // see Alone
}

// core is the state of a Conn, shared with those that [Conn.Alone] returns.
type core struct {
	cfg  Config
	log  *slog.Logger
	sink func(Event)

	// Its life. When taking ends before life, the session is being closed.
	life   context.Context // ends when the session is over for this Conn, with the cause: it connects no more
	stop   context.CancelCauseFunc
	taking context.Context // ends before life, or with it: requests are refused from then on, and events dropped
	refuse context.CancelFunc
	dials  sync.WaitGroup // attempts to connect
	kept   notify.Latch   // keep has returned
	asked  notify.Latch   // see Asked

	updating sync.Mutex // held while state changes and the sink is called, so that events are ordered; taken before mu

	mu      sync.Mutex // guards what follows, but for group
	events  []Event    // of the current update, for the sink
	session identity
	socket  *socket          // the latest connection, until it is lost
	watches map[Watch]bool   // that are armed; true: the znode was missing, which a server has to know to arm it again
	roots   map[string]int   // of trees: how many have set a watch there on this connection, or asked for it: see tree.go
	keeping int              // not 0: watches are not removed, since trees depend on them
	lacking map[jute.Op]bool // operations that servers have said they lack
	sizes   sizes

	// For the next connection.
	servers    []*server
	lost       *target       // that of the last connection: its server may have been stopped; nil: there was none
	asking     int           // attempts that have sent a connect request and may still get the session
	tries      int           // servers tried since a connection was last good: see pause
	brief      int           // connections in a row that came up and did not last: see triesAfter
	slow       bool          // see Slow
	took       time.Duration // by the last server, to answer the connect request: see share
	lateWrites lateWrites
	outage     outage
	// For the check for a loss of data: see hangs.
	checking sync.Mutex // held while it is under way
	checked  time.Time  // when it began last
	sound    time.Time  // when a server accepted the session last

	group group               // has a mutex of its own
	piped *semaphore.Weighted // what is under way of pipelines
}

// identity is the session, as the server replied to the connect request, and how far it got.
type identity struct {
	id       int64
	password []byte
	timeout  time.Duration
	zxid     int64 // of the latest reply
	xid      int32 // of the last request, on this connection or one before: see socket.number
}

// Open begins to connect and returns at once. The sink is called with each event, by one goroutine
// at a time and in wire order; it must not block, and must not call Close or Abandon. The first
// event may come before Open has returned.
func Open(cfg Config, sink func(Event)) (*Conn, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	life, stop := context.WithCancelCause(context.Background()) // the session outlives the caller's context
	taking, refuse := context.WithCancel(life)
	c := &core{
		cfg: cfg, log: cfg.Logger, sink: sink,
		life: life, stop: stop, taking: taking, refuse: refuse, watches: map[Watch]bool{}, roots: map[string]int{}, lacking: map[jute.Op]bool{},
		group: group{turns: semaphore.NewWeighted(few), parents: map[string]bool{}}, piped: semaphore.NewWeighted(mostPiped),
	}
	c.session.timeout, c.outage.since = cfg.Timeout, time.Now()
	c.lateWrites.left, c.lateWrites.settled = map[string]int{}, map[string]int{}
	c.session.id, c.session.password, c.session.zxid = cfg.Resume.ID, cfg.Resume.Password, cfg.Seen
	for _, addr := range cfg.Servers {
		c.servers = append(c.servers, &server{name: addr})
		if cfg.Resume.ID != 0 {
			c.lateWrites.losses, c.lateWrites.left[addr] = 1, 1 // the process before may have left writes anywhere
		}
	}
	go c.keep() // owned by the Conn: Close and Abandon wait for it; ends when the session is over
	return &Conn{core: c}, nil
}

// LastZxid is the newest transaction that a server has told of. Requests that are sent from now on
// come behind it.
func (c *Conn) LastZxid() int64 { return c.core.lastZxid() }

func (c *core) lastZxid() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.zxid
}

// Alone returns the same Conn for a request at which servers may hang up. Each request made with it
// has the connection to itself: it is sent when all others are answered, and the next ones when it
// is answered. So if the connection is lost, it is known which request was the reason. The others
// wait for one round trip. Signs of life do not wait for it, nor does it wait for them.
func (c *Conn) Alone() *Conn { return &Conn{core: c.core, alone: true} }

// Slow tells whether servers were slow to answer the last connect request. It is meant for the
// Config.Slow of the next session.
func (c *Conn) Slow() bool {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	return c.core.slow
}

func (c *Conn) lacks(op jute.Op) bool {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	return c.core.lacking[op]
}

// Identity is the id and the password of the session.
func (c *Conn) Identity() Identity { return c.core.identity() }

func (c *core) identity() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Identity{c.session.id, c.session.password}
}

// SessionID is the id of the session; 0 before the first Up.
func (c *Conn) SessionID() int64 { return c.core.identity().ID }

func (c *core) timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.timeout
}

// keep has one connection after the other, until the session is over.
func (c *core) keep() {
	defer c.kept.Close()
	defer c.dials.Wait()
	for h := connect(c); h != nil; h = connect(c) {
		err := h.run()
		if err == nil {
			err = h.socket.converse(c.timeout() / 3)
		}
		h.socket.lose(err)
	}
}

// update changes the state, then calls the sink with the events of that change. Every change that
// has events is made here, so events come in the order of the changes.
func (c *core) update(change func()) {
	c.updating.Lock()
	defer c.updating.Unlock()
	for _, ev := range c.changed(change) {
		c.deliver(ev)
	}
}

// changed makes a change and returns its events: none if the Conn was closed before.
func (c *core) changed(change func()) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := c.over()
	change()
	events := c.events
	if over {
		events = nil
	}
	c.events = c.events[:0] // nothing is added before these are delivered
	return events
}

// deliver calls the sink. A panic there ends neither the connection nor the process.
func (c *core) deliver(ev Event) {
	var logged error
	defer guard(c.log, "delivering an event", &logged)
	c.sink(ev)
}

// end ends the session for this Conn, once. The sink is told of an end that the application did not
// ask for.
func (c *core) end(cause error) {
	var first bool
	var open *socket
	c.update(func() {
		if first = c.life.Err() == nil; !first {
			return
		}
		open = c.socket
		if cause == ErrExpired || cause == ErrReplaced || cause == ErrDataLoss {
			c.events = append(c.events, Ended{Cause: cause})
		}
		c.stop(cause)
	})
	if !first {
		return
	}
	if open != nil {
		open.lose(cause)
	}
}

// over tells whether the session is over or being closed. Under mu.
func (c *core) over() bool { return c.taking.Err() != nil }

// isClosing tells whether the session is to be closed as soon as there is a connection.
func (c *core) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over() && c.life.Err() == nil
}

// Close closes the session at the servers, which delete its ephemeral znodes at once, and frees
// everything. No event comes from then on, and no goroutine is left when it returns. If the
// connection is down, Close waits for the next one until ctx ends; the session is then left to
// expire, which the error says. Close returns nil if the session is known to be gone. It may be
// called more than once; the first ctx that ends counts.
func (c *Conn) Close(ctx context.Context) error {
	var tasks sync.WaitGroup
	if w := c.core.beginClosing(); w != nil {
		tasks.Go(func() { // both end at the latest with the socket, which end loses
			_ = w.send(closeFrame())
			c.core.asked.Close()
		})
		tasks.Go(w.loseUnlessClosed)
	}
	select {
	case <-c.core.life.Done():
	case <-ctx.Done():
	}
	c.core.end(errAbandoned)
	c.core.asked.Close()
	tasks.Wait()
	<-c.core.kept.C()
	cause := context.Cause(c.core.life)
	if cause == errClosed || cause == ErrExpired || cause == ErrReplaced || cause == ErrDataLoss || c.SessionID() == 0 {
		return nil
	}
	return fmt.Errorf("the ZooKeeper session was left to expire: %w", cmp.Or(context.Cause(ctx), cause))
}

// Asked closes when Close has sent its request, or has found no connection to send it over, or no
// session.
func (c *Conn) Asked() <-chan struct{} { return c.core.asked.C() }

// Abandon frees everything at once and leaves the session to expire. No event comes from then on,
// and no goroutine is left when it returns.
func (c *Conn) Abandon() {
	c.core.end(errAbandoned)
	<-c.core.kept.C()
}

// beginClosing refuses requests from now on, and returns the connection over which to close the
// session, if there is one.
func (c *core) beginClosing() (up *socket) {
	var nothing, refused bool
	c.update(func() {
		if c.over() {
			return
		}
		c.refuse()
		if c.socket != nil && c.socket.up() {
			up = c.socket
		} else {
			c.asked.Close()
		}
		nothing = c.nothing()
		refused = up == nil && errors.Is(c.outage.trouble, ErrAuthRequired)
	})
	switch {
	case nothing:
		c.end(errClosed)
	case refused:
		c.end(errNotClosed)
	}
	return up
}

// refused ends a session after a server has refused a credential: the application can do nothing
// with it. At the servers the session still exists. It is closed over the next connection, on which
// no credential is presented, so that its ephemeral znodes go at once.
func (c *core) refused() {
	c.update(func() {
		c.refuse()
		c.events = append(c.events, Ended{Cause: ErrAuthFailed})
	})
}

// loseUnlessClosed waits for the end of the session for as long as a step of the handshake may
// take. Then it gives the connection up, and another one is tried.
func (w *socket) loseUnlessClosed() {
	select {
	case <-w.lost.C():
	case <-time.After(w.limit):
		w.lose(errCloseTimeout)
	}
}

// unauthenticated returns the error of a server that insists on an authentication. Such a server
// does nothing for this session, not even close it, so Close does not wait for that.
func (w *socket) unauthenticated() error {
	if w.conn.isClosing() {
		w.conn.end(errNotClosed)
	}
	return ErrAuthRequired
}

// Event is what the sink of a [Conn] is called with: Up, Down, Ended, Fired, Answered, Proved or
// Heard.
type Event interface{ event() }

// Up: there is a connection with the session. Every credential was accepted, and every watch is
// armed again. Requests are taken from now on.
type Up struct {
	SessionID int64
	Timeout   time.Duration // as the server replied
	Server    string        // host:port, as configured
	Address   string        // the same, or one of the addresses of the host's name
	Asked     time.Time     // when the connect request was sent: the leader has heard of the session since
	Created   bool          // the connect request created the session, which takes a quorum
}

// Down: the connection is lost. The session may live on, and the Conn reconnects. Requests that
// were sent and not answered return [ErrNoReply]; new ones return [ErrNotSent].
type Down struct{ Cause error }

// Ended: the session is over, by [ErrExpired], [ErrReplaced], [ErrDataLoss] or [ErrAuthFailed]. It
// is the last event of a Conn, which does not connect again except, after ErrAuthFailed, to close
// the session. Close has to be called all the same. Close and Abandon cause no event.
type Ended struct{ Cause error }

// Fired: a watch fired, and is disarmed. Watches that fired while there was no connection follow
// right after the Up. The read that armed the watch may return later than this, and very rarely a
// watch fires once more than it was armed.
type Fired struct {
	Type jute.EventType
	Path string
}

// Proved: a sync or a write, sent right after the instant Sent (monotonic and wall clock), was
// answered without an error. So the session was alive for the leader at some instant after Sent. A
// write was agreed to by a quorum. A sync is answered by the leader alone, also by one that was
// deposed and has not noticed.
type Proved struct {
	Sent  time.Time
	Write bool
}

// Heard: a ping, or a request that proves nothing, sent right after the instant Sent, was answered
// promptly. So the server has heard of the session after Sent; the leader may not have.
type Heard struct{ Sent time.Time }

func (Up) event()     {}
func (Down) event()   {}
func (Ended) event()  {}
func (Fired) event()  {}
func (Proved) event() {}
func (Heard) event()  {}
