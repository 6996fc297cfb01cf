package zkconn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// connector makes one connection, out of however many tries that takes.
//
// It asks one address after the other for the session. One that takes the connection and does not
// answer is not waited for alone: after a while the next is asked as well. But what was asked there
// stays asked, since a server that is slow answers in the order of asking: whoever hangs up and
// asks again goes to the end of its queue, and a herd of those keeps it busy for good with requests
// that nobody waits for. Whichever answers first has the session.
type connector struct {
	*Conn
	ctx     context.Context // of the tries; ends when one has succeeded
	results chan attempt
}

// attempt is what came of a try.
type attempt struct {
	at   *target
	wire *wire // whose request for the session was answered, if err is nil
	err  error
}

var (
	errNoAnswerYet = errors.New("the server has not answered yet")
	errConnecting  = errors.New("connecting took too long")
	errNoResponse  = errors.New("the server did not answer the request for the session")
)

// connect returns a wire whose request for the session was answered; nil if it is over.
func (c *Conn) connect() *wire {
	ctx, stop := context.WithCancel(c.life)
	defer stop()
	k := &connector{Conn: c, ctx: ctx, results: make(chan attempt)}
	for {
		for _, s := range c.round() {
			if w, over := k.wait(c.pauseLength(), nil, nil); w != nil || over {
				return w
			}
			if w, over := k.lookUp(s); w != nil || over {
				return w
			}
			for _, t := range c.order(s) {
				k.try(t)
				if w, over := k.wait(c.share(), t, nil); w != nil || over {
					return w
				}
			}
		}
	}
}

// wait waits for a connection: for so long, or until a certain try has failed, or until something
// is done.
func (k *connector) wait(d time.Duration, only *target, done <-chan struct{}) (w *wire, over bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case a := <-k.results:
			if w := k.take(a); w != nil || a.at == only {
				return w, k.life.Err() != nil
			}
		case <-timer.C:
			if only != nil {
				k.warnDown(only, errNoAnswerYet)
			}
			return nil, k.life.Err() != nil
		case <-done:
			return nil, k.life.Err() != nil
		case <-k.life.Done():
			return nil, true
		}
	}
}

// lookUp finds a server's addresses, beside the tries that are under way.
func (k *connector) lookUp(s *server) (w *wire, over bool) {
	if k.cfg.Lookup == nil {
		k.found(s, []string{s.name})
		return nil, false
	}
	limit := k.share()
	done := make(chan struct{})
	k.dials.Go(func() { // owned by the Conn, whose end waits for it; ends with its limit, or with the connector
		defer close(done)
		defer func() {
			if reason := recover(); reason != nil {
				_ = k.panicked("look up", reason) // it is in the log
			}
		}()
		ctx, cancel := context.WithTimeout(k.ctx, limit)
		defer cancel()
		if err := k.Conn.lookUp(ctx, s); err != nil && k.ctx.Err() == nil {
			k.warnDown(&target{server: s.name, address: s.name}, err)
		}
	})
	return k.wait(limit, nil, done)
}

// try begins to ask at an address.
func (k *connector) try(t *target) {
	k.mu.Lock()
	t.busy, t.tried = true, time.Now()
	limit, patience := k.limits(t)
	k.mu.Unlock()
	k.dials.Go(func() { // owned by the Conn, whose end waits for it; ends with the limits of the try, or with the connector
		w, err := k.reach(t, limit, patience)
		select {
		case k.results <- attempt{t, w, err}:
		case <-k.ctx.Done():
			k.dropped(t, w)
		}
	})
}

// reach connects to an address and asks for the session.
func (k *connector) reach(t *target, limit, patience time.Duration) (w *wire, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			if w != nil {
				w.hangUp()
			}
			w, err = nil, k.panicked("connect", reason) // the application's dialer is called here
		}
	}()
	ctx, cancel := context.WithTimeout(k.ctx, limit)
	defer cancel()
	raw, err := k.cfg.Dial(ctx, "tcp", t.address)
	if err == nil && k.cfg.Secure != nil {
		raw, err = k.cfg.Secure(ctx, raw, t.server)
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errConnecting, err)
		}
		return nil, err
	}
	w = newWire(k.Conn, raw, t)
	stop := context.AfterFunc(k.ctx, w.hangUp)
	defer stop()
	begun := time.Now()
	if err := w.requestSession(begun.Add(patience)); err != nil {
		w.hangUp()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errNoResponse, err)
		}
		return nil, err
	}
	took := time.Since(begun)
	w.limit = max(w.limit, took) // what follows may take as long on a slow server
	w.stall.took(took)
	return w, nil
}

// take notes what came of a try, and returns its wire if that is to be the connection.
func (k *connector) take(a attempt) *wire {
	if a.err == nil {
		if w := k.adopt(a); w != nil {
			return w
		}
		k.dropped(a.at, a.wire)
		return nil
	}
	k.mu.Lock()
	t := a.at
	t.busy = false
	t.failed(time.Now(), k.session.timeout)
	switch {
	case errors.Is(a.err, errConnecting):
		t.slowDials++
	case errors.Is(a.err, errNoResponse):
		t.silent++
	}
	nothing := k.closing && k.session.id == 0 && k.connecting == 0
	k.mu.Unlock()
	k.warnDown(t, a.err)
	if nothing {
		k.end(errClosed)
	}
	return nil
}

// adopt makes a new connection known to those who end the session; nil if that has happened.
func (k *connector) adopt(a attempt) *wire {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cause != nil {
		return nil
	}
	k.slow, k.connectTook = a.at.silent > 0, a.wire.stall.slowest
	a.at.busy, a.at.badUntil, a.at.slowDials, a.at.silent = false, time.Time{}, 0, 0
	k.connecting--
	k.dialed = a.wire
	return a.wire
}

// dropped: the answer of a try is not waited for, or not needed any more.
func (k *connector) dropped(t *target, w *wire) {
	if w != nil {
		w.hangUp()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.busy = false
	if w != nil {
		k.connecting--
	} else if time.Since(t.tried) >= limitOf(k.session.timeout)/shareDivisor {
		t.failed(time.Now(), k.session.timeout) // somebody who was asked later was quicker
	}
}

// beginConnecting notes that a session is about to be asked for, which may come to be from then on;
// false if nobody wants one any more.
func (c *Conn) beginConnecting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing && c.session.id == 0 {
		return false
	}
	c.connecting++
	return true
}

// endConnecting: that came to nothing.
func (c *Conn) endConnecting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connecting--
}

// Slow tells whether the servers have been slow to answer the request for the session last: for
// Config.Slow of the next.
func (c *Conn) Slow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow
}

func (c *Conn) timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.timeout
}

// limitOf is what connecting, and each step of what follows, may take of the session's timeout.
func limitOf(timeout time.Duration) time.Duration {
	return max(timeout/handshakeShare, time.Millisecond)
}

// share is for how long a try is waited for alone. Who has something to lose soon can't wait for as
// long. But where the last answer took longer, so will the next: a server that is asked needlessly
// takes the session over from the one that answered, when it comes to it.
func (c *Conn) share() time.Duration {
	c.mu.Lock()
	share, knownOps := limitOf(c.session.timeout), min(2*c.connectTook, c.session.timeout)
	c.mu.Unlock()
	if c.cfg.Stake != nil {
		if left, some := c.cfg.Stake(); some && left > 0 {
			share = max(min(share, left/2), share/shareDivisor)
		}
	}
	return max(share, knownOps)
}

// limits are how long connecting to an address may take, and how long the answer to the request for
// the session is waited for then. Both grow with each time that they did not suffice. Where there
// is a session to lose and nothing else to ask, the first stall is cut short: behind one address
// may be many servers. After that the server is taken for one that has much to do. Under mu.
func (c *Conn) limits(t *target) (limit, patience time.Duration) {
	timeout := c.session.timeout
	share := limitOf(timeout)
	limit = min(share<<min(t.slowDials, 10), 4*timeout)
	switch {
	case t.silent > 0:
		patience = max(min(longestPatience*timeout, longestWait), timeout)
	case c.session.id != 0 && c.single():
		patience = share
	default:
		patience = timeout
	}
	return limit, patience + rand.N(share/2+1)
}

const (
	shareDivisor = 4 // by so much a try's share may be shorter

	longestPatience = 20              // times the session's timeout, …
	longestWait     = 5 * time.Minute // … but no longer than this, if the timeout is shorter
)
