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

// intents records what the application has asked a party for, and has received. It is written
// before the actor is told, and survives a crash of the actor.
type intents struct {
	mu       sync.Mutex
	last     uint64
	pending  []*intent  // not answered yet, in the order of the calls
	passages []*Passage // until all members have left their round
	arriving *intent    // the one of Arrive, until its passage was received
	closing  bool
}

// intent is one call of Enter or Arrive: the intent to enter one round. Its number is the Claim of
// package double.
type intent struct {
	number  uint64
	once    bool
	asked   recipe.Asked
	wait    recipe.Wait
	answer  chan outcome // of Enter alone; it has room for one
	passage *Passage     // of Arrive alone: the passage on offer
	offer   *notify.Offer[*Passage]
}

type outcome struct {
	passage *Passage
	err     error
}

// standing returns the events for a new machine: the rounds that the party is in, then the pending
// intents.
func (i *intents) standing() []machine.Event {
	i.mu.Lock()
	defer i.mu.Unlock()
	var events []machine.Event
	for _, p := range i.passages {
		events = append(events, double.Followed{Claim: p.claim, Round: p.round, Names: p.names, Self: p.self})
	}
	for _, c := range i.pending {
		events = append(events, double.Wanted{Claim: c.number, Once: c.once})
	}
	return events
}

// find returns a pending intent; nil if it is not pending any more.
func (i *intents) find(number uint64) *intent {
	for _, c := range i.pending {
		if c.number == number {
			return c
		}
	}
	return nil
}

// take is find, and removes the intent.
func (i *intents) take(number uint64) *intent {
	c := i.find(number)
	i.pending = slices.DeleteFunc(i.pending, func(o *intent) bool { return o == c })
	return c
}

// want records an intent and tells the actor; nil if the party is closing. The caller holds the
// mutex, so that the actor receives the intents in the order of their numbers.
func (d *Double) want(once bool, by recipe.Asked) *intent {
	if d.intents.closing {
		return nil
	}
	d.intents.last++
	c := &intent{number: d.intents.last, once: once, asked: by}
	d.host.Want(&c.wait, by)
	if once {
		c.answer = make(chan outcome, 1) // answered at most once, even if the caller has stopped waiting
	}
	d.intents.pending = append(d.intents.pending, c)
	d.tellState()
	d.host.Tell(double.Wanted{Claim: c.number, Once: once})
	return c
}

// received tells whether the passage of an intent was received. If not, it remains on offer. The
// caller holds the mutex.
func (d *Double) received(c *intent) bool {
	if c.offer == nil {
		return false
	}
	if !c.offer.Withdraw() {
		return true
	}
	if c.passage.Err() == nil { // otherwise the passage was lost, and repeatLost is about to run
		c.offer = d.entered.Offer(c.passage, c.passage.receive)
	}
	return false
}

// withdraw removes a pending intent because of an error; false if its answer came first.
func (d *Double) withdraw(c *intent, why error) bool {
	d.intents.mu.Lock()
	defer d.intents.mu.Unlock()
	if d.giveUp(c.number, why) == nil {
		return false
	}
	d.host.Tell(double.Withdrawn{Claim: c.number})
	return true
}

// giveUp is [intents.take] for an intent that gets no passage. The caller holds the mutex.
func (d *Double) giveUp(number uint64, why error) *intent {
	c := d.intents.take(number)
	if c != nil {
		c.wait.Withdraw(why)
		d.tellState()
	}
	return c
}

// close refuses all pending and all later intents. It returns the passages.
func (i *intents) close(err error) []*Passage {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closing = true
	for _, c := range i.pending {
		c.wait.Withdraw(err)
		if c.once {
			c.answer <- outcome{err: err}
		}
	}
	if c := i.arriving; c != nil && c.offer != nil {
		c.offer.Withdraw()
	}
	i.pending, i.arriving = nil, nil
	return slices.Clone(i.passages)
}

// perform carries out the machine's effects for the application. The actor calls it.
func (d *Double) perform(e machine.Effect) {
	switch e := e.(type) {
	case double.Enter:
		d.enter(e)
	case double.Lost:
		if p := d.passage(e.Claim); p != nil {
			d.host.End(p.Hold, session.ErrDeleted)
		}
	case double.Left:
		if p := d.passage(e.Claim); p != nil {
			d.intents.mu.Lock()
			d.intents.passages = slices.DeleteFunc(d.intents.passages, func(o *Passage) bool { return o == p })
			d.tellState()
			d.intents.mu.Unlock()
			p.left.Close()
		}
	case double.Refuse:
		d.refuse(e)
	}
}

// enter creates a passage, and delivers it.
func (d *Double) enter(e double.Enter) {
	d.intents.mu.Lock()
	c := d.intents.find(e.Claim)
	d.intents.mu.Unlock()
	if c == nil { // withdrawn
		d.host.Tell(double.Departed{Claim: e.Claim})
		return
	}
	p := &Passage{double: d, claim: e.Claim, round: e.Round, names: e.Names, self: e.Self}
	of := session.Event{Kind: session.EventGranted, Token: e.Token, Epoch: e.Epoch}
	p.tenure = recipe.NewTenure(d.host, &c.wait, of, func() (recipe.Asked, bool) { return c.asked, p.received.Load() })
	hold, err := d.host.HoldAs(&p.tenure, e.Path, func(cause error) { d.onPassageEnded(p, cause) })
	if err != nil {
		d.postpone(e.Claim)
		return
	}
	p.Hold = hold
	d.intents.mu.Lock()
	if d.intents.take(e.Claim) == nil { // withdrawn
		d.intents.mu.Unlock()
		d.host.End(hold, session.ErrReleased)
		return
	}
	d.intents.passages = append(d.intents.passages, p)
	d.tellState()
	if c.once {
		p.receive()
		c.answer <- outcome{passage: p}
	} else {
		c.passage, c.offer = p, d.entered.Offer(p, p.receive)
	}
	d.intents.mu.Unlock()
	p.warn(c)
	if p.Err() != nil {
		d.repeatLost(p) // onPassageEnded may have run before there was an offer to take back
	}
}

// postpone tells the machine that the session cannot vouch for a possession now. The machine hears
// of it before a withdrawal of the intent, or not at all.
func (d *Double) postpone(claim uint64) {
	d.intents.mu.Lock()
	defer d.intents.mu.Unlock()
	if c := d.intents.find(claim); c != nil {
		d.host.Tell(double.Deferred{Claim: claim, Once: c.once})
	}
}

// onPassageEnded handles the end of a possession. Any goroutine may call it.
func (d *Double) onPassageEnded(p *Passage, cause error) {
	d.intents.mu.Lock()
	lost := cause != session.ErrReleased && !d.intents.closing
	d.intents.mu.Unlock()
	p.tenure.End(cause, lost)
	if lost {
		d.repeatLost(p)
	}
	d.intents.mu.Lock()
	d.tellState()
	d.intents.mu.Unlock()
	d.host.Tell(double.Departed{Claim: p.claim})
}

// repeatLost repeats the intent of a passage that was lost before it was received.
func (d *Double) repeatLost(p *Passage) {
	d.intents.mu.Lock()
	defer d.intents.mu.Unlock()
	c := d.intents.arriving
	if c == nil || c.passage != p || d.intents.closing || !c.offer.Withdraw() {
		return
	}
	d.intents.arriving = d.want(false, c.asked)
}

func (d *Double) passage(claim uint64) *Passage {
	d.intents.mu.Lock()
	defer d.intents.mu.Unlock()
	for _, p := range d.intents.passages {
		if p.claim == claim {
			return p
		}
	}
	return nil
}

func (d *Double) refuse(e double.Refuse) {
	d.intents.mu.Lock()
	defer d.intents.mu.Unlock()
	switch c := d.giveUp(e.Claim, e.Err); {
	case c == nil:
	case c.once:
		c.answer <- outcome{err: e.Err}
	case d.intents.arriving == c:
		d.intents.arriving = nil
	}
}

// tellState tells of the party's state, if it is another one. With the mutex, so that the states
// are told in order.
func (d *Double) tellState() {
	state := "idle"
	switch i := &d.intents; {
	case slices.ContainsFunc(i.passages, func(p *Passage) bool { return p.Err() == nil }):
		state = "inside"
	case len(i.passages) > 0: // the other parties have not left
		state = "leaving"
	case len(i.pending) > 0:
		state = "waiting"
	}
	d.host.SetState(state)
}
