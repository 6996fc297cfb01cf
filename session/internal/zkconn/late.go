package zkconn

import (
	"context"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// late tells which servers may still have writes of connections that were lost. Under the Conn's
// mu.
//
// A server sends requests to the leader in their order. But a connect request overtakes them, and
// makes the server the session's owner at once. So a server whose link to the leader was down, and
// that is asked for the session again, may have old writes carried out after what was done through
// another server meanwhile. It is asked for the session only when it is known to have none.
type late struct {
	losses  int            // of connections with a write that was not answered
	left    map[string]int // the last of them, by the server's name, and by its address
	settled map[string]int // how many of them an address has nothing of any more
}

// leaves notes that the server may have writes of a connection that is lost, and returns false if
// it has none. All addresses of the server's name may be the same server. Under mu.
func (w *socket) leaves() bool {
	if !slices.ContainsFunc(w.order, func(r *request) bool { return r.ask.Op.Writes() && !r.probe }) {
		return false
	}
	l := &w.conn.late
	l.losses++
	l.left[w.at.server], l.left[w.at.address] = l.losses, l.losses
	return true
}

// owes tells whether a target may have writes of connections that were lost, and the session may
// have been elsewhere meanwhile: it returns how many were lost, or else 0.
func (k *connector) owes(t *target) (losses int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.owed(t)
}

// owed is owes, under mu.
func (c *core) owed(t *target) (losses int) {
	l := &c.late
	fixed := len(c.servers) == 1 && t.address == t.server && c.cfg.Resume.ID == 0 // a name may get other addresses
	if fixed || max(l.left[t.server], l.left[t.address]) <= l.settled[t.address] {
		return 0
	}
	return l.losses
}

// clear waits until a target has no writes of lost connections. They are carried out, or refused,
// before a sync that comes behind them is answered.
func (k *connector) clear(t *target) error {
	losses := k.owes(t)
	if losses == 0 {
		return nil
	}
	if _, err := k.scout(t, Identity{}, &jute.Request{Xid: 1, Op: jute.OpSync, Path: "/"}); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late.settled[t.address] = losses
	return nil
}

// scout makes a request at a target, in a session that it then closes: in one of its own, if as is
// zero. It returns the zxid of the reply, which does not count as seen.
func (k *connector) scout(t *target, as Identity, ask *jute.Request) (zxid int64, err error) {
	if as.ID == 0 {
		as.Password = make([]byte, passwordLength)
	}
	h, err := k.open(t, func(*handshake) (jute.ConnectRequest, error) {
		return jute.ConnectRequest{Timeout: int32(k.cfg.Timeout.Milliseconds()), SessionID: as.ID, Password: as.Password}, nil
	})
	if h != nil {
		defer h.hangUp()
	}
	switch {
	case err != nil:
		return 0, err
	case h.response.SessionID == 0:
		return 0, errNotAccepted
	}
	stop := context.AfterFunc(k.ctx, h.hangUp)
	defer stop()
	parting := func() { // if it fails, that session expires
		defer h.within(h.limit).Stop()
		_ = h.link.write(closeFrame())
	}
	defer parting()
	if !k.isClosing() { // then none are presented: see refused
		for _, cred := range k.cfg.Auth {
			if err := h.present(cred); err != nil {
				return 0, err
			}
		}
	}
	defer time.AfterFunc(h.limit, parting).Stop() // as long as there is a connection: exchange ends it
	err = h.exchange(encode(ask), ask.Xid)
	return h.zxid, err
}
