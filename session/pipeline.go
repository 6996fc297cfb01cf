package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// GetOp reads a znode's data, in a [Session.Pipeline].
func GetOp(path string) Op { return Op{ask: jute.Request{Op: jute.OpGetData, Path: path}} }

// ChildrenOp lists the names of a znode's children, in a [Session.Pipeline].
func ChildrenOp(path string) Op { return Op{ask: jute.Request{Op: jute.OpGetChildren2, Path: path}} }

// Pipeline carries out operations in order, later ones although earlier ones failed: it is no
// transaction. It sends them without a wait for the answers in between. What says that all of them
// are done, such as a znode "ready", is written by a call of its own, after an error of nil.
//
// There is a result for each operation, also with an error. The error is nil if and only if each
// has succeeded; else it is the first one, with the operation's index. All are sent once, on one
// connection, for which Pipeline waits. When that or ctx ends, those that were not sent have
// [ErrNotSent], and those that were and have no answer, reads too, [ErrUnknownOutcome]; both with
// [ErrExpired] if the epoch has ended. Pipeline returns when a read by the caller can tell the
// outcome, or with ctx's cause or [ErrClosed].
//
// A bad operation is refused before any is sent: one that is too large ([ErrTooLarge]); [CheckOp],
// which some servers never answer, and one under a possession ([ErrUnsupported]). At most 256
// operations and a mebibyte are under way, of all pipelines of the session, and its other requests
// go between them.
func (s *Session) Pipeline(ctx context.Context, ops ...Op) (results []Result, err error) {
	failed := func(i int, err error) error {
		return s.space.failed("pipeline", ops[i].ask.Path, fmt.Errorf("ops[%d]: %w", i, err))
	}
	results, space := slices.Repeat([]Result{{Err: ErrNotSent}}, len(ops)), s.space.making(ctx)
	var p zkconn.Pipeline
	for i, op := range ops {
		ask, err := space.operation(op, true)
		if results[i].Err = cmp.Or(err, s.sender.fits(p.Add(ask)), ErrNotSent); results[i].Err != ErrNotSent {
			return results, failed(i, results[i].Err)
		}
	}
	why := s.sender.pipeline(ctx, space, &p)
	for i, r := range slices.Backward(s.space.results(p.Results())) {
		switch r.Err {
		case zkconn.ErrNotSent:
			r.Err = fmt.Errorf("%w: %w", ErrNotSent, cmp.Or(why, ErrSuspended))
		case zkconn.ErrNoReply:
			if r.Err = ErrUnknownOutcome; why != nil {
				r.Err = fmt.Errorf("%w: %w", ErrUnknownOutcome, why)
			}
		}
		if results[i] = r; r.Err != nil {
			err = failed(i, r.Err)
		}
	}
	return results, err
}

// pipeline sends it, and waits. An error is why not each was answered, if that is not the loss of a
// connection alone.
func (q *sender) pipeline(ctx context.Context, space *namespace, p *zkconn.Pipeline) error {
	_, err := readOut(ctx, q, func(c *zkconn.Conn) (bool, error) { return space.rootMissing(c, ErrNoNode) })
	if err != ErrNoNode {
		return err
	}
	var at connRef
	cutOff := 0
	for again := true; again; again = errors.Is(err, zkconn.ErrNotSent) || errors.Is(err, zkconn.ErrEnded) {
		if at, err = q.conn(ctx, nil, at.lost(err)); err != nil {
			return err
		}
		cutOff, err = send(ctx, q, at.epoch.conn, p.Send)
	}
	switch {
	case err == errLeft:
		return context.Cause(ctx)
	case errors.Is(err, zkconn.ErrNoReply):
		_ = q.settle(ctx, at, cutOff, err) // ErrUnknownOutcome, with the first or second of what follows
		if left := context.Cause(ctx); left != nil {
			return q.state.because(left)
		}
		g := q.state.lock()
		ended := at.epoch.cause
		g.unlock()
		return cmp.Or(q.open(), ended)
	}
	return err
}
