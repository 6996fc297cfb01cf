package prio

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// standing returns the intents for a restarted machine. A claim that was withdrawn, or whose
// possession was handed out, has ended.
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

// perform carries out the machine's effects for the application. The actor calls it.
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

// grant creates the possession and hands it to the caller. The caller of grant holds the mutex.
func (l *Lock) grant(c *claim, e granted) {
	if c.given {
		return // the machine will receive the withdrawal
	}
	hold, err := l.host.Hold(e.Epoch, e.Path, e.Token, func(error) { l.host.Tell(lapsed{e.Claim}) })
	if err != nil {
		l.host.Tell(missed{e.Claim})
		return
	}
	c.grant = &Grant{Hold: hold, lock: l, claim: c, revoked: make(chan struct{})}
	c.answer <- nil
}

// leftNothing handles gone. If a possession ended before it could be handed out, the machine may
// hear of its end first. For the machine the claim has then had its possession; for the caller it
// has not, so it continues as a new claim. The caller holds the mutex.
func (l *Lock) leftNothing(c *claim) {
	if c.grant != nil || c.given || c.refused {
		l.over(c)
		return
	}
	l.last++
	c.want.Claim = l.last
	l.host.Tell(c.want)
}

// over ends the claim, of which nothing is left, and lets the next caller in. The caller holds the
// mutex.
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

// once closes a channel unless it is closed. The caller holds the mutex.
func once(c chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		close(c)
		return true
	}
}
