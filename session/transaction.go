package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// transaction is one that is ready to be sent.
type transaction struct {
	asks   []jute.Request
	guards []guard
}

// guard is an operation under a hold: see [Op.Under].
type guard struct {
	op   int
	hold *Hold
}

// transaction makes operations ready to be sent in a client's name.
func (s *Session) transaction(space *namespace, ops []Op) (transaction, error) {
	asks, err := space.operations(ops)
	t := transaction{asks: asks}
	if err != nil {
		return t, err
	}
	for i, op := range ops {
		switch {
		case op.hold == nil:
		case op.hold.session != s, op.hold.scattered():
			return t, fmt.Errorf("ops[%d]: %w: the possession belongs to another session", i, ErrUnsupported)
		default:
			t.guards = append(t.guards, guard{i, op.hold})
		}
	}
	return t, nil
}

// protect puts a GUID in front of the name of each ephemeral sequential znode, so that the name
// does not come again.
func (t *transaction) protect() {
	for i := range t.asks {
		if ask := &t.asks[i]; ask.Op == jute.OpCreate && ask.Flags == jute.FlagEphemeralSequential {
			parent, name := znode.Split(ask.Path)
			ask.Path = znode.Join(parent, znode.Protect(znode.NewGUID(), name))
		}
	}
}

// size is how large it is for a server.
func (t *transaction) size() int { return zkconn.SizeOf(t.asks...) }

// guardedBy puts the checks of a hold in front, one for each part, and returns how many they are.
func (t *transaction) guardedBy(h *Hold) int {
	var asks []jute.Request
	var guards []guard
	for p := range HoldsFrom(h.ctx) {
		guards = append(guards, guard{len(asks), h})
		asks = append(asks, jute.Request{Op: jute.OpCheck, Path: h.session.space.path(p.path), Version: -1})
	}
	for _, g := range t.guards {
		guards = append(guards, guard{len(asks) + g.op, g.hold})
	}
	t.asks, t.guards = append(asks, t.asks...), guards
	return len(asks)
}

// send sends it, unless a hold that it is under is over. That is looked at where its place among
// the session's requests is fixed. So whoever ends a hold, and sends something afterwards, can rely
// on it that the latter is carried out behind everything that was sent under the hold.
func (t *transaction) send(c *zkconn.Conn) ([]zkconn.Result, error) {
	for _, g := range t.guards {
		for p := range HoldsFrom(g.hold.ctx) {
			p.writes.Add(1)
			defer p.writes.Add(-1)
		}
	}
	return c.MultiWhile(t.stands, t.asks)
}

func (t *transaction) stands() bool {
	return !slices.ContainsFunc(t.guards, func(g guard) bool { return g.hold.isOver() })
}

// isOver tells whether the hold is over, without a look at the clocks. It takes no locks.
func (h *Hold) isOver() bool {
	return h.over.Load() || slices.ContainsFunc(h.parts, func(p *Hold) bool { return p.over.Load() })
}

// lost returns the guard for which the transaction was not carried out, whose hold is over then;
// nil if there is none. A check of the hold's znode that fails is how the hold learns that its
// znode is gone.
func (t *transaction) lost(results []zkconn.Result, err error) *guard {
	for i := range t.guards {
		g := &t.guards[i]
		switch {
		case err == zkconn.ErrCalledOff && g.hold.isOver():
		case g.op < len(results) && results[g.op].Err != nil && !errors.Is(results[g.op].Err, ErrRolledBack):
			part := g.hold.part(&t.asks[g.op])
			if part == nil {
				return nil // that operation failed as any other
			}
			part.client.End(part, ErrDeleted)
		default:
			continue
		}
		<-g.hold.Done() // by this, or by somebody who was quicker and is at it
		return g
	}
	return nil
}

// part is the part of a hold, or the hold itself, whose znode a request checks; nil if it does not.
func (h *Hold) part(ask *jute.Request) *Hold {
	for p := range HoldsFrom(h.ctx) {
		if ask.Op == jute.OpCheck && ask.Version == -1 && ask.Path == h.session.space.path(p.path) {
			return p
		}
	}
	return nil
}

// unguarded are the results of a transaction that was called off for a guard, as if its check had
// failed.
func (t *transaction) unguarded(g *guard) []zkconn.Result {
	results := make([]zkconn.Result, len(t.asks))
	for i := range results[g.op:] {
		results[g.op+i].Err = ErrRolledBack
	}
	results[g.op].Err = ErrNoNode
	return results
}
