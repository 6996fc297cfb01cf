package produce

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
	"github.com/troupe-go/troupe/session"
)

// Put says what is to be in the queue: all of its items or none.
type Put struct {
	GUIDs     []string // of the items; nil: new ones
	Items     []layout.Record
	Delay     int64 // of each, in milliseconds
	Ephemeral bool
	With      []session.Op    // in the same transaction: if one of them fails, that is the call's error
	Back      bool            // its items were in a queue before: they are put even if this one is full
	Names     [2][]string     // of the buckets in items/ and in later/, as they were of late; nil: not known
	Then      func(err error) // if not nil, it is called at the end, by the producer's goroutine
}

// Call is a put that was begun.
type Call struct {
	Put
	by    *Producer
	no    uint64
	data  [][]byte // what is written of each
	size  int
	clock int64 // a time of the servers' at which it waited: its delay begins there; 0: not known
	state atomic.Int32
	done  chan struct{}
	err   error // once done is closed
}

// The states of a call.
const (
	waits = iota // it is not in the queue
	sent         // it may be, or may still come to be
	over
)

const (
	mostBytes = 256 << 10 // bytes of a transaction, far below the 1 MB that a server accepts; one put alone may be larger
	overhead  = 512       // of an item: paths, there and back, and ACLs

	// ballast is left free beside a large item: whoever claims it, or has it become a dead letter,
	// writes its data again, beside other things. What nobody could write must not be put.
	ballast = 4 << 10
)

func newCall(p *Producer, no uint64, put Put) *Call {
	c := &Call{Put: put, by: p, no: no, done: make(chan struct{})}
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

// Ended waits for what becomes of the call, and returns its error. If ctx ends first the error is
// its cause, and the call goes on.
func (c *Call) Ended(ctx context.Context) error {
	if err := notify.Wait(ctx, c.done); err != nil {
		return err
	}
	return c.err
}

// end ends a call, unless it is over.
func (c *Call) end(err error) {
	was := c.state.Swap(over)
	if was == over {
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

// adds is how many items it adds to those that the capacity limits.
func (c *Call) adds() int {
	if c.Back {
		return 0
	}
	return len(c.Items)
}

// asks tells whether a sync has to come first: to tell what became of it, or what time it is.
func (c *Call) asks() bool { return c.state.Load() == sent || c.Delay > 0 && c.clock == 0 }

// addition is the znode of its nth item.
func (c *Call) addition(n int) tail.Addition {
	at := layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: c.Items[n].Priority}}, GUID: c.GUIDs[n]}
	if c.Delay > 0 {
		at.Bucket.Lane, at.Due = layout.SlotOf(c.clock, c.Delay), layout.Due(c.clock, c.Delay)
	}
	return tail.Addition{Lane: at.Bucket.Lane, Prefix: at.Prefix(), Data: c.data[n], Ephemeral: c.Ephemeral}
}
