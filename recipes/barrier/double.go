package barrier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

// maxParties keeps the transactions that open and delete a round well within a server's default
// limit of a megabyte.
const maxParties = 1000

const kind = "double barrier"

// Double is one party of a double barrier. It is safe for concurrent use; it takes part in one
// round at a time, for all its callers.
type Double struct {
	session *session.Session
	path    string
	parties int
	warn    time.Duration
	acl     []session.ACL
	host    *recipe.Host
	entered *notify.Handoff[*Passage]
	intents intents
}

// NewDouble creates a party of the double barrier at a path. parties is the number of parties, from
// 1 to 1000; all of them must use the same number. NewDouble does no I/O: the path is created when
// the party first arrives. Errors name the invalid argument; for a closed session the error is
// session.ErrClosed.
func NewDouble(s *session.Session, path string, parties int, opts ...Option) (*Double, error) {
	const op = "barrier.NewDouble"
	o, err := configure(op, s, path, opts)
	if err != nil {
		return nil, err
	}
	if parties < 1 || parties > maxParties {
		return nil, recipe.Failed(s, op, path, fmt.Errorf("parties: %d: must be from 1 to %d", parties, maxParties))
	}
	d := &Double{session: s, path: path, parties: parties, warn: o.warn, acl: o.acl, entered: notify.NewHandoff[*Passage]()}
	cfg := double.Config{Path: path, Parties: parties, ID: o.name, GUID: znode.NewGUID}
	d.intents.mu.Lock() // until the host is set, so that no callback uses it before
	defer d.intents.mu.Unlock()
	d.host, err = recipe.New(recipe.Config{
		Session: s, Kind: kind, Recipe: "barrier", Name: o.name, State: "idle", Path: path, UntilExpiry: o.untilExpiry, ACL: o.acl,
		Machine:  func() machine.Machine { return double.New(cfg) },
		Standing: d.intents.standing,
		Perform:  d.perform,
		Ended:    func(err error) { d.intents.close(err) },
	})
	if err != nil {
		return nil, recipe.Failed(s, op, path, err)
	}
	return d, nil
}

// Arrive states the intent to enter the next round, and returns at once. The intent is for one
// round. It survives disconnection, expiry and loss until a [Passage] was received from
// [Double.Entered]. Until then, another call has no effect; afterwards, call Arrive again for the
// next round. If this party is still in a round, the next one begins for it when all have left that
// one. If the round of the intent is broken, the Double ends with [ErrBroken] as its Err; likewise
// with [ErrCrowd] or [ErrReplaced]. To go on after such an error, use [Double.Enter], or create
// another Double.
func (d *Double) Arrive() {
	by := recipe.Asked{At: recipe.Caller()}
	d.intents.mu.Lock()
	defer d.intents.mu.Unlock()
	if c := d.intents.arriving; c != nil && !d.received(c) {
		return
	}
	d.intents.arriving = d.want(false, by)
}

// Entered delivers one [Passage] for each [Double.Arrive]. The channel is always the same, is
// unbuffered, and never closes: select on [Double.Done] as well.
func (d *Double) Entered() <-chan *Passage { return d.entered.C() }

// Enter waits until the round opens and returns a passage for this caller alone. ctx bounds the
// wait, not the passage. If ctx ends first, this party withdraws, the others go on waiting, and
// ctx's cause is returned. If the round opened before the withdrawal, this party is in, and leaves
// at once. Other errors: [ErrBroken], [ErrCrowd], [ErrReplaced], session.ErrClosed, and those of
// ZooKeeper. After an error the next Enter is for another round.
func (d *Double) Enter(ctx context.Context) (*Passage, error) {
	const op = "enter"
	by := recipe.Asked{At: recipe.Caller()}
	if err := context.Cause(ctx); err != nil {
		return nil, recipe.Failed(d.session, op, d.path, err)
	}
	d.intents.mu.Lock()
	c := d.want(true, by)
	d.intents.mu.Unlock()
	if c == nil {
		return nil, recipe.Failed(d.session, op, d.path, d.closedErr())
	}
	var err error
	select {
	case o := <-c.answer:
		return o.passage, recipe.Failed(d.session, op, d.path, o.err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-d.Done():
		err = d.Err()
	}
	if d.withdraw(c, err) {
		return nil, recipe.Failed(d.session, op, d.path, err)
	}
	o := <-c.answer // the answer came first
	return o.passage, recipe.Failed(d.session, op, d.path, o.err)
}

// Done closes when the Double has ended: by Close, with its session, because the round of a
// [Double.Arrive] was broken, or by an error that arriving again would not fix. Err then says why.
func (d *Double) Done() <-chan struct{} { return d.host.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed after Close or with the
// session, [ErrBroken], [ErrCrowd] or [ErrReplaced] after [Double.Arrive], otherwise the error that
// ended the Double.
func (d *Double) Err() error { return d.host.Err() }

// Close ends the party. A waiting party withdraws (its callers get session.ErrClosed); a party that
// is inside departs (its passage ends with session.ErrClosed). Close returns when ZooKeeper has
// confirmed that nothing of the party is left. It does not wait for the other parties, and no Left
// closes any more. If ctx ends first, its error is returned, and the rest is deleted in the
// background until the epoch ends. Close is idempotent.
func (d *Double) Close(ctx context.Context) error {
	ctx, cancel := d.outlasting(ctx)
	defer cancel()
	for _, p := range d.intents.close(session.ErrClosed) {
		d.host.End(p.Hold, session.ErrClosed)
	}
	return recipe.Failed(d.session, "close", d.path, d.host.Close(ctx))
}

// outlasting returns the context for a wait that begins with the end of a passage. A context that
// ends with the passage would end this wait before it begins, so a timeout replaces it.
func (d *Double) outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	if !d.within(ctx) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), d.session.Status().Timeout)
}

// within tells whether ctx descends from the context of a passage of this barrier.
func (d *Double) within(ctx context.Context) bool {
	for _, h := range recipe.HoldsFrom(ctx) {
		if h.Session() == d.session && strings.HasPrefix(h.Path(), d.path+"/") {
			return true
		}
	}
	return false
}

func (d *Double) closedErr() error {
	if err := d.Err(); err != nil {
		return err
	}
	return session.ErrClosed
}

// Break breaks the round that parties are waiting in: all of them get [ErrBroken], including this
// party if it waits. Parties that arrive later are in the next round. Break does not affect a round
// that has opened before, and does nothing if no party is waiting; neither is an error. A lost
// reply is resolved by reading.
func (d *Double) Break(ctx context.Context) error {
	const op = "break"
	if err := d.Err(); err != nil {
		return recipe.Failed(d.session, op, d.path, err)
	}
	for {
		again, err := d.breakOnce(ctx)
		if err != nil || !again {
			return recipe.Failed(d.session, op, d.path, err)
		}
	}
}

// breakOnce makes one attempt, and tells whether another is needed.
func (d *Double) breakOnce(ctx context.Context) (again bool, err error) {
	if err := d.session.SyncQuorum(ctx, d.path); err != nil {
		return false, err
	}
	names, _, err := d.session.Children(ctx, d.path)
	rounds := double.Rounds(names)
	if errors.Is(err, session.ErrNoNode) || err == nil && len(rounds) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last := rounds[len(rounds)-1]
	data, stat, err := d.session.Get(ctx, double.RoundPath(d.path, last))
	if errors.Is(err, session.ErrNoNode) {
		return true, nil // the round is gone, and there is a later one
	}
	v := double.ParseVerdict(data)
	if err != nil || v.Kind != double.Open || double.Present(stat.NumChildren) == 0 {
		return false, err
	}
	_, err = d.session.Multi(znode.Making(ctx, d.acl), breaking(d.path, last, stat.Version, v.Parties)...)
	if errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil {
		return d.undecided(ctx, last)
	}
	return false, err
}

// undecided tells whether the round is still undecided.
func (d *Double) undecided(ctx context.Context, round int64) (bool, error) {
	data, _, err := d.session.Get(ctx, double.RoundPath(d.path, round))
	if errors.Is(err, session.ErrNoNode) {
		return false, nil
	}
	return double.ParseVerdict(data).Kind == double.Open, err
}

// breaking returns the operations that break a round, and create the next one.
func breaking(path string, round int64, version int32, parties int) []session.Op {
	verdict := double.Verdict{Kind: double.Broken, Parties: parties, Why: double.Asked}
	ops := []session.Op{session.SetOp(double.RoundPath(path, round), verdict.Bytes(), version)}
	for _, op := range double.Opening(path, round+1, parties, machine.Any) {
		if op.Do == machine.Set {
			ops = append(ops, session.SetOp(op.Path, op.Data, op.Version))
		} else {
			ops = append(ops, session.CreateOp(op.Path, op.Data))
		}
	}
	return ops
}
