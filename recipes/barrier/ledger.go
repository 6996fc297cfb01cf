package barrier

import (
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
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
		events = append(events, double.Followed{Claim: p.claim, Round: p.round, Names: p.names, Self: p.self})
	}
	for _, c := range l.claims {
		events = append(events, double.Wanted{Claim: c.number, Once: c.once})
	}
	return events
}

// find returns a claim; nil if it is not recorded any more.
func (l *ledger) find(number uint64) *claim {
	for _, c := range l.claims {
		if c.number == number {
			return c
		}
	}
	return nil
}

// take removes a claim, and returns it; nil if it is not recorded any more.
func (l *ledger) take(number uint64) *claim {
	c := l.find(number)
	l.claims = slices.DeleteFunc(l.claims, func(o *claim) bool { return o == c })
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

// close refuses all claims, and those to come. It returns the passages.
func (l *ledger) close(err error) []*Passage {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	for _, c := range l.claims {
		if c.once {
			c.answer <- outcome{err: err}
		}
	}
	if c := l.intent; c != nil && c.offer != nil {
		c.offer.Withdraw()
	}
	l.claims, l.intent = nil, nil
	return slices.Clone(l.passages)
}
