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

// group makes one transaction of the creates and deletes that are asked for at the same time. The
// first few are sent at once, each by itself. One that comes while those are under way waits until
// one is answered, a moment at most, and takes along what has come by then. Where a round trip is
// long, it does not wait, but only yields once.
type group struct {
	turns *semaphore.Weighted // of those that are under way

	near    atomic.Bool // a request on this connection was answered within a few moments
	mu      sync.Mutex
	lost    int             // size of the last one that was lost
	pause   time.Duration   // after the last loss
	until   time.Time       // there are no transactions
	parents map[string]bool // below which something was created, so that they are not missing
	members []*member       // of the next transaction
	placed  *notify.Latch   // the members are sent, or will be one by one; nil: there is one at most
	decided *notify.Latch   // every member has its outcome, or is to be sent by itself
}

// So few are sent at once, and fewer make no transaction; so long one waits.
const few, moment = 4, 500 * time.Microsecond

// mostParents is how many parents are remembered.
const mostParents = 10_000

// member is a create or a delete.
type member struct {
	*request
	entry  Entry  // what is created
	parent string // of that

	done    bool // else it is to be sent by itself
	entered Entered
	err     error
}

// together carries out a create or a delete, in a transaction or by itself.
func (c *Conn) together(m *member) (Entered, error) {
	if !c.alone && Size(m.ask) <= smallEnough && m.valid() {
		switch over, first := c.core.group.join(m); {
		case first:
			if c.core.group.turn() {
				defer c.core.group.turns.Release(1)
			}
			c.carryOut()
		case over != nil:
			<-over.C() // by the first, which is under way
		}
	}
	switch {
	case m.done:
		return m.entered, m.err
	case m.parent != "":
		made, err := c.enterAlone(&m.entry, m.request)
		if err == nil {
			c.core.group.knows(m.parent)
		}
		return made, err
	}
	_, err := c.one(m.request)
	return Entered{}, err
}

// join makes it one of the next transaction, of which the first sees to everything, and returns
// what to wait for; nil if there is none. Two contenders in one line that one transaction creates
// would have the same Czxid, which is their token: the second is sent by itself, after the first if
// that is part of one. So is a second delete of a znode.
func (g *group) join(m *member) (over *notify.Latch, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	missing := m.parent != "" && !g.parents[m.parent]
	if first = len(g.members) == 0; missing || time.Now().Before(g.until) {
		return nil, false
	}
	if !first && g.decided == nil {
		g.placed, g.decided = new(notify.Latch), new(notify.Latch)
	}
	if len(g.members) == mostReads || slices.ContainsFunc(g.members, func(o *member) bool { return o.parent == m.parent && (m.parent != "" || o.ask.Path == m.ask.Path) }) {
		return g.placed, false
	}
	g.members = append(g.members, m)
	return g.decided, first
}

// carried notes a transaction of that size. After a loss, at whose size the server may have hung
// up, there are none for a minute, and after the next for twice as long, up to an hour, until one
// as large is answered, or none was lost for an hour.
func (g *group) carried(size int, lost bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.until) > time.Hour {
		g.pause = 0
	}
	switch {
	case lost:
		g.lost = size
		g.pause = min(max(2*g.pause, time.Minute), time.Hour)
		g.until = time.Now().Add(g.pause)
	case size >= g.lost:
		g.pause = 0
	}
}

func (g *group) knows(parent string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.parents) == mostParents {
		clear(g.parents)
	}
	g.parents[parent] = true
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

// carryOut sends those that have come. If one is refused, the others are sent once more.
func (c *Conn) carryOut() {
	c.core.group.mu.Lock()
	members, placed, decided := c.core.group.members, c.core.group.placed, c.core.group.decided
	c.core.group.members, c.core.group.placed, c.core.group.decided = nil, nil, nil
	c.core.group.mu.Unlock()
	if decided == nil {
		return
	}
	defer decided.Close()
	defer placed.Close()
	if refused := c.transact(members, placed); refused != nil {
		c.transact(slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m == refused }), placed)
	}
}

// transact sends a transaction, and in the same write the listings. If it comes to nothing for one
// of the members, that one has its error and is returned. Without such a one it was carried out, or
// nobody knows, or it was not sent.
func (c *Conn) transact(members []*member, placed *notify.Latch) (refused *member) {
	if len(members) < few {
		return nil
	}
	r, listings := &request{ask: jute.Request{Op: jute.OpMulti}}, &request{ask: jute.Request{Op: jute.OpMultiRead}}
	r.stands = func() bool { placed.Close(); return true }
	rs := []*request{r}
	var listed []*member
	for _, m := range members {
		m.done, m.err = true, ErrNoReply // in case that it panics
		r.ask.Ops = append(r.ask.Ops, m.ask)
		if m.entry.List != "" {
			listed = append(listed, m)
			listings.ask.Ops = append(listings.ask.Ops, jute.Request{Op: jute.OpGetChildren, Path: m.entry.List})
		}
	}
	if listed != nil && !c.lacks(jute.OpMultiRead) {
		rs = append(rs, listings)
	}
	err := c.do(rs...)
	for _, m := range members {
		m.done = false
	}
	if err != nil {
		return nil
	}
	results, err := r.results()
	unknown := errors.Is(err, ErrNoReply) || errors.Is(err, ErrThrottled)
	told := len(rs) > 1 && listings.outcome() == nil && len(listings.reply.Results) == len(listed)
	c.core.group.carried(max(r.size, listings.size), errors.Is(err, ErrNoReply) || len(rs) > 1 && listings.outcome() == ErrCutOff)
	if !unknown && err != nil {
		i := slices.IndexFunc(results, func(p jute.Result) bool { return p.Err != jute.OK && p.Err != jute.RuntimeInconsistency })
		if i < 0 {
			return nil
		}
		members[i].done, members[i].err = true, r.verdict(&r.ask.Ops[i], results[i].Err)
		return members[i]
	}
	for i, m := range members {
		if m.done, m.err = true, err; !unknown { // a server replies to a transaction before it carries out the next
			m.entered = Entered{Path: results[i].Path, Stat: Stat{Czxid: r.reply.Zxid, EphemeralOwner: c.SessionID()}}
		}
	}
	for i, m := range listed {
		if m.entered.Err = ErrNoReply; told {
			m.entered.Names, m.entered.Err = listings.reply.Results[i].Names, listings.verdict(&listings.ask.Ops[i], listings.reply.Results[i].Err)
		}
	}
	return nil
}
