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
	h.seat.Commit(e.Epoch, ops, func(_ []session.Result, err error) {
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

// prepared sees to the parent, once in an epoch, where data live in it: the session would make a container of it.
func (h *host[P]) prepared(e machine.Join, join func()) {
	if h.cfg.Parent == nil || h.ensured == e.Epoch {
		join()
		return
	}
	h.ensured = e.Epoch
	h.seat.Ensure(e.Epoch, h.cfg.Path, false, h.cfg.Parent, func(err error) {
		if err != nil {
			h.answer(machine.Joined{Epoch: e.Epoch, Err: err})
			return
		}
		join()
	})
}
