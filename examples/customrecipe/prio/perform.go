package prio

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// standing are the wishes that stand: for a machine that was made anew. A claim whose possession
// was had, or that was given up, is over.
func (l *Lock) standing() []machine.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.claim
	if c == nil {
		return nil
	}
	if c.given || c.grant != nil {
		l.over(c)
		return nil
	}
	return []machine.Event{c.want}
}

// perform gives the application what the machine says. It is called by the actor.
func (l *Lock) perform(e machine.Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.claim
	if c == nil {
		return
	}
	switch e := e.(type) {
	case granted:
		if e.Claim == c.want.Claim {
			l.grant(c, e)
		}
	case ended:
		if e.Claim == c.want.Claim && c.grant != nil {
			l.host.End(c.grant.Hold, session.ErrDeleted)
		}
	case revoked:
		if e.Claim == c.want.Claim && c.grant != nil {
			once(c.grant.revoked)
		}
	case gone:
		if e.Claim == c.want.Claim {
			l.leftNothing(c)
		}
	case failed:
		if e.Claim == c.want.Claim {
			c.refused = true
			c.answer <- e.Err
			l.over(c)
		}
	}
}

// grant makes the possession and gives it to the caller. With the mutex.
func (l *Lock) grant(c *claim, e granted) {
	if c.given {
		return // word of that is on its way
	}
	hold, err := l.host.Hold(e.Epoch, e.Path, e.Token, func(error) { l.host.Tell(lapsed{e.Claim}) })
	if err != nil {
		l.host.Tell(missed{e.Claim})
		return
	}
	c.grant = &Grant{Hold: hold, lock: l, claim: c, revoked: make(chan struct{})}
	c.answer <- nil
}

// leftNothing: if it was granted, and what was granted was over before it could be had, the machine
// may hear of that end first. To the machine the claim has had its possession then; to the caller
// it has not, and stands as a new one. With the mutex.
func (l *Lock) leftNothing(c *claim) {
	if c.grant != nil || c.given || c.refused {
		l.over(c)
		return
	}
	l.last++
	c.want.Claim = l.last
	l.host.Tell(c.want)
}

// over: nothing of the claim is left, and the next caller has its turn. With the mutex.
func (l *Lock) over(c *claim) {
	if once(c.gone) {
		<-l.turn
	}
}

func (l *Lock) ended(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claim != nil {
		l.over(l.claim)
	}
}

// once closes a channel, unless it is closed. With the mutex.
func once(c chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		close(c)
		return true
	}
}
