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
	won     *wire // the connection, once there is one
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
func connect(c *Conn) *wire {
	ctx, stop := context.WithCancel(c.life)
	defer stop()
	k := &connector{Conn: c, ctx: ctx, results: make(chan attempt)}
	for {
		for _, s := range k.round() {
			if k.wait(k.pause(), nil, nil) || k.lookUp(s) {
				return k.won
			}
			for _, t := range k.targetsOf(s) {
				k.try(t)
				if k.wait(k.share(), t, nil) {
					return k.won
				}
			}
		}
	}
}

// wait waits for a connection, at most for d. It returns true if there is one, or if the session is
// over. It returns early if the attempt at a certain target has failed, or if looked closes.
func (k *connector) wait(d time.Duration, only *target, looked <-chan struct{}) (done bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case a := <-k.results:
			if k.take(a); k.won != nil || a.at == only {
				return k.done()
			}
		case <-timer.C:
			if only != nil {
				k.warnDown(only, errNoAnswerYet)
			}
			return k.done()
		case <-looked:
			return k.done()
		case <-k.life.Done():
			return true
		}
	}
}

func (k *connector) done() bool { return k.won != nil || k.life.Err() != nil }

// lookUp resolves a server's name while attempts go on.
func (k *connector) lookUp(s *server) (done bool) {
	if k.cfg.Lookup == nil {
		k.found(s, []string{s.name})
		return false
	}
	limit := k.share()
	looked := make(chan struct{})
	k.dials.Go(func() { // the Conn's end waits for it; ends with its limit, or with the connector
		defer close(looked)
		var logged error
		defer guard(k.log, "look up", &logged)
		ctx, cancel := context.WithTimeout(k.ctx, limit)
		defer cancel()
		if err := k.resolve(ctx, s); err != nil && k.ctx.Err() == nil {
			k.warnDown(&target{server: s.name, address: s.name}, err)
		}
	})
	return k.wait(limit, nil, looked)
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
		if err != nil && w != nil {
			w.hangUp()
			w = nil
		}
	}()
	defer guard(k.log, "connect", &err) // the application's dialer may panic
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
	if err := k.requestSession(w, begun.Add(reply)); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errNoResponse, err)
		}
		return w, err
	}
	took := time.Since(begun)
	w.limit = max(w.limit, min(took, w.conn.timeout()/2)) // on a slow server, the next steps may take as long; no longer than the session
	w.stall.took(took)
	return w, nil
}

// take notes the result of an attempt.
func (k *connector) take(a attempt) {
	if a.err == nil {
		if !k.adopt(a) {
			k.drop(a.at, a.wire)
		}
		return
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
	nothing := k.over() && k.session.id == 0 && k.connecting == 0
	k.mu.Unlock()
	k.warnDown(t, a.err)
	if nothing {
		k.end(errClosed)
	}
}

// adopt makes a connection the Conn's. It returns false if the session has ended.
func (k *connector) adopt(a attempt) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.life.Err() != nil {
		return false
	}
	k.slow, k.connectTook = a.at.silent > 0, a.wire.stall.slowest
	a.at.busy, a.at.badUntil, a.at.slowDials, a.at.silent = false, time.Time{}, 0, 0
	k.connecting--
	k.wire, k.won = a.wire, a.wire
	return true
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

// requestSession sends the connect request over a new connection and reads its reply.
func (k *connector) requestSession(w *wire, deadline time.Time) error {
	if err := w.raw.SetDeadline(deadline); err != nil {
		return err
	}
	if !k.begin() {
		return errClosed
	}
	err := w.writeConnectRequest()
	if err == nil {
		err = w.readConnectResponse()
	}
	if err != nil {
		k.mu.Lock()
		k.connecting--
		k.mu.Unlock()
	}
	return err
}

// begin notes that a connect request is about to be sent: a session may exist from then on. It
// returns false if none is wanted any more.
func (k *connector) begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over() && k.session.id == 0 {
		return false
	}
	k.connecting++
	return true
}
