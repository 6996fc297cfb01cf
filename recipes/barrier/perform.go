package barrier

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

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
			d.ledger.mu.Lock()
			d.ledger.passages = slices.DeleteFunc(d.ledger.passages, func(o *Passage) bool { return o == p })
			d.ledger.mu.Unlock()
			p.left.Close()
		}
	case double.Refuse:
		d.settle(e)
	}
}

// enter creates the possession, and delivers it.
func (d *Double) enter(e double.Enter) {
	p := newPassage(d, e)
	hold, err := d.host.Hold(e.Epoch, e.Path, e.Token, func(cause error) { d.ran(p, cause) })
	if err != nil {
		d.postpone(e.Claim)
		return
	}
	p.Hold = hold
	d.ledger.mu.Lock()
	c := d.ledger.take(e.Claim)
	if c == nil { // withdrawn
		d.ledger.mu.Unlock()
		d.host.End(hold, session.ErrReleased)
		return
	}
	d.ledger.passages = append(d.ledger.passages, p)
	if c.once {
		c.answer <- outcome{passage: p}
	} else {
		c.passage, c.offer = p, d.entered.Offer(p, p.receive)
	}
	d.ledger.mu.Unlock()
	p.warn(c)
	if p.Err() != nil {
		d.lost(p) // before there was an offer to take back
	}
}

// postpone reports that there can be no possession now. It is called before a withdrawal of the
// claim, or not at all.
func (d *Double) postpone(claim uint64) {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	if c := d.ledger.find(claim); c != nil {
		d.host.Tell(double.Deferred{Claim: claim, Once: c.once})
	}
}

// ran handles the end of a passage's possession. It is called from any goroutine.
func (d *Double) ran(p *Passage, cause error) {
	p.unwarn()
	if cause != session.ErrReleased {
		d.lost(p)
	}
	d.host.Tell(double.Departed{Claim: p.claim})
}

// lost repeats the intent of a passage that was lost before it was received.
func (d *Double) lost(p *Passage) {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	c := d.ledger.intent
	if c == nil || c.passage != p || d.ledger.closing || !c.offer.Withdraw() {
		return
	}
	d.ledger.intent = d.want(false, c.asked)
}

func (d *Double) passage(claim uint64) *Passage {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	for _, p := range d.ledger.passages {
		if p.claim == claim {
			return p
		}
	}
	return nil
}

func (d *Double) settle(e double.Refuse) {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	c := d.ledger.take(e.Claim)
	switch {
	case c == nil:
	case c.once:
		c.answer <- outcome{err: e.Err}
	case d.ledger.intent == c:
		d.ledger.intent = nil
	}
}
