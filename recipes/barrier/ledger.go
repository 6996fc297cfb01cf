package barrier

import (
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

// ledger is the record of a party's intents and passages. It is written before the actor is told,
// and survives a crash of the actor.
type ledger struct {
	mu       sync.Mutex
	last     uint64
	claims   []*claim   // pending, in order
	passages []*Passage // whose rounds are not over
	intent   *claim     // of Arrive, until its passage was received
	closing  bool
}

// claim is one intent to enter a round.
type claim struct {
	number  uint64
	once    bool
	asked   recipe.Asked
	answer  chan outcome // room for one: of Enter
	passage *Passage     // of an intent, on offer
	offer   *notify.Offer[*Passage]
}

type outcome struct {
	passage *Passage
	err     error
}

// standing are the events for a new machine: the rounds to follow to their ends, then the claims.
func (l *ledger) standing() []machine.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var events []machine.Event
	for _, p := range l.passages {
		events = append(events, double.Followed{Claim: p.claim, Round: p.round, Names: p.names, Own: p.own})
	}
	for _, c := range l.claims {
		events = append(events, double.Wanted{Claim: c.number, Once: c.once})
	}
	return events
}

// index is the position of a claim, -1 if it is not recorded any more.
func (l *ledger) index(number uint64) int {
	return slices.IndexFunc(l.claims, func(c *claim) bool { return c.number == number })
}

// take removes a claim; nil if it is not recorded any more.
func (l *ledger) take(number uint64) *claim {
	i := l.index(number)
	if i < 0 {
		return nil
	}
	c := l.claims[i]
	l.claims = slices.Delete(l.claims, i, i+1)
	return c
}

// want records a claim and tells the actor, under the mutex so that claims stay in order; nil if
// the party is closing.
func (d *Double) want(once bool, by recipe.Asked) *claim {
	if d.ledger.closing {
		return nil
	}
	d.ledger.last++
	c := &claim{number: d.ledger.last, once: once, asked: by}
	if once {
		c.answer = make(chan outcome, 1) // answered at most once, even if the caller has stopped waiting
	}
	d.ledger.claims = append(d.ledger.claims, c)
	d.host.Tell(double.Wanted{Claim: c.number, Once: once})
	return c
}

// received tells whether the passage of an intent was received. If not, it remains on offer. With
// the mutex.
func (d *Double) received(c *claim) bool {
	if c.offer == nil {
		return false
	}
	if !c.offer.Withdraw() {
		return true
	}
	if c.passage.Err() == nil { // otherwise it was lost, and the intent is about to be repeated
		c.offer = d.entered.Offer(c.passage, c.passage.receive)
	}
	return false
}

// withdraw removes a caller's claim; false if its answer came first.
func (d *Double) withdraw(c *claim) bool {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	if d.ledger.take(c.number) == nil {
		return false
	}
	d.host.Tell(double.Withdrawn{Claim: c.number})
	return true
}

// wind refuses all claims, and ends all passages.
func (d *Double) wind() {
	d.ledger.mu.Lock()
	first := !d.ledger.closing
	d.ledger.closing = true
	claims, passages, intent := d.ledger.claims, slices.Clone(d.ledger.passages), d.ledger.intent
	d.ledger.claims, d.ledger.intent = nil, nil
	if first && intent != nil && intent.offer != nil {
		intent.offer.Withdraw()
	}
	d.ledger.mu.Unlock()
	if !first {
		return
	}
	for _, c := range claims {
		if c.once {
			c.answer <- outcome{err: session.ErrClosed}
		}
	}
	for _, p := range passages {
		d.host.End(p.Hold, session.ErrClosed)
	}
}

// ended handles the end of the instance, whatever the cause.
func (d *Double) ended(err error) {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	d.ledger.closing = true
	for _, c := range d.ledger.claims {
		if c.once {
			c.answer <- outcome{err: err}
		}
	}
	if c := d.ledger.intent; c != nil && c.offer != nil {
		c.offer.Withdraw()
	}
	d.ledger.claims, d.ledger.intent, d.ledger.passages = nil, nil, nil
}
