package recipe

import (
	"errors"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// recordName is the name of the contenders' record: a child of the parent that is no contender's.
// It contains the token of whoever holds, and was not given up.
const recordName = "held"

func (h *claimant[P]) record() string { return znode.Join(h.cfg.Path, recordName) }

// write the token into the record while the own znode stands; if that fails, or nobody knows, see
// what is there.
func (h *claimant[P]) writeRecord(e machine.Record) {
	data := strconv.AppendInt(nil, e.Token, 10)
	op := session.CreateOp(h.record(), data)
	if e.Version >= 0 {
		op = session.SetOp(h.record(), data, e.Version)
	}
	h.client.Commit(e.Epoch, []session.Op{session.CheckOp(e.Own, -1), op}, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			h.answer(nil, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Token: e.Token, Version: e.Version + 1})
		case changed(err):
			h.client.Read(e.Epoch, h.record(), false, func(s session.Seen) { h.answer(s.Err, written(e, s)) })
		default:
			h.answer(err, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Err: err})
		}
	})
}

// changed: things are not as they were thought to be, or it is not known how they are. A look
// tells.
func changed(err error) bool {
	for _, e := range []error{session.ErrNodeExists, session.ErrNoNode, session.ErrBadVersion, session.ErrUnknownOutcome} {
		if errors.Is(err, e) {
			return !errors.Is(err, session.ErrExpired) && !errors.Is(err, session.ErrClosed)
		}
	}
	return false
}

func written(e machine.Record, s session.Seen) machine.Recorded {
	found := machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Version: -1, Err: s.Err}
	if s.Exists {
		found.Version = s.Stat.Version
		found.Token, _ = strconv.ParseInt(strings.TrimSpace(string(s.Data)), 10, 64)
	}
	return found
}

// releaseWithRecord deletes the own znode and the record at once. Where that cannot be, because one
// of them is gone, the own znode alone. Its path is noted as spent before that is asked for: should
// this incarnation crash, the request may still be carried out, and nobody is to take over what it
// deletes.
func (h *claimant[P]) releaseWithRecord(e machine.Release) {
	h.leave(e.Path)
	h.ledger.spoil(e.Path)
	h.tryRelease(e)
}

func (h *claimant[P]) tryRelease(e machine.Release) {
	ops := []session.Op{session.DeleteOp(e.Path, -1), session.DeleteOp(h.record(), -1)}
	h.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			h.answer(nil, machine.Removed{Epoch: e.Epoch, Path: e.Path})
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed): // word of that is on its way
		default:
			h.afterwards(func() { h.stayed(e, err) })
		}
	})
}

// stayed asks once more, or for less: what a crashed incarnation has not asked for yet is its
// successor's to do.
func (h *claimant[P]) stayed(e machine.Release, err error) {
	if errors.Is(err, session.ErrUnknownOutcome) {
		h.tryRelease(e) // if it was done, the own znode is missing now
		return
	}
	h.actor.carryOut(machine.Remove{Epoch: e.Epoch, Path: e.Path})
}
