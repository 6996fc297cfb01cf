package recipe

import (
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

func (h *claimant[P]) enter(e machine.Enter) {
	h.replacing = replacement{e.Epoch, e.Replace}
	switch {
	case h.cfg.Form == znode.Alone:
		h.enterSingle(e)
	case h.cfg.Parent == nil || h.ensured == e.Epoch:
		h.enterList(e)
	default:
		h.prepare(e)
	}
}

// prepare sees to the parent, once in an epoch, where data live in it: the session would make a
// container of it.
func (h *claimant[P]) prepare(e machine.Enter) {
	h.client.Ensure(e.Epoch, h.cfg.Path, false, h.cfg.Parent, func(err error) {
		if err != nil {
			h.answer(err, machine.Entered{Epoch: e.Epoch, Err: err})
			return
		}
		h.afterwards(func() {
			h.ensured = e.Epoch
			h.enterList(e)
		})
	})
}

func (h *claimant[P]) enterList(e machine.Enter) {
	j := session.Join{Parent: h.cfg.Path, Name: h.cfg.Name, Form: h.cfg.Form, Data: h.cfg.Data, Replace: e.Replace}
	h.client.JoinList(e.Epoch, j, h.onJoined, h.onListed(e.Ask, h.cfg.Path))
}

// enterSingle creates the one znode that there can be. While there is one, somebody is ahead.
func (h *claimant[P]) enterSingle(e machine.Enter) {
	parent, name := znode.Split(h.cfg.Path)
	h.client.Join(e.Epoch, session.Join{Parent: parent, Name: name, Form: znode.Alone, Data: h.cfg.Data}, func(a session.Joined) {
		if errors.Is(a.Err, session.ErrNodeExists) {
			a.Err = machine.ErrHeld
		}
		h.onJoined(a)
	})
}

func (h *claimant[P]) onJoined(a session.Joined) {
	h.answer(a.Err, machine.Entered{Epoch: a.Epoch, Path: a.Path, Czxid: a.Stat.Czxid, Owner: a.Stat.EphemeralOwner, Err: a.Err})
}
