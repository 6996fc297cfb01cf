package recipe

import (
	"slices"
	"sync"

	"github.com/troupe-go/troupe/machine"
)

// ledger is the record of an instance's wishes. Faces write to it from any goroutine before they
// tell the actor; every incarnation of the actor reads it. It is the one thing that a crashed
// incarnation leaves to the next.
type ledger struct {
	mu       sync.Mutex
	last     machine.Claim
	claims   []*claim // in the order in which they were wished, settled ones removed
	standing *claim   // the standing intent, nil if there is none
	closing  bool
	granted  map[string]*Possession // znodes of which a possession came, until they are gone
}

// add enters a wish; nil if the instance is closing.
func (l *ledger) add(once, try bool, by Asked) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addLocked(once, try, by)
}

func (l *ledger) addLocked(once, try bool, by Asked) *claim {
	if l.closing {
		return nil
	}
	l.last++
	c := newClaim(l.last, once, try, by)
	l.claims = append(l.claims, c)
	return c
}

// addStanding enters the standing intent; nil if it stands already or the instance is closing.
func (l *ledger) addStanding(by Asked) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.standing != nil {
		return nil
	}
	l.standing = l.addLocked(false, false, by)
	return l.standing
}

// withdraw notes that a claim is no longer wanted and returns what it holds.
func (l *ledger) withdraw(c *claim) *Possession {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.withdrawn = true
	if l.standing == c {
		l.standing = nil
	}
	return c.held
}

// withdrawStanding is withdraw for the standing intent. With none, it returns one that was
// withdrawn but is not settled yet, if any.
func (l *ledger) withdrawStanding() (c *claim, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c = l.standing; c != nil {
		c.withdrawn = true
		l.standing = nil
		return c, true
	}
	for _, c := range slices.Backward(l.claims) {
		if !c.once && c.withdrawn {
			return c, false
		}
	}
	return nil, false
}

// find returns the claim of that number, nil if it is settled.
func (l *ledger) find(id machine.Claim) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.claims {
		if c.id == id {
			return c
		}
	}
	return nil
}

// remove takes a claim out of the ledger: it is over.
func (l *ledger) remove(c *claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims = slices.DeleteFunc(l.claims, func(o *claim) bool { return o == c })
	if l.standing == c {
		l.standing = nil
	}
}

// all returns the claims in order.
func (l *ledger) all() []*claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.claims)
}

// close refuses further wishes and returns those that stand; none if it was closed before.
func (l *ledger) close() []*claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil
	}
	l.closing = true
	l.standing = nil
	return slices.Clone(l.claims)
}

// give notes what a claim has, and that a possession came of its znode.
func (l *ledger) give(c *claim, p *Possession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted == nil {
		l.granted = make(map[string]*Possession)
	}
	c.held, l.granted[p.Path()] = p, p
}

// stands tells whether the znode of a possession is not known to be gone.
func (l *ledger) stands(p *Possession) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted[p.Path()] == p
}

// takeGranted forgets the znodes of which a possession came, because they are gone, or the instance
// is over.
func (l *ledger) takeGranted() map[string]*Possession {
	l.mu.Lock()
	defer l.mu.Unlock()
	granted := l.granted
	l.granted = nil
	return granted
}
