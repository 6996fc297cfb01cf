package barrier

import (
	"context"
	"fmt"
	"strings"
	"time"

	inner "github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipe/host"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

// maxParties keeps the transactions that open and close a round well within a server's default
// limit of a megabyte.
const maxParties = 1000

const kind = "double barrier"

// Double is one party of a double barrier. It is safe for concurrent use; it stands in one round at
// a time, whoever of its callers that is for.
type Double struct {
	session *session.Session
	path    string
	parties int
	warn    time.Duration
	host    *host.Host
	entered *notify.Handoff[*Passage]
	ledger  ledger
}

// NewDouble makes a party of the double barrier on a path, which has as many parties as said: at
// least 1, at most 1000. All of them must say the same. It does no I/O: the path is created when
// the party first arrives. Errors name the argument that is wrong; a closed session is
// session.ErrClosed.
func NewDouble(s *session.Session, path string, parties int, opts ...Option) (*Double, error) {
	const op = "barrier.NewDouble"
	o, err := configure(op, s, path, opts)
	if err != nil {
		return nil, err
	}
	if parties < 1 || parties > maxParties {
		return nil, failed(op, path, fmt.Errorf("parties: %d: must be from 1 to %d", parties, maxParties))
	}
	d := &Double{session: s, path: path, parties: parties, warn: o.warn, entered: notify.NewHandoff[*Passage]()}
	cfg := double.Config{Path: path, Parties: parties, ID: o.id, GUID: znode.NewGUID}
	d.ledger.mu.Lock() // until the host is known, so that nobody uses it before
	defer d.ledger.mu.Unlock()
	d.host, err = host.New(host.Config{
		Session: s, Kind: kind, Path: path,
		Machine:  func() recipe.Machine { return double.New(cfg) },
		Standing: d.ledger.standing,
		Perform:  d.perform,
		Ended:    d.ended,
	})
	if err != nil {
		return nil, failed(op, path, err)
	}
	return d, nil
}

// Arrive states the intent to enter the next round, and returns at once. It is for one round: it
// survives disconnection, expiry and loss until a [Passage] was received from [Double.Entered], and
// is to be stated again for the next. Until then, stating it again changes nothing. While this
// party is still in a round, the next begins for it when that is over. If the round of the intent
// is broken, the Double is over, with [ErrBroken] as its Err: those who want to go on after that
// use [Double.Enter], or make another.
func (d *Double) Arrive() {
	by := inner.Asked{At: inner.Caller()}
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	if c := d.ledger.intent; c != nil && !d.received(c) {
		return
	}
	d.ledger.intent = d.want(false, by)
}

// Entered delivers one [Passage] for each [Double.Arrive]. The channel is the same every time,
// unbuffered, and never closes: watch [Double.Done] beside it.
func (d *Double) Entered() <-chan *Passage { return d.entered.C() }

// Enter waits until the round is open, for a passage of the caller's own. ctx bounds the wait, not
// the passage; if it ends first, this party withdraws, the others wait on, and ctx's cause is
// returned. If the round was opened before that came through, this party is in, and leaves at once.
// Other errors: [ErrBroken], [ErrCrowd], session.ErrClosed, and what ZooKeeper refuses. After an
// error the next Enter is for another round.
func (d *Double) Enter(ctx context.Context) (*Passage, error) {
	const op = "enter"
	by := inner.Asked{At: inner.Caller()}
	if err := context.Cause(ctx); err != nil {
		return nil, failed(op, d.path, err)
	}
	d.ledger.mu.Lock()
	c := d.want(true, by)
	d.ledger.mu.Unlock()
	if c == nil {
		return nil, failed(op, d.path, d.closedErr())
	}
	var err error
	select {
	case o := <-c.answer:
		return o.passage, failed(op, d.path, o.err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-d.Done():
		err = d.Err()
	}
	if d.withdraw(c) {
		return nil, failed(op, d.path, err)
	}
	o := <-c.answer // the answer came first
	return o.passage, failed(op, d.path, o.err)
}

// Done closes when the Double is over: by Close, with its session, because the round of an
// [Double.Arrive] was broken, or because it failed for good. Err then says why.
func (d *Double) Done() <-chan struct{} { return d.host.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else
// the cause.
func (d *Double) Err() error { return d.host.Err() }

// Close ends the party: who waits withdraws (session.ErrClosed), who is inside departs (its passage
// ends with session.ErrClosed), and Close returns when ZooKeeper has confirmed that nothing of it
// is left. It does not wait for the others, and no Left closes any more. If ctx ends first its
// error is returned; what is left is then deleted in the background, until the epoch ends. It is
// idempotent.
func (d *Double) Close(ctx context.Context) error {
	ctx, cancel := d.beyond(ctx)
	defer cancel()
	d.wind()
	return failed("close", d.path, d.host.Close(ctx))
}

// beyond is the context to wait in for the end of a passage. One that ends with the passage would
// end the wait before it has begun.
func (d *Double) beyond(ctx context.Context) (context.Context, context.CancelFunc) {
	if !d.inside(ctx) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), d.session.Status().Timeout)
}

// inside tells whether a context stands under a passage of this barrier.
func (d *Double) inside(ctx context.Context) bool {
	for h := range session.HoldsFrom(ctx) {
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
