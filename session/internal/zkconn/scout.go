package zkconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// lateWrites tells which servers may still have writes of connections that were lost. Under the
// Conn's mu.
//
// A server sends requests to the leader in their order. But a connect request overtakes them, and
// makes the server the session's owner at once. So a server whose link to the leader was down, and
// that is asked for the session again, may have old writes carried out after what was done through
// another server meanwhile. It is asked for the session only when it is known to have none.
type lateWrites struct {
	losses  int            // of connections with a write that was not answered, counted
	left    map[string]int // the number of the last of them, by the server's name, and by its address
	settled map[string]int // by address: of the losses up to this number it has nothing any more
}

// leaves records that the server may have writes of a connection that is lost, and returns false if
// it has none. All addresses of the server's name may be the same server. Under mu.
func (w *socket) leaves() bool {
	if !slices.ContainsFunc(w.order, func(r *request) bool { return r.ask.Op.Writes() && !r.probe }) {
		return false
	}
	l := &w.conn.lateWrites
	l.losses++
	l.left[w.at.server], l.left[w.at.address] = l.losses, l.losses
	return true
}

// owes tells whether a target may have writes of connections that were lost, and the session may
// have been elsewhere meanwhile: it returns how many were lost, or else 0.
func (k *connector) owes(t *target) (losses int) {
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	return k.core.owed(t)
}

// owed is owes, under mu.
func (c *core) owed(t *target) (losses int) {
	l := &c.lateWrites
	// A name may get other addresses, and the process before may have had other servers.
	fixed := len(c.servers) == 1 && t.address == t.server && c.cfg.Resume.ID == 0
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
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	k.core.lateWrites.settled[t.address] = losses
	return nil
}

// scout makes a request at a target, in a session that it then closes: in one of its own, if as is
// zero. It returns the zxid of the reply, which does not count as seen.
func (k *connector) scout(t *target, as Identity, ask *jute.Request) (zxid int64, err error) {
	if as.ID == 0 {
		as.Password = make([]byte, passwordLength)
	}
	h, err := k.open(t, func(*handshake) (jute.ConnectRequest, error) {
		return jute.ConnectRequest{Timeout: int32(k.core.cfg.Timeout.Milliseconds()), SessionID: as.ID, Password: as.Password}, nil
	})
	if h != nil {
		defer h.socket.link.hangUp()
	}
	switch {
	case err != nil:
		return 0, err
	case h.response.SessionID == 0:
		return 0, errNotAccepted
	}
	stop := context.AfterFunc(k.ctx, h.socket.link.hangUp)
	defer stop()
	parting := func() { // if it fails, that session expires
		defer h.socket.link.within(h.socket.limit).Stop()
		_ = h.socket.link.write(closeFrame())
	}
	defer parting()
	if !k.core.isClosing() { // then none are presented: see refused
		for _, cred := range k.core.cfg.Auth {
			if err := h.present(cred); err != nil {
				return 0, err
			}
		}
	}
	defer time.AfterFunc(h.socket.limit, parting).Stop() // as long as there is a connection: exchange ends it
	err = h.exchange(encode(ask), ask.Xid)
	return h.zxid, err
}

// A server hangs up on a session that has seen more than the server has, and says nothing. It may
// lag, or have no quorum; or its ensemble has lost data. Then new transactions, which scouts make,
// are not above what was seen. That is also so at one emptied server that runs alone, while others
// have everything: so more than half of the addresses have to show it, and none may be above.

// hangs records that a target has hung up on the session. When a target has done so for the
// timeout, all targets that have are checked for a loss of data, once in each timeout. Under mu.
func (k *connector) hangs(t *target, now time.Time) {
	if !t.hangs.After(k.core.sound) {
		t.hangs, t.next = now, 0
	}
	timeout := k.core.session.timeout
	due := now.Sub(t.hangs) >= timeout && now.Sub(k.core.checked) >= timeout
	if k.core.session.zxid == 0 || k.core.over() || !due || !k.core.checking.TryLock() { // checkForLoss unlocks
		return
	}
	targets, all := []*target(nil), 0
	for _, s := range k.core.servers {
		all += max(s.most, 1) // a name loses the addresses of servers that are down
		for _, t := range s.targets {
			if t.hangs.After(k.core.sound) && now.Sub(t.hangs) >= timeout {
				targets = append(targets, t)
			}
		}
	}
	slices.SortStableFunc(targets, func(a, b *target) int { return a.scouted.Compare(b.scouted) })
	k.core.checked = now
	k.core.dials.Go(func() { k.checkForLoss(targets, all) }) // the Conn's end waits for it; ends with its limits, or with the connector
}

// checkForLoss scouts the first target, and the others if the transaction of the first is not above
// what the session has seen. all is how many addresses there are. A sync would not do: a leader
// that was deposed answers it alone.
func (k *connector) checkForLoss(targets []*target, all int) {
	var logged error
	defer guard(k.core.log, "check for a loss of data", &logged)
	defer k.core.checking.Unlock()
	below, next := []*target(nil), int64(0) // where the transaction was not above, and the last of these
	for _, t := range targets {
		zxid, err := k.scout(t, Identity{}, &jute.Request{Xid: 1, Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpCheck, Path: "/", Version: -1}}})
		failed := err != nil && !errors.Is(err, jute.NoAuth) // a check that finds something wrong takes a quorum too
		k.core.mu.Lock()
		above := !failed && zxid > k.core.session.zxid
		t.scouted = time.Now()
		switch {
		case above:
			t.next = 0
		case !failed:
			t.next, next, below = zxid, zxid, append(below, t)
		}
		k.core.mu.Unlock()
		if above || len(below) == 0 { // nothing is lost, or the first target has not shown it
			return
		}
	}
	if 2*len(below) <= all || k.ctx.Err() != nil {
		return
	}
	if is := k.core.identity(); is.ID != 0 { // the session is closed, by one try: if that fails, it expires
		_, _ = k.scout(below[len(below)-1], is, &jute.Request{Xid: xidClose, Op: jute.OpCloseSession})
	}
	k.core.dataLost(k.core.lastZxid(), next)
}

// dataLost ends the session, since the next transaction is not above what was seen.
func (c *core) dataLost(seen, next int64) {
	c.log.Error("the ZooKeeper ensemble has lost its data", "seen", fmt.Sprintf("0x%x", seen), "next", fmt.Sprintf("0x%x", next))
	c.end(ErrDataLoss)
}
