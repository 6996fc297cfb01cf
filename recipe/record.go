package recipe

import (
	"errors"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

func (c *entrant) record() string { return znode.Join(c.host.cfg.Path, znode.HeldRecord) }

// write the token into the record while the own znode stands; if that fails, or nobody knows, see
// what is there.
func (c *entrant) writeRecord(e machine.Record) {
	by, _ := znode.CutIdentity(c.data)
	data := znode.Record{Token: e.Token, By: by}.Bytes()
	op := session.CreateOp(c.record(), data)
	if e.Version >= 0 {
		op = session.SetOp(c.record(), data, e.Version)
	}
	c.host.client.Commit(e.Epoch, []session.Op{session.CheckOp(e.Path, -1), op}, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			c.actor.answer(nil, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Token: e.Token, Version: e.Version + 1})
		case changed(err):
			c.host.client.Read(e.Epoch, c.record(), false, func(s seam.Seen) { c.found(e, s) })
		default:
			c.actor.answer(err, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Err: err})
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

// found answers with what the record contains. A contender that waits for a delay then notes that
// there before, for those who look on: nothing depends on it.
func (c *entrant) found(e machine.Record, s seam.Seen) {
	found := machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Version: -1, Err: s.Err}
	r := znode.ParseRecord(s.Data)
	if s.Exists {
		found.Version, found.Token = s.Stat.Version, r.Token
	}
	if found.Token == 0 || found.Token == e.Token || r.Waits == e.Token || e.Delay == 0 {
		c.actor.answer(s.Err, found)
		return
	}
	r.Waits, r.Delay = e.Token, e.Delay
	ops := []session.Op{session.CheckOp(e.Path, -1), session.SetOp(c.record(), r.Bytes(), found.Version)}
	c.host.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		if err == nil {
			found.Version++
		}
		c.actor.answer(nil, found)
	})
}

// release deletes the own znode and the record at once. Where that cannot be, because one of them
// is gone, the own znode alone.
func (c *entrant) release(e machine.Release) {
	ops := []session.Op{session.DeleteOp(e.Path, -1), session.DeleteOp(c.record(), -1)}
	c.host.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			c.actor.answer(nil, machine.Removed{Epoch: e.Epoch, Path: e.Path})
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed): // word of that is on its way
		default:
			c.actor.afterwards(func() { c.stayed(e, err) })
		}
	})
}

// stayed asks once more, or for less: what a crashed incarnation has not asked for yet is its
// successor's to do.
func (c *entrant) stayed(e machine.Release, err error) {
	if errors.Is(err, session.ErrUnknownOutcome) {
		c.release(e) // if it was done, the own znode is missing now
		return
	}
	c.actor.carryOut(machine.Remove{Epoch: e.Epoch, Path: e.Path})
}
