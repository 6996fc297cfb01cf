package zkconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
	*core
	alone bool // see Alone
}

// core is the state of a Conn, shared with those that [Conn.Alone] returns.
type core struct {
	cfg     Config
	log     *slog.Logger
	sink    func(Event)
	library library

	life   context.Context // ends when the session is over for this Conn, with the cause: it connects no more
	stop   context.CancelCauseFunc
	taking context.Context // ends before life, or with it: requests are refused from then on, and events dropped
	refuse context.CancelFunc
	dials  sync.WaitGroup // attempts to connect
	asked  notify.Latch   // see Asked

	updating sync.Mutex // held while state changes and the sink is called, so that events are ordered; taken before mu

	mu      sync.Mutex
	events  []Event // of the current update, for the sink
	session identity
	socket  *socket // the latest connection, until it is lost
	search          // of the next one
	watches watchTable
	lacking map[jute.Op]bool // operations that servers have said they lack
	sizes   sizes
	group   group // not under mu
}

// identity is the session, as the server replied to the connect request, and how far it got.
type identity struct {
	id       int64
	password []byte
	timeout  time.Duration
	zxid     int64 // of the latest reply
	xid      int32 // of the last request, on whichever connection: see socket.number
}

// Open begins to connect and returns at once. The sink is called with each event, by one goroutine
// at a time and in wire order. It must not block, and must not call Close or Abandon. The first
// event may come before Open has returned.
func Open(cfg Config, sink func(Event)) (*Conn, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	life, stop := context.WithCancelCause(context.Background()) // the session outlives the caller's context
	taking, refuse := context.WithCancel(life)
	c := &core{
		cfg: cfg, log: cfg.Logger, sink: sink, library: library{stub: newStub()},
		life: life, stop: stop, taking: taking, refuse: refuse, watches: watchTable{}, lacking: map[jute.Op]bool{},
		group: group{turns: semaphore.NewWeighted(few), parents: map[string]bool{}},
	}
	c.session.timeout, c.since = cfg.Timeout, time.Now()
	c.late.left, c.late.settled = map[string]int{}, map[string]int{}
	c.session.id, c.session.password, c.session.zxid = cfg.Resume.ID, cfg.Resume.Password, cfg.Seen
	for _, addr := range cfg.Servers {
		c.servers = append(c.servers, &server{name: addr})
		if cfg.Resume.ID != 0 {
			c.late.losses, c.late.left[addr] = 1, 1 // the process before may have left writes anywhere
		}
	}
	warnOfLibrary(c.log, &libraryWarning)
	c.mu.Lock() // the library's loop needs mu to dial: nothing happens before it is set
	defer c.mu.Unlock()
	if err := c.library.start(&cfg, c.dial); err != nil {
		stop(err)
		return nil, fmt.Errorf("open the ZooKeeper client: %w", err)
	}
	return &Conn{core: c}, nil
}

// LastZxid is the newest transaction that a server has told of. What is sent from now on comes
// behind it.
func (c *core) LastZxid() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.zxid
}

// Alone returns the same Conn for a request at which servers may hang up. Each request made with it
// has the connection to itself: it is sent when all others are answered, and the next ones when it
// is, but signs of life do not wait for it. If the connection is then lost, it is known which
// request was the reason. The others wait for one round trip.
func (c *Conn) Alone() *Conn { return &Conn{core: c.core, alone: true} }

// Slow tells whether servers were slow to answer the last connect request: for the Config.Slow of
// the next session.
func (c *Conn) Slow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow
}

// lacks tells whether servers have said that they lack an operation.
func (c *Conn) lacks(op jute.Op) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lacking[op]
}

// Identity is the session's.
func (c *core) Identity() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Identity{c.session.id, c.session.password}
}

// SessionID is the id of the session; 0 before the first Up.
func (c *core) SessionID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.id
}

func (c *core) timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.timeout
}

// dial is called by the library's loop whenever it has no connection. It returns one that is up, or
// the stub when the session is over.
func (c *core) dial(_, _ string, _ time.Duration) (net.Conn, error) {
	h := connect(c)
	if h == nil {
		return c.library.stub, nil
	}
	if err := h.run(); err != nil {
		h.lose(err)
		return nil, err
	}
	return newFace(h.socket, h.response.SessionID, h.response.Timeout), nil
}

// update changes the state, then calls the sink with the events of that change. Every change that
// has events is made here, so the order of events is that of the changes.
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
	c.events = nil
	return events
}

// deliver calls the sink. A panic there ends neither the connection nor the process.
func (c *core) deliver(ev Event) {
	var logged error
	defer guard(c.log, "delivering an event", &logged)
	c.sink(ev)
}

// end ends the session for this Conn, once. The sink is told what the application did not ask for.
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
	go c.retire() // owned by the Conn; ends with the library's goroutines, which nothing blocks any more
}

// over tells whether the session is over or being closed. Under mu.
func (c *core) over() bool { return c.taking.Err() != nil }

// isClosing tells whether the session is to be closed as soon as there is a connection.
func (c *core) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over() && c.life.Err() == nil
}

// retire ends the library's goroutines.
func (c *core) retire() {
	<-c.library.stub.asked.C()
	c.dials.Wait()
	c.library.end()
}
