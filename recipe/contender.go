package recipe

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// The requests of contenders: a position in the queue, and the record beside the contenders.

// enter creates the own znode.
func (a *actor) enter(e machine.Enter) {
	switch cfg := &a.host.core.cfg; {
	case cfg.Form == Alone:
		a.enterSingle(e)
	case cfg.Parent == nil || a.ensured == e.Epoch:
		a.enterList(e)
	default:
		a.ensureParent(e)
	}
}

// ensureParent makes the parent, once in an epoch, if it has data: without it the session would
// make a container.
func (a *actor) ensureParent(e machine.Enter) {
	a.host.client.Ensure(e.Epoch, a.host.cfg.Path, false, a.host.core.cfg.Parent, func(err error) {
		if err != nil {
			a.answer(err, machine.Entered{Epoch: e.Epoch, Err: err})
			return
		}
		a.afterwards(func() {
			a.ensured = e.Epoch
			a.enterList(e)
		})
	})
}

func (a *actor) enterList(e machine.Enter) {
	cfg := &a.host.core.cfg
	j := seam.Join{Parent: cfg.Path, Name: cfg.Name, Form: cfg.Form, Data: cfg.Data, Replace: e.Replace}
	a.host.client.JoinList(e.Epoch, j, a.onJoined, a.onListed(e.Ask, cfg.Path))
}

// enterSingle creates the one znode that there can be. If it exists, another contender is ahead.
func (a *actor) enterSingle(e machine.Enter) {
	parent, name := znode.Split(a.host.cfg.Path)
	join := seam.Join{Parent: parent, Name: name, Form: Alone, Data: a.host.core.cfg.Data}
	a.host.client.Join(e.Epoch, join, func(j seam.Joined) {
		if errors.Is(j.Err, session.ErrNodeExists) {
			j.Err = machine.ErrHeld
		}
		a.onJoined(j)
	})
}

func (a *actor) onJoined(j seam.Joined) {
	if errors.Is(j.Err, session.ErrTooLarge) {
		j.Err = fmt.Errorf("data: %w", j.Err)
	}
	a.answer(j.Err, machine.Entered{Epoch: j.Epoch, Path: j.Path, Czxid: j.Stat.Czxid, Owner: j.Stat.EphemeralOwner, Err: j.Err})
}

func (a *actor) recordPath() string { return znode.Join(a.host.cfg.Path, znode.HeldRecord) }

// writeRecord writes the token into the record, in a transaction that checks that the own znode
// exists. If a znode is not as expected, or the outcome is unknown, the record is read. Any other
// error is the answer.
func (a *actor) writeRecord(e machine.Record) {
	by, _ := znode.CutIdentity(a.host.core.cfg.Data)
	data := znode.Record{Token: e.Token, By: by}.Bytes()
	op := session.CreateOp(a.recordPath(), data)
	if e.Version >= 0 {
		op = session.SetOp(a.recordPath(), data, e.Version)
	}
	a.host.client.Commit(e.Epoch, []session.Op{session.CheckOp(e.Path, -1), op}, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			a.answer(nil, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Token: e.Token, Version: e.Version + 1})
		case changed(err):
			a.host.client.Read(e.Epoch, a.recordPath(), false, func(s seam.Seen) { a.onRecordSeen(e, s) })
		default:
			a.answer(err, machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Err: err})
		}
	})
}

// changed tells whether a transaction failed because a znode is not as expected, or has an unknown
// outcome. Then a read tells.
func changed(err error) bool {
	for _, e := range []error{session.ErrNodeExists, session.ErrNoNode, session.ErrBadVersion, session.ErrUnknownOutcome} {
		if errors.Is(err, e) {
			return !errors.Is(err, session.ErrExpired) && !errors.Is(err, session.ErrClosed)
		}
	}
	return false
}

// onRecordSeen answers with the content of the record. A contender that waits out another's delay
// writes so into the record first, once, for observers: no contender depends on it.
func (a *actor) onRecordSeen(e machine.Record, s seam.Seen) {
	found := machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Version: -1, Err: s.Err}
	r := znode.ParseRecord(s.Data)
	if s.Exists {
		found.Version, found.Token = s.Stat.Version, r.Token
	}
	mineOrNone := found.Token == 0 || found.Token == e.Token
	if mineOrNone || e.Delay == 0 || r.Waits == e.Token {
		a.answer(s.Err, found)
		return
	}
	r.Waits, r.Delay = e.Token, e.Delay
	ops := []session.Op{session.CheckOp(e.Path, -1), session.SetOp(a.recordPath(), r.Bytes(), found.Version)}
	a.host.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		if err == nil {
			found.Version++
		}
		a.answer(nil, found)
	})
}

// release deletes the own znode and the record in one transaction. If its outcome is unknown, it is
// repeated. After any other error, as when the record is gone, the own znode alone is deleted.
func (a *actor) release(e machine.Release) {
	ops := []session.Op{session.DeleteOp(e.Path, -1), session.DeleteOp(a.recordPath(), -1)}
	a.host.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case err == nil:
			a.answer(nil, machine.Removed{Epoch: e.Epoch, Path: e.Path})
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed): // the end of the epoch is told
		default:
			a.afterwards(func() { a.releaseAgain(e, err) })
		}
	})
}

// releaseAgain goes on after a transaction of release that failed. It runs in the actor: a crashed
// incarnation repeats nothing, and its successor deletes the znode.
func (a *actor) releaseAgain(e machine.Release, err error) {
	if errors.Is(err, session.ErrUnknownOutcome) {
		a.release(e) // if it was done, the own znode is missing now
		return
	}
	a.carryOut(machine.Remove{Epoch: e.Epoch, Path: e.Path})
}
