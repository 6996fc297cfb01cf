package zkconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/notify"
)

// Causes of an end that is no loss.
var (
	errClosed    = errors.New("the session was closed")
	errAbandoned = errors.New("the session was abandoned")
	errNotClosed = fmt.Errorf("the session can't be closed: %w", ErrAuthRequired)
)

// Conn is one ZooKeeper session: from Open until Ended, Close or Abandon. It is safe for concurrent
// use.
type Conn struct {
	*core
	alone bool // see Alone
}

// core is what a Conn is to everybody.
type core struct {
	cfg  Config
	log  *slog.Logger
	sink func(Event)

	zk      *zk.Conn
	library <-chan zk.Event // read for its end only: it closes when the library's last goroutine ends

	life context.Context // ends with the session; dials and pauses are bound to it
	stop context.CancelFunc
	over *notify.Latch // the session has ended for this Conn: nothing connects any more
	shut *notify.Latch // Close or Abandon was called, or it is over: no request is taken
	last *stub         // where the library is led when it is over
	gone *notify.Latch // the library's goroutines have ended

	trying sync.WaitGroup // tries to connect

	telling sync.Mutex // held while state changes and the sink is told, so that events have one order; taken before mu

	mu          sync.Mutex
	outbox      []Event // what tell tells when it has let go of mu
	cause       error   // why it is over; nil until then
	closing     bool    // Close was called: the next connection is for closing the session alone
	muted       bool    // nothing is told any more
	sessionGone bool    // the session doesn't exist any more at the servers
	dialed      *wire   // the connection made last, until it is lost
	wire        *wire   // the same, while it has the session and takes requests
	session     identity
	servers     []*server
	connecting  int           // tries that have asked for the session and have no answer yet, or are not over
	slow        bool          // see Slow
	took        time.Duration // by the last server, to answer the request for the session
	tries       int           // of servers, since a connection was last good
	complained  bool          // about the connection that there isn't
	trouble     error         // why there is none
	lastZxid    int64         // of the last answer: what was seen of the servers' history
	watches     watchTable
	create2     support // of create2
	containers  support // of createContainer, which ZooKeeper has since 3.5.3
	knownOps    knownOps
	large       large
	removals    support // of removeWatches
}

// identity is what the server handed out with the session.
type identity struct {
	id       int64
	password []byte
	timeout  time.Duration
}

// Open begins to connect and returns at once. The sink is told what happens; it is called by one
// goroutine at a time, in wire order, must not block and must not call Close or Abandon. The first
// event may come before Open has returned.
func Open(cfg Config, sink func(Event)) (*Conn, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background()) // the session outlives every caller's context; Close and Abandon end it
	c := &Conn{core: &core{
		cfg: cfg, log: cfg.Logger, sink: sink,
		life: life, stop: stop, over: notify.NewLatch(), shut: notify.NewLatch(), gone: notify.NewLatch(),
		last: newStub(), watches: watchTable{}, knownOps: newKnownOps(),
	}}
	c.session.timeout = cfg.Timeout
	for _, addr := range cfg.Servers {
		c.servers = append(c.servers, &server{name: addr})
	}
	warnOfLibrary(c.log, &warned)
	c.mu.Lock() // the library's loop gets no further than this until zk is set
	defer c.mu.Unlock()
	library, events, err := zk.Connect(cfg.Servers, cfg.Timeout,
		zk.WithDialer(c.dial),
		zk.WithHostProvider(&hosts{servers: cfg.Servers}),
		zk.WithLogger(logger{c.log}),
		zk.WithLogInfo(false),
		zk.WithMaxConnBufferSize(libraryBuffer),
		zk.WithMaxBufferSize(libraryBuffer),
	)
	if err != nil {
		stop()
		return nil, fmt.Errorf("open the ZooKeeper client: %w", err)
	}
	c.zk, c.library = library, events
	return c, nil
}

// SessionID is the number of the session; 0 before the first Up.
func (c *Conn) SessionID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.id
}

// tell changes the state and tells the sink what the change put into the outbox. Changes that have
// something to tell are made here and nowhere else, so that events come in the order of the
// changes.
func (c *Conn) tell(change func()) {
	c.telling.Lock()
	defer c.telling.Unlock()
	for _, ev := range c.changed(change) {
		c.pass(ev)
	}
}

// changed makes a change and returns what is to be told of it.
func (c *Conn) changed(change func()) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	news := c.outbox
	if c.muted {
		news = nil
	}
	c.outbox = nil
	return news
}

// pass tells the sink. What panics there is the sink's business, and ends neither the connection
// nor the process.
func (c *Conn) pass(ev Event) {
	defer func() {
		if reason := recover(); reason != nil {
			_ = c.panicked("telling of an event", reason)
		}
	}()
	c.sink(ev)
}

// end makes the session over, once: the sink is told if it did not ask for it, the connection is
// hung up, and the library is led to its end.
func (c *Conn) end(cause error) {
	var first bool
	var open *wire
	c.tell(func() {
		if first = c.cause == nil; !first {
			return
		}
		c.cause, open = cause, c.dialed
		switch cause {
		case errClosed, errAbandoned, errNotClosed:
			c.muted = true
		default:
			c.sessionGone = true
			c.outbox = append(c.outbox, Ended{Cause: cause})
		}
	})
	if !first {
		return
	}
	c.over.Close()
	c.shut.Close()
	c.stop()
	if open != nil {
		open.lose(cause)
	}
	go c.retire() // owned by the Conn; ends when the library's goroutines have, which nothing holds up any more
}

// retire ends the library's goroutines, which takes a connection: the stub.
func (c *Conn) retire() {
	<-c.last.reached.C()
	c.trying.Wait()
	c.zk.Close()
	for range c.library {
		// a few old events; only the end of the channel counts
	}
	c.gone.Close()
}
