package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Commit carries out all operations, or none of them, like [Session.Multi], but only while the
// possession stands: ZooKeeper itself checks, in the same transaction, that its znode is there. If
// it is not, or the possession was over before, the error is [ErrLost] and nothing was done. It is
// sent once and in the possession's epoch only; if the answer is lost, it returns
// [ErrUnknownOutcome] when a read can tell. The results are those of ops. Other errors are those of
// [Session.Multi], and [ErrUnsupported] for a lock.MultiGrant over several sessions.
//
// A transaction that was under way when the possession ended may have been carried out; then its
// znode still stood, and Commit tells so.
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
	if err := s.requests.fits(t.size()); err != nil {
		return nil, err
	}
	scope, cancel := Within(ctx, h)
	defer cancel()
	var at connRef
	for {
		if at, err = s.requests.conn(scope, h.epoch, at); err != nil {
			return nil, h.why(ctx, err)
		}
		if err := h.untrusted(); err != nil {
			return nil, err
		}
		results, err := send(ctx, &s.requests, h.epoch.conn, t.send)
		switch {
		case err == errLeft:
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, context.Cause(ctx))
		case errors.Is(err, zkconn.ErrNoReply):
			return nil, s.requests.settle(ctx, at, t.size(), err)
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
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// asLost makes the end of a hold the error of a commit: to one who wants to write, a hold that was
// released is lost as well.
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
		written.protect()
		err = s.requests.fits(written.size())
	}
	if err != nil {
		refuse := func() { done(nil, err) }
		if !s.tasks.run(refuse) {
			refuse()
		}
		return
	}
	over := func() {}
	if !s.znodes.takesDown(t, written.asks) {
		over = t.undertake()
	}
	t.entered(number, func(e *epoch) (func(), error) {
		creates, err := s.znodes.expect(t, e, written.asks)
		return func() {
			defer over()
			s.znodes.again(s.tasks.life, min(int(t.again.Load()), 8), "what was created is gone at once, again and again; pausing between attempts", "path", s.Path(ops[0].ask.Path))
			results, sent, err := s.znodes.commitOnce(e, &written)
			if g := written.lost(results, err); g != nil {
				results, err = written.unguarded(g), ErrNoNode
			}
			s.znodes.settled(t, creates, written.asks, sent, results, err)
			done(s.space.results(results), err)
		}, err
	}, func(err error) {
		defer over()
		done(nil, err)
	})
}

// takesDown reports whether a transaction deletes a znode of the client. It cannot come late: once
// that is deleted otherwise, the whole transaction fails.
func (z *znodes) takesDown(t *client, asks []jute.Request) bool {
	g := z.state.lock()
	defer g.unlock()
	return slices.ContainsFunc(asks, func(o jute.Request) bool {
		if o.Op != jute.OpDelete {
			return false
		}
		c := g.ledger.at(t, z.space.relative(o.Path))
		return c != nil && c.client == t
	})
}

// commitOnce sends a transaction once, as soon as there is a connection. It was carried out within
// the span, or not at all.
func (z *znodes) commitOnce(e *epoch, t *transaction) (results []zkconn.Result, sent span, err error) {
	lost := false
	err = z.insist(e, func(c *zkconn.Conn) (err error) {
		if lost {
			if err := caughtUp(c, "/"); err != nil {
				return retried(err) // what a server says against that says nothing of the transaction
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
