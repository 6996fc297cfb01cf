package barrier

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

// Passage is one party's possession of a round, from the opening to its departure. Done closes when
// the party departs, or when the session can no longer prove that it is alive (with
// [WithUntilExpiry]: when it is known to have expired). Err then is session.ErrReleased, or
// session.ErrLost wrapping its cause. The Token grows from round to round of the same party. The
// znode exists until all members have left the round.
type Passage struct {
	*session.Hold
	double *Double
	claim  uint64
	round  int64
	names  []string
	self   string // this party's own
	left   notify.Latch
	tenure recipe.Tenure

	received atomic.Bool
}

// Round is the number of the round. It grows, and is the same for all members of a round.
func (p *Passage) Round() int64 { return p.round }

// Members are the names of the round's parties, including this one, sorted. They are the same for
// all members of a round.
func (p *Passage) Members() []string {
	names := make([]string, len(p.names))
	for i, name := range p.names {
		names[i], _ = double.PartyID(name)
	}
	slices.Sort(names)
	return names
}

// Depart reports that this party is done, and returns at once. The passage ends with
// session.ErrReleased; Left closes when the others are done too. Depart is idempotent, and does
// nothing for a passage that was lost, which counts as departed.
func (p *Passage) Depart() { p.double.host.End(p.Hold, session.ErrReleased) }

// Left closes when every party of the round, including this one, has departed or died. It also
// closes after this passage was lost, even in a later epoch. It does not close once the Double has
// ended: select on the Double's Done as well.
func (p *Passage) Left() <-chan struct{} { return p.left.C() }

// Leave departs, and returns when Left closes. For a passage that was lost it returns
// session.ErrLost at once. If ctx ends first, its cause is returned: this party has departed all
// the same, and Left still closes when the others have. A ctx that ends with the passage itself is
// replaced by one that lasts for a session timeout. If the Double ends first, its Err is returned.
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
	case <-p.Left(): // all had left before that
		return nil
	default:
		return recipe.Failed(d.session, op, d.path, err)
	}
}

// receive records that the application has received the passage.
func (p *Passage) receive() { p.received.Store(true) }

// warn logs a warning when the passage has blocked the other parties for long.
func (p *Passage) warn(c *intent) {
	d := p.double
	p.tenure.Warn(recipe.Alarm{
		Log: recipe.Logger(d.session), Kind: kind, Path: d.session.Path(d.path), After: d.warn, Asked: c.asked,
		Unreceived: "a passage is not received, and the other parties go no further", Held: "a party has not departed, and the others go no further",
		Offered: !c.once, Received: p.received.Load,
	})
}
