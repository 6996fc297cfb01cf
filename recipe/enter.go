package recipe

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// entrant asks ZooKeeper for what contenders need: a place in line, the record beside it, a
// reader's place for a writer's. The machine gets definite answers.
type entrant struct {
	host   *Host
	actor  *actor
	name   string
	form   znode.Form
	data   []byte
	parent []byte // see ClaimsConfig

	ensured uint64 // the epoch in which the parent was seen to
}

func (c *entrant) enter(e machine.Enter) {
	switch {
	case c.form == znode.Alone:
		c.enterSingle(e)
	case c.parent == nil || c.ensured == e.Epoch:
		c.enterList(e)
	default:
		c.prepare(e)
	}
}

// prepare sees to the parent, once in an epoch, where data live in it: the session would make a
// container of it.
func (c *entrant) prepare(e machine.Enter) {
	c.host.client.Ensure(e.Epoch, c.host.cfg.Path, false, c.parent, func(err error) {
		if err != nil {
			c.actor.answer(err, machine.Entered{Epoch: e.Epoch, Err: err})
			return
		}
		c.actor.afterwards(func() {
			c.ensured = e.Epoch
			c.enterList(e)
		})
	})
}

func (c *entrant) enterList(e machine.Enter) {
	j := seam.Join{Parent: c.host.cfg.Path, Name: c.name, Form: c.form, Data: c.data, Replace: e.Replace}
	c.host.client.JoinList(e.Epoch, j, c.onJoined, c.actor.onListed(e.Ask, c.host.cfg.Path))
}

// enterSingle creates the one znode that there can be. While there is one, somebody is ahead.
func (c *entrant) enterSingle(e machine.Enter) {
	parent, name := znode.Split(c.host.cfg.Path)
	c.host.client.Join(e.Epoch, seam.Join{Parent: parent, Name: name, Form: znode.Alone, Data: c.data}, func(a seam.Joined) {
		if errors.Is(a.Err, session.ErrNodeExists) {
			a.Err = machine.ErrHeld
		}
		c.onJoined(a)
	})
}

func (c *entrant) onJoined(a seam.Joined) {
	if errors.Is(a.Err, session.ErrTooLarge) {
		a.Err = fmt.Errorf("data: %w", a.Err)
	}
	c.actor.answer(a.Err, machine.Entered{Epoch: a.Epoch, Path: a.Path, Czxid: a.Stat.Czxid, Owner: a.Stat.EphemeralOwner, Err: a.Err})
}
