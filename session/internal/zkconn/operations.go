package zkconn

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

// operations is what is known of the operations that the servers have. Servers that lack one reply
// with Unimplemented, or just hang up. Under the Conn's mu.
type operations struct {
	answered map[jute.Op]bool // those that were, and those that every ZooKeeper since 3.4 has
	parts    map[jute.Op]bool // the same, within a transaction
	refused  map[jute.Op]bool // with Unimplemented
	lost     map[jute.Op]int  // connections that servers may have closed for such a request
}

// How many connections may be lost before the servers are taken to lack the operation, if no
// request of it was answered.
const (
	lostLimit  = 2
	surelyLost = 3 // where a mistake would last: one more, which was alone
)

func newOperations() operations {
	set := func(ops ...jute.Op) map[jute.Op]bool {
		all := map[jute.Op]bool{}
		for _, op := range ops {
			all[op] = true
		}
		return all
	}
	return operations{
		answered: set(jute.OpCreate, jute.OpDelete, jute.OpExists, jute.OpGetData, jute.OpSetData, jute.OpGetACL, jute.OpSetACL,
			jute.OpGetChildren, jute.OpGetChildren2, jute.OpSync, jute.OpMulti),
		parts:   set(jute.OpCreate, jute.OpDelete, jute.OpSetData, jute.OpCheck),
		refused: set(),
		lost:    map[jute.Op]int{},
	}
}

// took notes a request that was answered.
func (o operations) took(r *request) {
	if r.reply.Err == jute.Unimplemented {
		o.refused[r.ask.Op] = true
		return
	}
	o.answered[r.ask.Op] = true
	for i := range r.ask.Ops {
		o.parts[r.ask.Ops[i].Op] = true
	}
}

// missed notes a request whose connection was lost: one of its kind, however many were under way.
func (o operations) missed(r *request, w *socket) {
	if err := r.outcome(); errors.Is(err, ErrCutOff) && !errors.Is(err, ErrCutOffUsual) && !slices.Contains(w.missed, r.ask.Op) {
		w.missed = append(w.missed, r.ask.Op)
		o.lost[r.ask.Op]++
	}
}

// has tells whether servers are known to answer all operations of a request. Those that have
// create2 have containers.
func (o operations) has(r *request) bool {
	for i := range r.ask.Ops {
		if !o.parts[r.ask.Ops[i].Op] {
			return false
		}
	}
	return o.answered[r.ask.Op] || r.ask.Op == jute.OpCreateContainer && o.answered[jute.OpCreate2]
}

// lacks tells whether servers refused an operation, or may have hung up so many times at requests
// of it while none was answered.
func (o operations) lacks(op jute.Op, lost int) bool {
	return o.refused[op] || !o.answered[op] && o.lost[op] >= lost
}

// lacks tells whether the servers seem to lack an operation that others can stand in for.
func (c *Conn) lacks(op jute.Op) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.operations.lacks(op, lostLimit)
}

// lacksContainers tells whether the servers lack containers. The network may be why requests were
// lost, and a parent that is made persistent instead stays for ever. So where servers hung up, they
// are asked for create2 as well, until that is answered or surely lacking.
func (c *Conn) lacksContainers() bool {
	lacking, surely := c.containers()
	if lacking && !surely {
		// The servers refuse this one, since the root exists.
		_ = c.Alone().do(&request{ask: jute.Request{Op: jute.OpCreate2, Path: "/", Data: []byte{}, ACL: jute.OpenACL()}})
		_, surely = c.containers()
	}
	return surely
}

// containers tells whether containers seem to be lacking, and whether they surely are.
func (c *Conn) containers() (lacking, surely bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.operations
	if o.answered[jute.OpCreate2] { // something else was the reason
		delete(o.lost, jute.OpCreateContainer)
	}
	lacking = o.lacks(jute.OpCreateContainer, lostLimit)
	return lacking, lacking && (o.refused[jute.OpCreateContainer] || o.lacks(jute.OpCreate2, surelyLost))
}
