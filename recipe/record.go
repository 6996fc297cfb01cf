package recipe

import (
	"errors"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// recordName is the name of the contenders' record: a child of the parent that is no contender's.
// It contains the token of whoever holds, and was not given up.
const recordName = "held"

func (c *contender) record() string { return znode.Join(c.cfg.Path, recordName) }

// write the token into the record while the own znode stands; if that fails, or nobody knows, see
// what is there.
func (c *contender) writeRecord(e machine.Record) {
	data := strconv.AppendInt(nil, e.Token, 10)
	op := session.CreateOp(c.record(), data)
	if e.Version >= 0 {
		op = session.SetOp(c.record(), data, e.Version)
	}
	c.client.Commit(e.Epoch, []session.Op{session.CheckOp(e.Path, -1), op}, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			c.answer(nil, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Token: e.Token, Version: e.Version + 1})
		case changed(err):
			c.client.Read(e.Epoch, c.record(), false, func(s seam.Seen) { c.answer(s.Err, written(e, s)) })
		default:
			c.answer(err, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Err: err})
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

func written(e machine.Record, s seam.Seen) machine.Recorded {
	found := machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Version: -1, Err: s.Err}
	if s.Exists {
		found.Version = s.Stat.Version
		found.Token, _ = strconv.ParseInt(strings.TrimSpace(string(s.Data)), 10, 64)
	}
	return found
}

// release deletes the own znode and the record at once. Where that cannot be, because one of them
// is gone, the own znode alone.
func (c *contender) release(e machine.Release) {
	ops := []session.Op{session.DeleteOp(e.Path, -1), session.DeleteOp(c.record(), -1)}
	c.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			c.answer(nil, machine.Removed{Epoch: e.Epoch, Path: e.Path})
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed): // word of that is on its way
		default:
			c.afterwards(func() { c.stayed(e, err) })
		}
	})
}

// stayed asks once more, or for less: what a crashed incarnation has not asked for yet is its
// successor's to do.
func (c *contender) stayed(e machine.Release, err error) {
	if errors.Is(err, session.ErrUnknownOutcome) {
		c.release(e) // if it was done, the own znode is missing now
		return
	}
	c.actor.carryOut(machine.Remove{Epoch: e.Epoch, Path: e.Path})
}
