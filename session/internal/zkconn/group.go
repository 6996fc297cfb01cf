package zkconn

import (
	"context"
	"errors"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// Entry describes the znode of a contender, for Enter.
type Entry struct {
	Path  string
	Data  []byte
	Flags int32 // without a time to live
	ACL   []jute.ACL

	Replace string // a znode to delete in the same transaction; "": none
	List    string // the znode whose children to list right after that, in the same round trip; "": none
}

// Entered is the result of Enter.
type Entered struct {
	Path string
	Stat Stat // of the new znode; zero if the server has no create2, or if another was replaced; from a group, it has Czxid and owner alone

	Names []string // of the listing
	Err   error    // of the listing: the znode is created nevertheless

	Missing bool // with ErrNoNode: the znode to replace does not exist
}

// Enter creates a znode, in one transaction with the deletion of the znode to replace if there is
// one, and lists its siblings.
func (c *Conn) Enter(e Entry) (Entered, error) {
	if e.Replace != "" {
		return c.enter(&e, e.request(jute.OpMulti)) // in which the Stat of a create2 is empty, at least in 3.8
	}
	if e.Flags == jute.FlagEphemeralSequential {
		return c.together(&member{request: e.request(jute.OpCreate), entry: e, parent: path.Dir(e.Path)})
	}
	return c.enterAlone(&e, e.request(jute.OpCreate))
}

func (c *Conn) enterAlone(e *Entry, r *request) (Entered, error) {
	if !c.lacks(jute.OpCreate2) { // which replies with the new znode's Stat; ZooKeeper has it since 3.5
		r.ask.Op = jute.OpCreate2
		if made, err := c.enter(e, r); !errors.Is(err, ErrUnsupported) {
			return made, err
		}
	}
	return c.enter(e, e.request(jute.OpCreate)) // r may have been sent
}

func (c *Conn) enter(e *Entry, r *request) (Entered, error) {
	rs := []*request{r}
	if e.List != "" {
		rs = append(rs, reading(jute.OpGetChildren2, e.List, false))
	}
	if err := c.do(rs...); err != nil {
		return Entered{}, err
	}
	made, err := rs[0].entered()
	if err == nil && e.List != "" {
		if made.Err = rs[1].outcome(); made.Err == nil {
			made.Names = rs[1].reply.Names
		}
	}
	return made, err
}

func (e *Entry) request(op jute.Op) *request {
	r := new(request) // no literal: copies of it on the stack would make that grow
	create := &r.ask
	if op == jute.OpMulti {
		r.ask.Op, r.ask.Ops = op, []jute.Request{{Op: jute.OpDelete, Path: e.Replace, Version: -1}, {}}
		create, op = &r.ask.Ops[1], jute.OpCreate
	}
	create.Op, create.Path, create.Data, create.Flags, create.ACL = op, e.Path, e.Data, e.Flags, e.ACL
	notNull(create)
	return r
}

func (r *request) entered() (Entered, error) {
	if r.ask.Op != jute.OpMulti {
		if err := r.outcome(); err != nil {
			return Entered{}, err
		}
		return Entered{Path: r.reply.Path, Stat: FromWire(&r.reply.Stat)}, nil
	}
	results, err := r.results()
	if err != nil {
		return Entered{Missing: len(results) > 0 && results[0].Err == jute.NoNode}, err
	}
	return Entered{Path: results[1].Path}, nil
}

// group makes one transaction of the creates and deletes that goroutines ask for at the same time.
// Each of them is a member, in [Conn.together]:
//
//	the first of a transaction      another one         one that may not be in it
//	     │ join                        │ join              │ join
//	     │ turn: a moment at most      │                   │
//	     │ carryOut                    │                   │
//	     ▼                             │                   │
//	  transact: a transaction of all, and in the same write the listings
//	     ├─ it has its place among the requests: placed ───┴─▶ is sent by itself, behind it
//	     ├─ a member is refused and has its error: transact without that one, once
//	     └─ decided ───────────────────┴─▶ is done and has its outcome, or is sent by itself
//
// The first few are sent at once, each by itself. A member that comes while those are under way
// waits until one of them is answered, a moment at most, and takes along the members that have come
// by then. Where a round trip is long, it does not wait, but only yields once.
type group struct {
	turns *semaphore.Weighted // of the members that are sent by themselves, or first
	near  atomic.Bool         // a request on this connection was answered within a few moments

	mu      sync.Mutex      // guards what follows
	parents map[string]bool // below which something was created, so that they are not missing
	// The next transaction. Both latches are nil as long as it has one member at most.
	members []*member
	placed  *notify.Latch // the members are sent, or will be one by one
	decided *notify.Latch // every member has its outcome, or is to be sent by itself
	// Transactions that were lost: see carried.
	lost  int           // size of the last one
	pause time.Duration // after the last one
	until time.Time     // until then there are no transactions
}

const (
	few         = 4                      // members are sent at once, each by itself; fewer make no transaction
	moment      = 500 * time.Microsecond // is how long a member waits at most
	mostParents = 10_000                 // are remembered
)

// member is a create or a delete.
type member struct {
	*request
	entry  Entry  // what is created
	parent string // of the znode

	done    bool // false: it is to be sent by itself
	entered Entered
	err     error
}

// together carries out a create or a delete, in a transaction or by itself.
func (c *Conn) together(m *member) (Entered, error) {
	if !c.alone && Size(m.ask) <= smallEnough && m.valid() {
		switch over, first := c.core.group.join(m); {
		case first: // its goroutine carries out the transaction, if others join
			if c.core.group.turn() {
				defer c.core.group.turns.Release(1)
			}
			c.carryOut()
		case over != nil:
			<-over.C() // closed by the first, which is under way
		}
	}
	switch {
	case m.done:
		return m.entered, m.err
	case m.parent != "": // it is a create, sent by itself
		made, err := c.enterAlone(&m.entry, m.request)
		if err == nil {
			c.core.group.knows(m.parent)
		}
		return made, err
	}
	_, err := c.one(m.request)
	return Entered{}, err
}

// join adds a member to the next transaction, which its first member carries out. It returns the
// latch to wait for; nil for the first member, and for one that is to be sent by itself now. Two
// contenders of one parent must not share a transaction: they would have the same Czxid, which is
// their token. So the second waits until the first is placed, and is then sent by itself. So does a
// second delete of one znode.
func (g *group) join(m *member) (over *notify.Latch, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	missing := m.parent != "" && !g.parents[m.parent]
	if missing || time.Now().Before(g.until) {
		return nil, false
	}
	first = len(g.members) == 0
	if !first && g.decided == nil {
		g.placed, g.decided = new(notify.Latch), new(notify.Latch)
	}
	if len(g.members) == mostReads || slices.ContainsFunc(g.members, func(o *member) bool { return o.parent == m.parent && (m.parent != "" || o.ask.Path == m.ask.Path) }) {
		return g.placed, false
	}
	g.members = append(g.members, m)
	return g.decided, first
}

// carried takes in the outcome of a transaction of that size. After a loss there are no
// transactions for a minute, since the server may have hung up at the size; after the next loss for
// twice as long, up to an hour. A transaction as large that is answered ends that, and so does an
// hour without a loss.
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

// turn waits for a turn, a moment at most.
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

// carryOut sends the members that have come. If one is refused, the others are sent once more.
func (c *Conn) carryOut() {
	c.core.group.mu.Lock()
	members, placed, decided := c.core.group.members, c.core.group.placed, c.core.group.decided
	c.core.group.members, c.core.group.placed, c.core.group.decided = nil, nil, nil
	c.core.group.mu.Unlock()
	if decided == nil {
		return // it is the only one, and is sent by itself
	}
	defer decided.Close()
	defer placed.Close()
	if refused := c.transact(members, placed); refused != nil {
		c.transact(slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m == refused }), placed)
	}
}

// transact sends a transaction, and in the same write the listings. If the servers refuse it
// because of one member, that member has its error and is returned. Otherwise the transaction was
// carried out, or its outcome is unknown, or it was not sent.
func (c *Conn) transact(members []*member, placed *notify.Latch) (refused *member) {
	if len(members) < few {
		return nil
	}
	r, listings := &request{ask: jute.Request{Op: jute.OpMulti}}, &request{ask: jute.Request{Op: jute.OpMultiRead}}
	r.holds = func() bool { placed.Close(); return true }
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
	told := len(rs) > 1 && listings.outcome() == nil && len(listings.reply.Results) == len(listed)
	lost := errors.Is(err, ErrNoReply) || len(rs) > 1 && listings.outcome() == ErrCutOff
	c.core.group.carried(max(r.size, listings.size), lost)
	common := errors.Is(err, ErrNoReply) || errors.Is(err, ErrThrottled) // the error is that of each member
	if err != nil && !common {
		i := slices.IndexFunc(results, func(p jute.Result) bool { return p.Err != jute.OK && p.Err != jute.RuntimeInconsistency })
		if i < 0 {
			return nil // it was refused as a whole: each is sent by itself
		}
		members[i].done, members[i].err = true, r.verdict(&r.ask.Ops[i], results[i].Err)
		return members[i]
	}
	for i, m := range members {
		m.done, m.err = true, err
		if err == nil { // the Zxid of the reply is the transaction's: a server replies before it carries out the next
			m.entered = Entered{Path: results[i].Path, Stat: Stat{Czxid: r.reply.Zxid, EphemeralOwner: c.SessionID()}}
		}
	}
	for i, m := range listed {
		m.entered.Err = ErrNoReply
		if told {
			m.entered.Names, m.entered.Err = listings.reply.Results[i].Names, listings.verdict(&listings.ask.Ops[i], listings.reply.Results[i].Err)
		}
	}
	return nil
}
