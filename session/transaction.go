package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seeded"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// transaction is one that is ready to be sent.
type transaction struct {
	asks   []jute.Request
	guards []checked // the holds that must not have ended when it is sent
}

// Result is the result of one operation, of a transaction or a [Session.Pipeline].
type Result struct {
	Path  string   // of CreateOp: the path of the new znode, sequence number included; "" if it failed
	Stat  Stat     // of SetOp, GetOp and ChildrenOp: the znode's, after SetOp with its new version
	Data  []byte   // of GetOp
	Names []string // of ChildrenOp: names, not paths, in no order
	Err   error    // of a pipeline: the operation's own; of a transaction: nil if it was carried out; if not, the cause at the operation that failed, nil before it, ErrRolledBack behind it
}

// checked is an operation under a hold: see under.
type checked struct {
	op   int // its index in the transaction
	hold *Hold
}

// transaction makes operations ready to be sent in a client's name.
func (s *Session) transaction(space *namespace, ops []Op) (t transaction, err error) {
	if len(ops) == 0 {
		return t, errors.New("ops: none is given")
	}
	for i, op := range ops {
		ask, err := space.operation(op, false)
		if err == nil && op.hold != nil && (op.hold.session != s || op.hold.scattered()) {
			err = fmt.Errorf("%w: the possession belongs to another session", ErrUnsupported)
		}
		if err != nil {
			return t, fmt.Errorf("ops[%d]: %w", i, err)
		}
		if t.asks = append(t.asks, ask); op.hold != nil {
			t.guards = append(t.guards, checked{i, op.hold})
		}
	}
	return t, nil
}

// protect puts a GUID in front of the name of each ephemeral sequential znode, so that the name
// does not come again.
func (t *transaction) protect(source *seeded.Source) {
	for i := range t.asks {
		if ask := &t.asks[i]; ask.Op == jute.OpCreate && ask.Flags == jute.FlagEphemeralSequential {
			parent, name := znode.Split(ask.Path)
			ask.Path = znode.Join(parent, znode.Protect(znode.DrawGUID(source), name))
		}
	}
}

func (t *transaction) size() int { return zkconn.SizeOf(t.asks...) }

// guardedBy puts the checks of a hold in front, one for each part, and returns how many they are.
func (t *transaction) guardedBy(h *Hold) int {
	var asks []jute.Request
	var guards []checked
	for p := range holdsFrom(h.ctx) {
		guards = append(guards, checked{len(asks), h})
		asks = append(asks, jute.Request{Op: jute.OpCheck, Path: h.session.space.path(p.path), Version: -1})
	}
	for _, g := range t.guards {
		guards = append(guards, checked{len(asks) + g.op, g.hold})
	}
	t.asks, t.guards = append(asks, t.asks...), guards
	return len(asks)
}

// send sends it, unless one of its guards has ended. That is checked when its place among the
// session's requests is fixed. So a request that is sent after the end of a hold is carried out
// behind everything that was sent under the hold.
func (t *transaction) send(c *zkconn.Conn) ([]zkconn.Result, error) {
	for _, g := range t.guards {
		for p := range holdsFrom(g.hold.ctx) {
			p.writes.Add(1)
			defer p.writes.Add(-1) // at the end of send
		}
	}
	return c.MultiWhile(t.permitted, t.asks)
}

func (t *transaction) permitted() bool {
	return !slices.ContainsFunc(t.guards, func(g checked) bool { return g.hold.isOver() })
}

// isOver tells whether the hold is over, by its flags and not by the clocks. It takes no locks.
func (h *Hold) isOver() bool {
	return h.ended.Load() || slices.ContainsFunc(h.parts, func(p *Hold) bool { return p.ended.Load() })
}

// lost returns the guard because of which the transaction was not carried out, and whose hold is
// over then; nil if there is none. The hold ended before the transaction was sent; or the check of
// its znode has failed, by which the hold learns that the znode is gone.
func (t *transaction) lost(results []zkconn.Result, err error) *checked {
	for i := range t.guards {
		g := &t.guards[i]
		switch {
		case err == zkconn.ErrCalledOff && g.hold.isOver(): // it was not sent
		case g.op < len(results) && results[g.op].Err != nil && !errors.Is(results[g.op].Err, ErrRolledBack): // the operation failed
			part := g.hold.part(&t.asks[g.op])
			if part == nil {
				return nil // as any operation may: it does not check the hold's znode
			}
			part.client.End(part, ErrDeleted)
		default:
			continue
		}
		<-g.hold.Done() // prompt: it has ended above, or another goroutine is ending it
		return g
	}
	return nil
}

// part is the part of a hold, or the hold itself, whose znode a request checks; nil if it does not.
func (h *Hold) part(ask *jute.Request) *Hold {
	for p := range holdsFrom(h.ctx) {
		if ask.Op == jute.OpCheck && ask.Version == -1 && ask.Path == h.session.space.path(p.path) {
			return p
		}
	}
	return nil
}

// unguarded are the results of a transaction that was called off for a guard, as if its check had
// failed.
func (t *transaction) unguarded(g *checked) []zkconn.Result {
	results := make([]zkconn.Result, len(t.asks))
	for i := range results[g.op:] {
		results[g.op+i].Err = ErrRolledBack
	}
	results[g.op].Err = ErrNoNode
	return results
}

// Op is one operation, for [Session.Multi], [Hold.Commit] and [Session.Pipeline]. [CreateOp],
// [SetOp] and [DeleteOp] make one; for transactions alone [CheckOp], for pipelines alone [GetOp]
// and [ChildrenOp].
type Op struct {
	ask  jute.Request // its path is the session's, without the namespace
	err  error        // what is wrong with it
	hold *Hold        // see under
}

// under is recipe.Under.
func under(o Op, p Possession) Op {
	if o.hold = holdOf(p); o.hold == nil && o.err == nil {
		o.err = fmt.Errorf("recipe.Under: p: %w: no possession", ErrLost)
	}
	return o
}

// CheckOp fails the transaction unless the znode exists and has this version; -1 stands for any.
func CheckOp(path string, version int32) Op {
	return Op{ask: jute.Request{Op: jute.OpCheck, Path: path, Version: version}}
}

// SetOp replaces a znode's data if it has this version; -1 stands for any.
func SetOp(path string, data []byte, version int32) Op {
	return Op{ask: jute.Request{Op: jute.OpSetData, Path: path, Data: data, Version: version}}
}

// DeleteOp deletes a childless znode if it has this version; -1 stands for any.
func DeleteOp(path string, version int32) Op {
	return Op{ask: jute.Request{Op: jute.OpDelete, Path: path, Version: version}}
}

// CreateOp creates a znode. The options [Ephemeral], [Sequential] and [WithNodeACL] are possible;
// others are [ErrUnsupported]. The parent has to exist, and the znode must not: what may exist
// already is made before, by [Session.EnsurePath] or [Session.Create].
func CreateOp(path string, data []byte, opts ...CreateOption) Op {
	spec, err := newCreation(opts)
	op := Op{ask: jute.Request{Op: jute.OpCreate, Path: path, Data: data, Flags: spec.mode, ACL: spec.acl}, err: err}
	if err == nil && (spec.parents || spec.protected || spec.mode > jute.FlagEphemeralSequential) {
		op.err = fmt.Errorf("%w: in a transaction or a pipeline only Ephemeral, Sequential and WithNodeACL", ErrUnsupported)
	}
	return op
}

// Commit carries out all operations, or none of them, like [Session.Multi], but only while the
// possession lasts: ZooKeeper checks in the same transaction that its znode exists. If it does not,
// or the possession had ended before, the error is [ErrLost] and nothing was done. Commit sends the
// transaction once, and in the possession's epoch only; if the answer is lost, it returns
// [ErrUnknownOutcome] as soon as a read can tell the outcome. The results are those of ops. Other
// errors are those of [Session.Multi], and [ErrUnsupported] for a lock.MultiGrant over several
// sessions.
//
// A transaction that was under way when the possession ended may have been carried out. Then its
// znode still existed, and Commit returns that it was.
func (h *Hold) Commit(ctx context.Context, ops ...Op) ([]Result, error) {
	results, err := h.commit(ctx, ops)
	return results, h.session.space.failed("commit", h.path, err)
}

func (h *Hold) commit(ctx context.Context, ops []Op) ([]Result, error) {
	s := h.session
	t, err := s.transaction(&s.space, ops)
	if err != nil {
		return nil, err
	}
	if err := h.Err(); err != nil {
		return nil, asLost(err)
	}
	if err := h.untrusted(); err != nil {
		return nil, err
	}
	if h.scattered() {
		return nil, fmt.Errorf("%w: the parts of the possession belong to several sessions", ErrUnsupported)
	}
	checks := t.guardedBy(h)
	if err := s.sender.fits(t.size()); err != nil {
		return nil, err
	}
	scope, cancel := within(ctx, h)
	defer cancel()
	var at connRef
	for {
		if at, err = s.sender.conn(scope, h.epoch, at); err != nil {
			return nil, h.why(ctx, err)
		}
		if err := h.untrusted(); err != nil {
			return nil, err
		}
		results, err := send(ctx, &s.sender, h.epoch.conn, t.send)
		switch {
		case err == errLeft:
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, context.Cause(ctx))
		case errors.Is(err, zkconn.ErrNoReply):
			return nil, s.sender.settle(ctx, at, t.size(), err)
		case err == nil, definite(err):
			if g := t.lost(results, err); g != nil {
				return nil, asLost(g.hold.Err())
			}
			return s.space.results(results[min(checks, len(results)):]), err
		}
		at = at.lost(err)
	}
}

// untrusted is why a possession that has outlived trust may not commit; nil for others.
func (h *Hold) untrusted() error {
	if h.client.lasting && !h.Valid() {
		return asLost(ErrUntrusted)
	}
	return nil
}

// why tells why there was nothing to send the transaction over: the hold's end, rather than what
// follows from it.
func (h *Hold) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return h.session.state.because(context.Cause(ctx))
	}
	if over := h.Err(); over != nil {
		return asLost(over)
	}
	if errors.Is(err, ErrExpired) || errors.Is(err, ErrClosed) {
		return asLost(err)
	}
	return err
}

// asLost makes the end of a hold the error of a commit: for a write, a hold that was released is
// lost as well.
func asLost(err error) error {
	if errors.Is(err, ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// Commit carries out a transaction in an epoch, once. done gets [ErrUnknownOutcome] if the answer
// was lost, when that can be seen by reading. The ephemeral znodes that it creates are the
// client's: they are in the session's record before it is sent, and [client.Leave] and
// [client.Recover] know of them. A sequential one gets a GUID in front of its name, as by
// [client.Join], and is found again by that.
func (t *client) Commit(number uint64, ops []Op, done func([]Result, error)) {
	s := t.session
	written, err := s.transaction(&t.space, ops)
	if err == nil {
		written.protect(s.cfg.source)
		err = s.sender.fits(written.size())
	}
	if err != nil {
		refuse := func() { done(nil, err) }
		if !s.tasks.run(refuse) {
			refuse()
		}
		return
	}
	over := func() {}
	if !s.znodes.takesDown(t, written.asks) { // else no recovery has to wait for it
		over = t.undertake()
	}
	t.entered(number, func(e *epoch) (func(), error) {
		creates, err := s.znodes.expect(t, e, written.asks)
		return func() {
			defer over()
			s.znodes.pauseIfRepeated(s.tasks.life, min(int(t.repeats.Load()), mostRepeats), "what was created is gone at once, again and again; pausing between attempts", "path", s.Path(ops[0].ask.Path))
			results, sent, err := s.znodes.commitOnce(e, &written)
			if g := written.lost(results, err); g != nil {
				results, err = written.unguarded(g), ErrNoNode // see under
			}
			s.znodes.recordOutcome(t, creates, written.asks, sent, results, err)
			done(s.space.results(results), err)
		}, err
	}, func(err error) {
		defer over()
		done(nil, err)
	})
}

// takesDown reports whether a transaction deletes a znode of the client. Such a transaction is not
// carried out late: once the znode is deleted otherwise, the whole of it fails.
func (z *znodes) takesDown(t *client, asks []jute.Request) bool {
	g := z.sender.state.lock()
	defer g.unlock()
	return slices.ContainsFunc(asks, func(o jute.Request) bool {
		if o.Op != jute.OpDelete {
			return false
		}
		n := g.record.at(t, z.space.relative(o.Path))
		return n != nil && n.client == t
	})
}

// commitOnce sends a transaction once, as soon as there is a connection. It was carried out within
// the span, or not at all.
func (z *znodes) commitOnce(e *epoch, t *transaction) (results []zkconn.Result, sent span, err error) {
	lost := false
	err = z.sender.insist(e, func(c *zkconn.Conn) (err error) {
		if lost {
			if err := caughtUp(c, "/"); err != nil {
				return retried(err) // a refusal of the check says nothing of the transaction
			}
			sent.until = c.LastZxid()
			return ErrUnknownOutcome
		}
		sent.after = c.LastZxid()
		results, err = t.send(c)
		sent.until, lost = c.LastZxid(), errors.Is(err, zkconn.ErrNoReply)
		return err
	})
	if lost && (errors.Is(err, ErrExpired) || errors.Is(err, ErrClosed)) {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return results, sent, err
}
