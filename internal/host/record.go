package host

import (
	"errors"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Held is the name of the line's record: a child of the parent that is no contender's. It contains
// the token of whoever holds, and was not given up.
const Held = "held"

func (h *host[P]) record() string { return znode.Join(h.cfg.Path, Held) }

// write the token into the record while the own znode stands; if that fails, or nobody knows, see
// what is there.
func (h *host[P]) writeRecord(e machine.Record) {
	data := strconv.AppendInt(nil, e.Token, 10)
	op := session.CreateOp(h.record(), data)
	if e.Version >= 0 {
		op = session.SetOp(h.record(), data, e.Version)
	}
	h.client.Commit(e.Epoch, []session.Op{session.CheckOp(e.Own, -1), op}, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			h.answer(machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Token: e.Token, Version: e.Version + 1})
		case changed(err):
			h.client.Read(e.Epoch, h.record(), false, func(s session.Seen) { h.answer(recorded(e, s)) })
		default:
			h.answer(machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Err: err})
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

func recorded(e machine.Record, s session.Seen) machine.Recorded {
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
func (h *host[P]) releaseWithRecord(e machine.Release) {
	h.leave(e.Path)
	h.ledger.spoil(e.Path)
	h.tryRelease(e)
}

func (h *host[P]) tryRelease(e machine.Release) {
	incarnation := h.self.Incarnation()
	ops := []session.Op{session.DeleteOp(e.Path, -1), session.DeleteOp(h.record(), -1)}
	h.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			h.answer(machine.Removed{Epoch: e.Epoch, Path: e.Path})
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed): // word of that is on its way
		default:
			h.ref.Tell(stayed{incarnation, e, err})
		}
	})
}

// onStayed asks once more, or for less. It comes as a message, as a downgrade that is undone does:
// what a crashed incarnation has not asked for yet is its successor's to do.
func (h *host[P]) onStayed(m stayed) {
	switch {
	case m.incarnation != h.self.Incarnation():
	case errors.Is(m.err, session.ErrUnknownOutcome):
		h.tryRelease(m.release) // if it was done, the own znode is missing now
	default:
		h.carryOut(machine.Remove{Epoch: m.release.Epoch, Path: m.release.Path})
	}
}
