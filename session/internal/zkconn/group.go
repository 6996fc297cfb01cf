package zkconn

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// group makes one transaction of the creates and deletes that are asked for at one time. The first
// few are sent at once, each by itself. Who comes while those are under way waits until one is
// answered, a moment at most, and takes along who has come by then. Where a round trip is long, it
// does not wait: it only lets those go first who can.
type group struct {
	turns *semaphore.Weighted // of those that are under way

	near    atomic.Bool  // a request was answered within a few moments
	none    atomic.Int64 // until then, in Unix nanoseconds, there are no transactions
	mu      sync.Mutex
	members []*member // of the next transaction
}

// few are enough to wait for, and for a transaction.
const few, moment = 4, 500 * time.Microsecond

// member is a create or a delete.
type member struct {
	op     jute.Request
	parent string // of what is created
	list   bool   // and its children behind that

	decided *notify.Latch // nil of the first, which decides
	done    bool          // else nothing was done, and it is to be sent by itself. Set before, as what follows
	entered Entered
	err     error
}

// together carries out a create or a delete, in a transaction or by itself.
func (c *Conn) together(m *member, itself func() (Entered, error)) (Entered, error) {
	if c.alone || len(m.op.Data) > smallEnough || !validPath(&m.op) {
		return itself()
	}
	switch joined, first := c.group.join(m); {
	case first:
		if c.group.turn() {
			defer c.group.turns.Release(1)
		}
		c.carryOut()
	case joined:
		<-m.decided.C() // by the first, which is under way
	}
	if m.done {
		return m.entered, m.err
	}
	return itself()
}

// join fails if something is to be created below the same parent: two contenders in one line that
// one transaction creates would have the same Czxid, which is their token.
func (g *group) join(m *member) (joined, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	beside := func(o *member) bool { return m.parent != "" && o.parent == m.parent }
	if len(g.members) == mostReads || slices.ContainsFunc(g.members, beside) || time.Now().UnixNano() < g.none.Load() {
		return false, false
	}
	if first = len(g.members) == 0; !first {
		m.decided = notify.NewLatch()
	}
	g.members = append(g.members, m)
	return true, first
}

// turn waits for one, for a moment.
func (g *group) turn() (taken bool) {
	switch taken = g.turns.TryAcquire(1); {
	case taken:
		return true
	case !g.near.Load():
		runtime.Gosched()
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	return g.turns.Acquire(ctx, 1) == nil
}

// carryOut sends those that have come, and once more without the one that was refused.
func (c *Conn) carryOut() {
	c.group.mu.Lock()
	members := c.group.members
	c.group.members = nil
	c.group.mu.Unlock()
	defer func() {
		for _, m := range members[1:] {
			m.decided.Close()
		}
	}()
	if refused := c.transact(members); refused >= 0 {
		c.transact(slices.Delete(slices.Clone(members), refused, refused+1))
	}
}

// transact sends a transaction, and in the same write the listings. If it comes to nothing for one
// of the members, that is returned; else -1.
func (c *Conn) transact(members []*member) (refused int) {
	if len(members) < few {
		return -1
	}
	r, listings := &request{ask: jute.Request{Op: jute.OpMulti}}, &request{ask: jute.Request{Op: jute.OpMultiRead}}
	rs := []*request{r}
	var listed []*member
	for _, m := range members {
		r.ask.Ops = append(r.ask.Ops, m.op)
		if m.list && !c.lacks(jute.OpMultiRead) {
			listings.ask.Ops = append(listings.ask.Ops, jute.Request{Op: jute.OpGetChildren, Path: m.parent})
			rs, listed = []*request{r, listings}, append(listed, m)
		}
	}
	if c.do(rs...) != nil {
		return -1
	}
	results, err := r.results()
	lost := errors.Is(err, ErrNoReply)
	if lost { // if this was the reason, the next one is not
		c.group.none.Store(time.Now().Add(time.Minute).UnixNano())
	} else if err != nil {
		return slices.IndexFunc(results, func(p jute.Result) bool { return p.Err != jute.OK && p.Err != jute.RuntimeInconsistency })
	}
	for i, m := range members {
		if m.done, m.err = true, err; !lost { // a server replies to a transaction before it carries out the next
			m.entered = Entered{Path: results[i].Path, Stat: Stat{Czxid: r.reply.Zxid, EphemeralOwner: c.SessionID()}, Err: ErrNoReply}
		}
	}
	if len(listed) > 0 && listings.outcome() == nil && len(listings.reply.Results) == len(listed) {
		for i, part := range listings.reply.Results {
			listed[i].entered.Names, listed[i].entered.Err = part.Names, verdict(part.Err)
		}
	}
	return -1
}
