package zkconn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// connector makes one connection, in as many attempts as that takes.
//
// It sends a connect request to one address after the other. If there is no reply for a while, the
// next address is tried as well, but the first attempt goes on. An overloaded server replies in the
// order of arrival: a client that hangs up and asks again goes to the end of its queue, and many of
// them keep it busy with requests whose clients are gone. The first reply wins.
type connector struct {
	*Conn
	ctx     context.Context // of the attempts; ends when one has succeeded
	results chan attempt
}

// attempt is the result of an attempt to connect.
type attempt struct {
	at   *target
	wire *wire // whose connect request was answered, if err is nil
	err  error
}

var (
	errNoAnswerYet = errors.New("the server has not answered yet")
	errConnecting  = errors.New("connecting took too long")
	errNoResponse  = errors.New("the server did not answer the request for the session")
)

// connect returns a connection whose connect request was answered, or nil if the session is over.
func (c *Conn) connect() *wire {
	ctx, stop := context.WithCancel(c.life)
	defer stop()
	k := &connector{Conn: c, ctx: ctx, results: make(chan attempt)}
	for {
		for _, s := range c.round() {
			if w, over := k.wait(c.pause(), nil, nil); w != nil || over {
				return w
			}
			if w, over := k.lookUp(s); w != nil || over {
				return w
			}
			for _, t := range c.targetsOf(s) {
				k.try(t)
				if w, over := k.wait(c.share(), t, nil); w != nil || over {
					return w
				}
			}
		}
	}
}

// wait waits for a connection, at most for d. It returns early if the attempt at a certain target
// has failed, or if done closes.
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

// lookUp resolves a server's name while attempts go on.
func (k *connector) lookUp(s *server) (w *wire, over bool) {
	if k.cfg.Lookup == nil {
		k.found(s, []string{s.name})
		return nil, false
	}
	limit := k.share()
	done := make(chan struct{})
	k.dials.Go(func() { // the Conn's end waits for it; ends with its limit, or with the connector
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

// try starts an attempt.
func (k *connector) try(t *target) {
	k.mu.Lock()
	t.busy, t.tried = true, time.Now()
	dial, reply := k.limits(t)
	k.mu.Unlock()
	k.dials.Go(func() { // the Conn's end waits for it; ends with its limits, or with the connector
		w, err := k.reach(t, dial, reply)
		select {
		case k.results <- attempt{t, w, err}:
		case <-k.ctx.Done():
			k.drop(t, w)
		}
	})
}

// reach dials a target and sends the connect request. Dialling, and the reply, have limits.
func (k *connector) reach(t *target, dial, reply time.Duration) (w *wire, err error) {
	defer func() {
		if reason := recover(); reason != nil { // in the application's dialer
			if w != nil {
				w.hangUp()
			}
			w, err = nil, k.panicked("connect", reason)
		}
	}()
	ctx, cancel := context.WithTimeout(k.ctx, dial)
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
	if err := w.requestSession(begun.Add(reply)); err != nil {
		w.hangUp()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errNoResponse, err)
		}
		return nil, err
	}
	took := time.Since(begun)
	w.limit = max(w.limit, min(took, w.conn.timeout()/2)) // on a slow server, the next steps may take as long; no longer than the session
	w.stall.took(took)
	return w, nil
}

// take notes the result of an attempt, and returns its connection if that is to be used.
func (k *connector) take(a attempt) *wire {
	if a.err == nil {
		if w := k.adopt(a); w != nil {
			return w
		}
		k.drop(a.at, a.wire)
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

// adopt makes a connection the Conn's. It returns nil if the session has ended.
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

// drop ends an attempt whose result is not needed.
func (k *connector) drop(t *target, w *wire) {
	if w != nil {
		w.hangUp()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.busy = false
	if w != nil {
		k.connecting--
	} else if time.Since(t.tried) >= limitOf(k.session.timeout)/shareDivisor {
		t.failed(time.Now(), k.session.timeout) // a server that was asked later was faster
	}
}

// beginConnecting notes that a connect request is about to be sent: a session may exist from then
// on. It returns false if none is wanted any more.
func (c *Conn) beginConnecting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing && c.session.id == 0 {
		return false
	}
	c.connecting++
	return true
}

// endConnecting notes that a connect request has failed.
func (c *Conn) endConnecting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connecting--
}
