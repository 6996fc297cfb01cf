package zkconn

import (
	"context"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// late tells which servers may still have writes of a connection that was lost. Under the Conn's mu.
//
// A server passes requests on to the leader in their order, but a connect request passes them by, and
// makes the server the session's owner at once. So a server whose link to the leader was down, and
// that is asked for the session again, may have old writes carried out behind what was done through
// another server meanwhile. It is therefore asked only when it is known to have none: see settle.
type late struct {
	losses  int            // of connections with a write that was not answered
	before  int            // of these, before the Conn: 1 if the session is resumed, at any server
	left    map[string]int // the latest of them, by the server's name, and by each address of that
	settled map[string]int // how many of them an address has nothing of any more
}

func newLate(resumed bool) late {
	l := late{left: map[string]int{}, settled: map[string]int{}}
	if resumed {
		l.losses, l.before = 1, 1
	}
	return l
}

// owing tells whether a target may have writes of a connection that was lost.
func (l *late) owing(t *target) bool {
	return max(l.before, l.left[t.server], l.left[t.address]) > l.settled[t.address]
}

// leaves notes what is left at the server by a connection that is lost, and returns false if that is
// nothing. All addresses of the server's name may be the same server. Under mu.
func (w *socket) leaves() bool {
	if !slices.ContainsFunc(w.order, func(r *request) bool { return r.ask.Op.Writes() && !r.probe }) {
		return false
	}
	l := &w.conn.late
	l.losses++
	l.left[w.at.server], l.left[w.at.address] = l.losses, l.losses
	for _, s := range w.conn.servers {
		for _, t := range s.targets {
			if t.server == w.at.server {
				l.left[t.address] = l.losses
			}
		}
	}
	return true
}

// settle sees to it that a target has no writes of lost connections. A session with a single address
// can't have gone elsewhere meanwhile.
func (k *connector) settle(t *target, dial, reply time.Duration) error {
	k.mu.Lock()
	owing, losses := k.late.owing(t) && !k.servers.single(), k.late.losses
	k.mu.Unlock()
	if !owing {
		return nil
	}
	if _, err := k.scout(t, dial, reply, &jute.Request{Xid: 1, Op: jute.OpSync, Path: "/"}); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late.settled[t.address] = losses
	return nil
}

// scout makes a request in another session at a target, and closes that. It returns the zxid of the
// reply. All that the target was asked before is carried out or refused by then. Nobody else learns
// of the session, and what its replies say does not count for the Conn's.
func (k *connector) scout(t *target, dial, reply time.Duration, ask *jute.Request) (zxid int64, err error) {
	h, err := k.open(t, dial, reply, (*handshake).another)
	if h != nil {
		defer h.hangUp()
	}
	if err != nil {
		return 0, err
	}
	if h.response.SessionID == 0 {
		return 0, errNotAccepted
	}
	stop := context.AfterFunc(k.ctx, h.hangUp)
	defer stop()
	defer func() { _ = h.link.write(closeFrame()) }() // if it fails, that session expires
	if !k.isClosing() {                               // then the Conn presents none either
		for _, cred := range k.cfg.Auth {
			if err := h.present(cred); err != nil {
				return 0, err
			}
		}
	}
	err = h.exchange(encode(ask), ask.Xid)
	return h.zxid, err
}

// another asks for a session of its own.
func (h *handshake) another() (jute.ConnectRequest, error) {
	return jute.ConnectRequest{Timeout: int32(h.conn.cfg.Timeout.Milliseconds()), Password: make([]byte, passwordLength)}, nil
}
