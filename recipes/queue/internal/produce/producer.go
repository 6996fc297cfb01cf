package produce

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
	"github.com/troupe-go/troupe/session"
)

// Producer puts items into one queue, for any number of callers. While calls wait it has one
// goroutine, which alone uses the fields that are not under the mutex.
type Producer struct {
	ACL      []session.ACL // of the znodes that it makes; nil: the session's. Set before the first put.
	session  *session.Session
	root     layout.Root
	capacity int  // 0: none is given
	moves    bool // see NewMover
	// Of callers and the goroutine, with mu.
	mu     sync.Mutex
	calls  []*Call       // that wait, in order
	last   uint64        // the number of the last one
	idle   chan struct{} // closes when no call waits; nil: none waits
	closed bool
	// Of the goroutine: what it knows, and what it does next (step).
	receipt receipt
	tail    *tail.Tail
	size    size
	listed  bool     // a call's Names were used: from now on the producer's own listings are newer
	missing []string // paths to be made
	singly  int      // counts down: so many calls are sent one at a time, since a transaction of several was refused, for one of them
}

// New makes a producer that knows nothing yet. A capacity of 0 is none.
func New(s *session.Session, r layout.Root, capacity int) *Producer {
	p := &Producer{session: s, root: r, capacity: capacity}
	p.receipt.path = r.Receipt(string(znode.NewGUID()))
	p.forget()
	return p
}

// NewMover makes a producer of items that each put deletes elsewhere in its transaction: so none is
// put twice, and no receipt is needed. A call whose answer is lost ends with
// session.ErrUnknownOutcome. The znodes of ids are left as they are.
func NewMover(s *session.Session, r layout.Root) *Producer {
	p := New(s, r, 0)
	p.moves = true
	return p
}

// Begin has items put, behind those of earlier calls.
func (p *Producer) Begin(put Put) *Call {
	c := newCall(p, put)
	p.mu.Lock()
	p.last++
	c.no = p.last
	if p.closed {
		p.mu.Unlock()
		c.end(session.ErrClosed) // without mu, since it calls Then
		return c
	}
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	if p.idle == nil {
		p.idle = make(chan struct{})
		go p.work(p.idle) // ends when no call waits: none does when the session has ended
	}
	return c
}

// Close waits until no call waits. No call can be begun any more.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.mu.Unlock()
	if idle == nil {
		return nil
	}
	return notify.Wait(ctx, idle)
}

func (p *Producer) work(idle chan struct{}) {
	defer close(idle)
	races := 0
	for calls := p.waiting(); calls != nil; calls = p.waiting() {
		switch err := p.contained(calls); {
		case err == nil, errors.Is(err, session.ErrSuspended): // if suspended, the next step waits for a connection
		case errors.Is(err, session.ErrThrottled):
			p.pause()
		case errors.Is(err, session.ErrNoNode) && races < mostRaces: // another client deletes what was just made
			races++
			p.forget()
			p.pause()
		case errors.Is(err, session.ErrNoNode) && p.moves: // to a mover's callers ErrNoNode means that the item to be moved is gone
			p.forget()
			end(calls, session.ErrUnknownOutcome)
		default:
			p.forget()
			end(calls, err)
		}
		if calls[0].state.Load() == ended {
			races = 0
		}
	}
}

// pause lets a server that is overloaded get on, or a client that deletes the queue.
func (p *Producer) pause() {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-p.session.Done():
	}
}

// waiting are the calls that wait. If there are none, the goroutine ends.
func (p *Producer) waiting() []*Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prune()
	if len(p.calls) == 0 {
		p.idle = nil
		return nil
	}
	return slices.Clone(p.calls)
}

// prune forgets the calls that have ended. With mu.
func (p *Producer) prune() {
	p.calls = slices.DeleteFunc(p.calls, func(c *Call) bool { return c.state.Load() == ended })
}

// contained takes a step. If the step panics, the calls end with session.ErrRestarted.
func (p *Producer) contained(calls []*Call) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			recipe.Logger(p.session).Error("a bug: what waits to be put is refused", "path", p.session.Path(string(p.root)), "panic", reason, "stack", string(debug.Stack()))
			p.receipt.known = false
			err = fmt.Errorf("%w: %v", session.ErrRestarted, reason)
		}
	}()
	return p.step(calls)
}

// step does the first thing that is missing before the next transaction, and returns; or nothing is
// missing, and it sends that. Each case relies on those above it.
func (p *Producer) step(calls []*Call) error {
	switch {
	case !p.receipt.known && !p.moves:
		return p.readReceipt(calls)
	case slices.ContainsFunc(calls, (*Call).asks):
		return p.sync(calls)
	case len(p.missing) > 0:
		path := p.missing[0]
		p.missing = p.missing[1:]
		return p.session.EnsurePath(znode.Making(context.Background(), p.ACL), path)
	case !p.tail.Known() && !p.listed && calls[0].Names[0] != nil:
		p.tail.Listed(calls[0].Names[0], calls[0].Names[1])
		p.listed = true // goes on to send: only a mover's calls have Names, and they need no size
	case !p.tail.Known():
		return p.list()
	case !slices.ContainsFunc(calls, func(c *Call) bool { return c.adds() > 0 }): // send needs no size
	case !p.size.known:
		return p.readSize()
	case p.capacity > 0 && p.capacity != p.size.Capacity, !p.size.fits(calls[0], 0):
		return p.count(calls)
	}
	return p.send(calls)
}

// makeBase has the next steps make the znodes that a put needs, after another client has deleted
// them.
func (p *Producer) makeBase() {
	r := p.root
	p.missing = []string{r.Items(), r.Claims(), r.Later(), r.Line(), r.Bell(), r.Consumers()}
}

// forget forgets everything of the queue: it may have been another queue's.
func (p *Producer) forget() { p.tail, p.size = tail.New(p.root, tail.Usual), size{} }

// Put is a set of items to be put: all of them or none.
type Put struct {
	GUIDs     []string // of the items; nil: new ones
	Items     []layout.Record
	Delay     int64 // of each, in milliseconds
	Ephemeral bool
	With      []session.Op    // in the same transaction: if one of them fails, that is the call's error
	Back      bool            // the items were in a queue before: they are put even if this one is full
	Names     [2][]string     // of the buckets in items/ and in later/, by a recent listing; nil: not known
	Then      func(err error) // called once, without mu: by the goroutine, by Wait, or by Begin of a closed producer
}

// Call is a put that was begun.
type Call struct {
	Put
	by    *Producer
	no    uint64   // in the receipt, if it was carried out
	data  [][]byte // of the items' znodes
	size  int
	clock int64 // by the servers, after Begin: the delay begins then; 0: not known
	state atomic.Int32
	done  chan struct{}
	err   error // once done is closed
}

// The states of a call.
const (
	waits = iota // its items are not in the queue
	sent         // its items may be in the queue, or may come to be
	ended
)

const (
	mostBytes = 256 << 10 // bytes of a transaction, far below the 1 MB that a server accepts; one put alone may be larger
	overhead  = 512       // of an item: paths, there and back, and ACLs
	mostRaces = 10        // missing znodes are made again so often for a put, before the callers are told
	// ballast is left free beside a large item: a claim and a move to the dead letters write the
	// item's data again, beside other things. An item that no consumer could write must not be put.
	ballast = 4 << 10
)

func newCall(p *Producer, put Put) *Call {
	c := &Call{Put: put, by: p, done: make(chan struct{})}
	guid := string(znode.NewGUID())
	for n, i := range put.Items {
		switch c.data = append(c.data, i.Encode()); {
		case put.GUIDs != nil:
		case len(put.Items) > 1:
			c.GUIDs = append(c.GUIDs, fmt.Sprintf("%s-%d", guid, n+1))
		default:
			c.GUIDs = []string{guid}
		}
		c.size += overhead + len(c.data[n])
	}
	return c
}

// Wait waits until the items are in the queue, and returns their GUIDs. If ctx ends before they are
// sent, they are not put, and the error is its cause; if it ends later, session.ErrUnknownOutcome
// comes with that.
func (c *Call) Wait(ctx context.Context) ([]string, error) {
	if err := notify.Wait(ctx, c.done); err != nil {
		c.end(err)
		<-c.done
		c.by.mu.Lock()
		defer c.by.mu.Unlock()
		c.by.prune()
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.GUIDs, nil
}

// Ended waits for the end of the call, and returns its error. If ctx ends first the error is its
// cause, and the call goes on.
func (c *Call) Ended(ctx context.Context) error {
	if err := notify.Wait(ctx, c.done); err != nil {
		return err
	}
	return c.err
}

// end ends a call, unless it has ended.
func (c *Call) end(err error) {
	was := c.state.Swap(ended)
	if was == ended {
		return
	}
	if err != nil && was == sent && !errors.Is(err, session.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", session.ErrUnknownOutcome, err)
	}
	c.err = err
	close(c.done)
	if c.Then != nil {
		c.Then(err)
	}
}

func end(calls []*Call, err error) {
	for _, c := range calls {
		c.end(err)
	}
}

// adds is how many items the call adds to those that the capacity limits.
func (c *Call) adds() int {
	if c.Back {
		return 0
	}
	return len(c.Items)
}

// asks tells whether a sync has to come first: for the outcome of the call, or for the servers'
// time.
func (c *Call) asks() bool { return c.state.Load() == sent || c.Delay > 0 && c.clock == 0 }

// addition is the znode of the call's nth item.
func (c *Call) addition(n int) tail.Addition {
	at := layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: c.Items[n].Priority}}, GUID: c.GUIDs[n]}
	if c.Delay > 0 {
		at.Bucket.Lane, at.Due = layout.SlotOf(c.clock, c.Delay), layout.Due(c.clock, c.Delay)
	}
	return tail.Addition{Lane: at.Bucket.Lane, Prefix: at.Prefix(), Data: c.data[n], Ephemeral: c.Ephemeral}
}
