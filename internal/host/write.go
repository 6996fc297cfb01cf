package host

import (
	"errors"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/session"
)

// write carries out a write that depends on versions.
func (h *host[P]) write(e machine.Write) {
	ops := []session.Op{session.SetOp(e.Path, e.Data, e.Version)}
	if e.Guard.Path != "" {
		ops = append(ops, session.CheckOp(e.Guard.Path, e.Guard.Version))
	}
	h.client.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
		w := machine.Written{Epoch: e.Epoch, Ask: e.Ask}
		switch {
		case errors.Is(err, session.ErrUnknownOutcome), errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNoNode):
			w.Stale = true // an epoch that is over says so itself
		default:
			w.Err = err
		}
		h.answer(w)
	})
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
