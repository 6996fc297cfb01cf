package zkconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// connector makes one connection, in as many attempts as that takes.
//
// It sends a connect request to one address after the other. If there is no reply for a while, the
// next address is tried as well, but the first attempt goes on. An overloaded server replies in the
// order of arrival: a client that hangs up and asks again goes to the end of its queue, and many of
// them keep it busy with requests whose clients are gone. The first reply wins.
type connector struct {
	core *core
	ctx  context.Context // of the attempts; ends when one has succeeded
	done notify.Latch    // one has succeeded
	won  *handshake      // that one. Under mu until done
}

var (
	errNoAnswer   = errors.New("no answer")
	errNoAddress  = errors.New("the name has no address")
	errConnecting = errors.New("connecting took too long")
)

// connect returns a connection whose connect request was answered, or nil if the session is over.
func connect(c *core) *handshake {
	ctx, stop := context.WithCancel(c.life)
	defer stop()
	k := &connector{core: c, ctx: ctx}
	for {
		if k.wait(k.pause(), nil) {
			return k.won
		}
		s := k.pick()
		if k.lookUp(s) {
			return k.won
		}
		t := k.next(s)
		if t == nil {
			continue
		}
		share := k.share()
		if k.owes(t) > 0 {
			share *= 2 // it is asked twice
		}
		attempted := k.try(t)
		if k.wait(share, attempted.C()) {
			return k.won
		}
		if !attempted.Closed() {
			k.core.warnDown(t, nil)
		}
	}
}

// wait waits for a connection, at most for d or until early closes. It returns true if there is
// one, or if the session is over.
func (k *connector) wait(d time.Duration, early <-chan struct{}) (done bool) {
	if d > 0 { // in a synctest bubble a timer of 0 can crash the race detector (golang/go#78156)
		select {
		case <-time.After(d):
		case <-early:
		case <-k.done.C():
		case <-k.core.life.Done():
		}
	}
	return k.done.Closed() || k.core.life.Err() != nil
}

// lookUp resolves a server's name while attempts go on, and waits for that for a share. A lookup
// may take longer: a resolver whose first nameserver is down answers after seconds. It goes on
// beside a connection that is made meanwhile, for the next one.
func (k *connector) lookUp(s *server) (done bool) {
	var looked notify.Latch
	k.core.dials.Go(func() { // the Conn's end waits for it; ends with its limit
		defer looked.Close()
		var err error
		defer guard(k.core.log, "look up", &err)
		ctx, cancel := context.WithTimeout(k.core.life, k.core.timeout())
		defer cancel()
		if err = k.resolve(ctx, s); err != nil && k.ctx.Err() == nil {
			k.core.warnDown(&target{server: s.name, address: s.name}, err)
		}
	})
	return k.wait(k.share(), looked.C())
}

// try starts an attempt. The latch closes when it is over.
func (k *connector) try(t *target) *notify.Latch {
	k.core.mu.Lock()
	if t.busy++; t.busy == 1 {
		t.asked = time.Time{}
	}
	t.tried = time.Now()
	t.more = t.tried.Add(k.core.session.timeout + k.core.cfg.Source.N(k.core.session.timeout/2+1))
	k.core.mu.Unlock()
	over := new(notify.Latch)
	k.core.dials.Go(func() { // the Conn's end waits for it; ends with its limits, or with the connector
		defer over.Close()
		h, err := k.reach(t)
		k.finish(t, h, err)
	})
	return over
}

// reach asks a target for the session, once it has no writes of lost connections.
func (k *connector) reach(t *target) (h *handshake, err error) {
	defer guard(k.core.log, "connect", &err)
	if err := k.clear(t); err != nil {
		return nil, err
	}
	return k.open(t, k.begin)
}

// open dials a target and sends the connect request that begin returns. Dialling, and the reply,
// have limits. There may be a connection even with an error.
func (k *connector) open(t *target, begin func(*handshake) (jute.ConnectRequest, error)) (h *handshake, err error) {
	k.core.mu.Lock()
	dial, reply := k.limits(t)
	k.core.mu.Unlock()
	ctx, cancel := context.WithTimeout(k.ctx, dial)
	defer cancel()
	raw, err := k.dialled(ctx, t)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errConnecting, err)
		}
		return nil, err
	}
	h = &handshake{socket: newSocket(k.core, raw, t)}
	stop := context.AfterFunc(k.ctx, h.socket.link.drop)
	defer stop()
	ask, err := begin(h)
	if err != nil {
		return h, err
	}
	begun := time.Now()
	if err := h.requestSession(&ask, reply); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = noAnswer(begun)
		}
		return h, err
	}
	took := time.Since(begun)
	h.socket.limit = max(h.socket.limit, min(took, k.core.timeout()/2)) // on a slow server, the next steps may take as long; no longer than the session
	h.socket.took(took)
	return h, nil
}

// dialled calls the application's dialer. If that has not returned a second after ctx has ended,
// the next call at that address has twice the time, until a call returns in time or fails after
// all.
func (k *connector) dialled(ctx context.Context, t *target) (net.Conn, error) {
	left := new(notify.Latch)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, func() { left.Close() }) })()
	raw, err := apart(k.core.log.With("address", t.address), "dial", left, func() (net.Conn, error) {
		raw, err := k.core.cfg.Dial(ctx, "tcp", t.address)
		if err == nil && k.core.cfg.Secure != nil {
			if raw, err = k.core.cfg.Secure(ctx, raw, t.server); err != nil {
				err = fmt.Errorf("%w: %w", errSecure, bare(err))
			}
		}
		return raw, bare(err)
	}, func(raw net.Conn) {
		if raw == nil {
			t.stuck.Store(0)
			return
		}
		_ = raw.Close()
	})
	if err == errNotReturned {
		t.stuck.Add(1)
	} else {
		t.stuck.Store(0)
	}
	return raw, err
}

// finish takes in the result of an attempt. The first attempt that succeeds makes the connection.
func (k *connector) finish(t *target, h *handshake, err error) {
	won, needed, nothing := k.record(t, h, err)
	if h != nil && !won {
		h.socket.link.drop()
	}
	if needed && !won {
		k.core.warnDown(t, err)
	}
	if nothing {
		k.core.end(errClosed)
	}
}

// record records the result of an attempt. It tells whether that makes the connection (won),
// whether a connection was still needed, and whether there is nothing to be closed.
func (k *connector) record(t *target, h *handshake, err error) (won, needed, nothing bool) {
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	if h != nil && !h.askedAt.IsZero() {
		k.core.asking--
	}
	t.busy--
	timeout := k.core.session.timeout
	needed = k.won == nil && k.core.life.Err() == nil
	switch now := time.Now(); {
	case needed && err == nil: // it makes the connection
		k.core.slow, k.core.took = t.silent, h.socket.slowest
		t.badUntil, t.silent = time.Time{}, false
		k.core.socket, k.won = h.socket, h
		k.core.sound = now
		k.done.Close()
		return true, true, false
	case needed: // it has failed
		t.failed(now, timeout)
		t.silent = t.silent || errors.Is(err, errNoAnswer)
		if hungUp(err) {
			k.hangs(t, now)
		}
	case err != nil && (k.won == nil || k.won.socket.at != t) && now.Sub(t.tried) >= limitOf(timeout)/shareDivisor: // another server was faster, though it may have been asked later
		t.failed(now, timeout)
	}
	return false, needed, k.core.nothing()
}

// nothing tells whether the Conn is closed, has no session, and will not get one any more. Under
// mu.
func (c *core) nothing() bool {
	return c.over() && c.session.id == 0 && c.socket == nil && c.asking == 0
}
