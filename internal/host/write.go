package host

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// transact carries out a write that depends on versions.
func (h *host[P]) transact(e machine.Transact) {
	ops := make([]session.Op, len(e.Ops))
	for i, op := range e.Ops {
		if op.Do == machine.Set {
			ops[i] = session.SetOp(op.Path, op.Data, op.Version)
		} else {
			ops[i] = session.CheckOp(op.Path, op.Version)
		}
	}
	h.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		h.answer(machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: code(err), Failed: -1, Err: err})
	})
}

func code(err error) machine.Code {
	switch {
	case err == nil:
		return machine.Done
	case errors.Is(err, session.ErrUnknownOutcome):
		return machine.Unknown
	case errors.Is(err, session.ErrNoNode):
		return machine.NoNode
	case errors.Is(err, session.ErrBadVersion):
		return machine.BadVersion
	default:
		return machine.Refused
	}
}

// prepare sees to the parent, once in an epoch, where data live in it: the session would make a
// container of it. The join follows as a message, so that one of an incarnation that has crashed
// meanwhile does not come behind its successor's back.
func (h *host[P]) prepare(e machine.Enter) {
	if h.cfg.Parent == nil || h.ensured == e.Epoch {
		h.enterList(e)
		return
	}
	incarnation := h.self.Incarnation()
	h.client.Ensure(e.Epoch, h.cfg.Path, false, h.cfg.Parent, func(err error) {
		if err != nil {
			h.answer(machine.Entered{Epoch: e.Epoch, Err: err})
			return
		}
		h.ref.Tell(prepared{incarnation, e})
	})
}

func (h *host[P]) onPrepared(m prepared) {
	if m.incarnation == h.self.Incarnation() {
		h.ensured = m.enter.Epoch
		h.enterList(m.enter)
	}
}
