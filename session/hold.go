package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
)

// Hold is a possession: a lock, say, that this process has until Done closes. It belongs to one
// epoch, and does not come back once it has ended. [Hold.Err] says how it has ended: it was
// released ([ErrReleased]), or lost ([ErrLost]) because
//
//   - trust ended ([ErrUntrusted]): at that instant, by this process's own clocks, with or without
//     a network;
//   - the connection was lost, under [WithStrict] ([ErrSuspended]);
//   - ZooKeeper said that the ZooKeeper session is over ([ErrExpired]);
//   - another client deleted its znode ([ErrDeleted]), which is known within a few milliseconds and
//     a round trip, or the ACL forbids this session to read it ([ErrNoAuth]);
//   - the part of this process that keeps it failed ([ErrRestarted]), or the session was closed
//     ([ErrClosed]).
type Hold struct {
	// Constant. A whole, made by [joinHolds], has parts; the rest it has from the first of them.
	session *Session
	client  *client
	epoch   *epoch
	path    string
	token   int64
	parts   []*Hold
	onEnd   func(cause error) // called once, after Done has closed

	writes atomic.Int32 // transactions under it that are under way
	// Its end, in this order: void perhaps, reason, ended, Done.
	void   atomic.Bool // Valid has returned false, so it must not return true again
	reason error       // guarded by the session's mutex until ended; a whole has none
	ended  atomic.Bool
	ctx    context.Context // see Context
	cancel context.CancelCauseFunc
	wholes []*Hold // end with this one; guarded by the session's mutex, and constant once ended
}

// Path returns the path of the possession's znode, below the namespace of the session.
func (h *Hold) Path() string { return h.path }

// Token returns the fencing token, a Czxid: it grows with each exclusive holder of the same lock or
// leadership.
func (h *Hold) Token() int64 { return h.token }

// Session returns the session that the possession belongs to.
func (h *Hold) Session() *Session { return h.session }

// Valid reports whether the possession is valid at this instant, by both clocks. It is false from
// Done on, possibly a moment earlier, and never becomes true again, except with trust if the
// possession outlives trust (barrier.WithUntilExpiry). It sends no request. A process that may be
// paused between Valid and what follows needs the token, or [Hold.Commit].
func (h *Hold) Valid() bool {
	if h.ended.Load() {
		return false
	}
	if h.parts != nil {
		return !slices.ContainsFunc(h.parts, func(p *Hold) bool { return !p.Valid() })
	}
	if h.void.Load() {
		return false
	}
	r := h.session.view.Read()
	if !r.Of(h.epoch.number) {
		return false
	}
	if h.client.lasting { // it outlives trust, so it does not become void
		return r.Good(h.session.clock.now()) && !h.ended.Load()
	}
	if !r.Good(h.session.clock.now()) {
		if h.session.view.Read() == r && h.void.CompareAndSwap(false, true) {
			h.session.tasks.run(func() { _ = h.lost() }) // in a task, since Valid waits for no lock
		}
		return !h.void.Load() && h.Valid() // trust was prolonged meanwhile
	}
	return !h.ended.Load() // trust that was regained does not bring back what had ended with it
}

// Done closes when the possession has ended. Err is set by then.
func (h *Hold) Done() <-chan struct{} { return h.ctx.Done() }

// Err is nil exactly while Done is open. Then it says how the possession ended: see [Hold].
func (h *Hold) Err() error { return context.Cause(h.ctx) }

// Context is cancelled when the possession ends; its cause is Err. A lock recognises contexts that
// descend from it.
func (h *Hold) Context() context.Context { return h.ctx }

// Hold makes a possession of what the client has won. token is the Czxid of the client's znode.
// ended is called once, when the hold is over, with its Err, from any goroutine, with no locks
// held; it must not block. Errors: [ErrExpired], [ErrClosed]; [ErrUntrusted]: wait for TrustGained;
// [ErrSuspended], under [WithStrict]: wait for Resumed; [ErrDeleted]: it is gone, which will be
// reported; [ErrReleased]: the client was left, so that nothing would end the hold.
func (t *client) Hold(number uint64, path string, token int64, ended func(cause error)) (*Hold, error) {
	h, err := t.hold(number, path, token, ended)
	switch {
	case err == nil:
		t.tellHeld(h)
	case errors.Is(err, ErrDeleted):
		t.session.znodes.returned(t, number, path) // if it stands all the same, nothing would fire
	}
	return h, t.space.failed("hold", path, err)
}

func (t *client) hold(number uint64, path string, token int64, ended func(error)) (*Hold, error) {
	s := t.session
	g := s.state.lock()
	defer g.unlock()
	e, k := g.current(number), &g.keeper
	switch {
	case g.closing:
		return nil, ErrClosed
	case e == nil:
		return nil, ErrExpired
	case !g.has(t):
		return nil, ErrReleased
	case s.cfg.strict && !e.up:
		return nil, ErrSuspended
	case g.record.lacksOrDeletes(path):
		return nil, ErrDeleted
	}
	now := s.clock.now()
	k.expire(e, now)
	if !k.lease.Stands() {
		if k.refused == 0 {
			k.refused = 1
			k.added(now)
		}
		return nil, ErrUntrusted
	}
	h := &Hold{session: s, client: t, epoch: e, path: path, token: token, onEnd: ended}
	// A possession is bounded by what ZooKeeper knows of this process, not by the context of the
	// caller that asked for it.
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(context.Background(), holdsKey{}, &held{hold: h}))
	g.holds[h] = struct{}{}
	t.holds[h] = struct{}{}
	k.added(now)
	k.checkSoon(now)
	return h, nil
}

// StandBy tells that the client may want a hold at any moment, being next in the queue, say: while
// it does, the session keeps its trust, so that [client.Hold] can give one at once. That costs a
// sync every sixth of the timeout; a session in which nothing is held and no client stands by sends
// none. A client that has not stood by may be refused with [ErrUntrusted]: then trust is asked for,
// and comes within a round trip, with TrustGained. It is for one epoch; the next begins without.
func (t *client) StandBy(number uint64, on bool) {
	s := t.session
	g := s.state.lock()
	defer g.unlock()
	_, already := g.keeper.standby[t]
	switch {
	case g.closing || !g.has(t) || g.current(number) == nil || on == already:
	case !on:
		delete(g.keeper.standby, t)
	default:
		g.keeper.standby[t] = struct{}{}
		g.keeper.added(s.clock.now())
	}
}

// End ends a hold of the client with a cause: [ErrReleased], or what it was lost by. False: it was
// over already, or had outlived the session's trust, so that it was lost before it was released. In
// either case it is done, and has its Err. Nothing under the hold, as by [Hold.Commit] or
// recipe.Under, is sent behind what is sent after End has returned. End does not wait for the
// network.
func (t *client) End(h *Hold, cause error) bool {
	stood := h.end(cause)
	<-h.Done() // prompt: another goroutine is ending it
	return stood
}

func (h *Hold) end(cause error) bool {
	g := h.session.state.lock()
	defer g.unlock()
	return g.endHold(h, cause)
}

// lost is how a possession has ended that is over, or that the clocks say is; nil if it stands.
func (h *Hold) lost() error {
	g := h.session.state.lock()
	defer g.unlock()
	g.keeper.doubt(h)
	if h.ended.Load() {
		return h.reason
	}
	return nil
}

// finish tells of the ends of holds: first the users of a possession, by its context, then the
// recipe that handed it out.
func finish(ended []*Hold) {
	var wholes []*Hold
	for _, h := range ended {
		h.cancel(h.reason)
		for _, w := range h.wholes {
			if w.markOver(h.reason) {
				wholes = append(wholes, w)
			}
		}
	}
	for _, h := range ended {
		h.client.session.tasks.call(func() { h.onEnd(h.reason) })
	}
	for _, w := range wholes {
		w.session.tasks.call(w.fallen)
	}
}

// Possession is anything that has a [Hold]: a grant, a term, an item, or the hold itself. A type
// becomes one by embedding *Hold.
type Possession interface{ possession() *Hold }

func (h *Hold) possession() *Hold { return h }

// holdOf is recipe.HoldOf.
func holdOf(p Possession) (h *Hold) {
	// Embedding alone leads to a hold, so it is a nil, p or one on the way, if this panics.
	defer func() { _ = recover() }()
	return p.possession()
}

type holdsKey struct{}

// held is a list of holds that a context stands under, innermost first.
type held struct {
	hold  *Hold
	outer *held
}

// holdsFrom is recipe.HoldsFrom, without the slice.
func holdsFrom(ctx context.Context) iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		at, _ := ctx.Value(holdsKey{}).(*held)
		for ; at != nil; at = at.outer {
			if !yield(at.hold) {
				return
			}
		}
	}
}

// under puts a hold in front of a list: of a whole, its parts.
func (h *Hold) under(outer *held) *held {
	if h.parts == nil {
		return &held{hold: h, outer: outer}
	}
	for _, p := range slices.Backward(h.parts) {
		outer = &held{hold: p, outer: outer}
	}
	return outer
}

// within is recipe.Within.
func within(ctx context.Context, p Possession) (context.Context, context.CancelFunc) {
	h := holdOf(p)
	if h == nil {
		inner, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("recipe.Within: p: no possession"))
		return inner, func() { cancel(nil) }
	}
	outer, _ := ctx.Value(holdsKey{}).(*held)
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, holdsKey{}, h.under(outer)))
	stop := context.AfterFunc(h.ctx, func() { cancel(h.Err()) })
	return inner, func() {
		stop()
		cancel(nil)
	}
}

// joinHolds is recipe.JoinHolds.
func joinHolds(parts []*Hold, ended func(cause error)) (joined *Hold, end func(cause error) bool) {
	first := parts[0]
	h := &Hold{
		session: first.session, client: first.client, epoch: first.epoch, path: first.path, token: first.token,
		parts: slices.Clone(parts), onEnd: ended,
	}
	// It is bounded by its parts, not by the context of the caller that asked for it.
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(context.Background(), holdsKey{}, h.under(nil)))
	end = func(cause error) bool {
		if cause == ErrReleased {
			if lost := h.lostPart(); lost != nil && h.markOver(lost) {
				h.fallen()
			}
		}
		over := h.markOver(ending(cause))
		if over {
			h.fallen()
		}
		<-h.Done() // prompt: another goroutine is ending it
		return over
	}
	for _, p := range parts {
		if err := p.bind(h); err != nil {
			if h.markOver(err) {
				h.fallen()
			}
			break
		}
	}
	return h, end
}

// ending is the Err of a hold that ends by a cause.
func ending(cause error) error {
	if cause == ErrReleased {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// bind makes a whole end with this part. The error is how the part ended, if it has already.
func (h *Hold) bind(joined *Hold) error {
	defer h.session.state.lock().unlock()
	if h.ended.Load() {
		return h.reason
	}
	h.wholes = append(h.wholes, joined)
	return nil
}

// markOver ends a whole; false if it had ended.
func (h *Hold) markOver(reason error) bool {
	if h.ended.Swap(true) {
		return false
	}
	h.cancel(reason)
	return true
}

// fallen detaches a whole that has ended from its parts, and tells its owner. A part that has ended
// too keeps its list, since the goroutine that ends it may be reading that.
func (h *Hold) fallen() {
	for _, p := range h.parts {
		g := p.session.state.lock()
		if !p.ended.Load() {
			p.wholes = slices.DeleteFunc(p.wholes, func(w *Hold) bool { return w == h })
		}
		g.unlock()
	}
	h.onEnd(h.Err())
}

// lostPart is how the first part has ended that is over, or that the clocks say is.
func (h *Hold) lostPart() error {
	for _, p := range h.parts {
		if err := p.lost(); err != nil {
			return err
		}
	}
	return nil
}

// scattered: the parts belong to several sessions, so that no transaction can check them all.
func (h *Hold) scattered() bool {
	return slices.ContainsFunc(h.parts, func(p *Hold) bool { return p.session != h.session })
}
