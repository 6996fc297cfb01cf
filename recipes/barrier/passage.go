package barrier

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

// Passage is one party's possession of a round, from the opening to its departure. Done closes when
// the party departs, or when the session can no longer prove that it is alive (with [UntilExpiry]:
// when it is known to have expired); Err says which:
// session.ErrReleased, or session.ErrLost wrapping its cause. Its Token grows from round to round
// of the same party. Its znode exists until the round is over.
type Passage struct {
	*session.Hold
	double *Double
	claim  uint64
	round  int64
	names  []string
	self   string // which of them it is
	left   notify.Latch

	received atomic.Bool
	warning  atomic.Pointer[time.Timer]
}

func newPassage(d *Double, e double.Enter) *Passage {
	return &Passage{double: d, claim: e.Claim, round: e.Round, names: e.Names, self: e.Self}
}

// Round is the number of the round. It grows, and is the same for all members of a round.
func (p *Passage) Round() int64 { return p.round }

// Members are the ids of the round's parties, including this one, sorted. They are the same for all
// members of a round.
func (p *Passage) Members() []string {
	ids := make([]string, len(p.names))
	for i, name := range p.names {
		ids[i], _ = double.PartyID(name)
	}
	slices.Sort(ids)
	return ids
}

// Depart reports that this party is done, and returns at once. The passage ends with
// session.ErrReleased; Left closes when the others are done too. It is idempotent, and does nothing
// for a passage that was lost, which counts as departed.
func (p *Passage) Depart() { p.double.host.End(p.Hold, session.ErrReleased) }

// Left closes when the round is over: every party, including this one, has departed or died. This
// also holds after the passage was lost, through expiry. It does not close once the Double has
// ended: select on its Done as well.
func (p *Passage) Left() <-chan struct{} { return p.left.C() }

// Leave departs, and returns when the round is over for all parties. For a passage that was lost it
// returns session.ErrLost at once. If ctx ends first its cause is returned: this party has departed
// all the same, and Left still closes when the others have. A ctx that ends with the passage itself
// is replaced by one that lasts for a session timeout. If the Double ends first, its Err is
// returned.
func (p *Passage) Leave(ctx context.Context) error {
	const op = "leave"
	d := p.double
	ctx, cancel := d.outlasting(ctx)
	defer cancel()
	p.Depart()
	if err := p.Err(); errors.Is(err, session.ErrLost) {
		return recipe.Failed(d.session, op, d.path, err)
	}
	var err error
	select {
	case <-p.Left():
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-d.Done():
		err = d.Err()
	}
	select {
	case <-p.Left(): // it was over before that
		return nil
	default:
		return recipe.Failed(d.session, op, d.path, err)
	}
}

// receive notes that the passage was received.
func (p *Passage) receive() { p.received.Store(true) }

// warn arranges for a log message if the passage blocks the other parties for long. It stops when
// the passage ends.
func (p *Passage) warn(c *intent) {
	d := p.double
	p.warning.Store(recipe.Alarm{
		Log: recipe.Logger(d.session), Kind: kind, Path: d.session.Path(d.path), After: d.warn, Asked: c.asked,
		Unreceived: "a passage is not received, and the other parties go no further", Held: "a party has not departed, and the others go no further",
		Offered: !c.once, Received: p.received.Load, Over: func() bool { return p.Err() != nil },
	}.Set())
	if p.Err() != nil { // it ended meanwhile
		p.unwarn()
	}
}

func (p *Passage) unwarn() {
	if t := p.warning.Load(); t != nil {
		t.Stop()
	}
}
