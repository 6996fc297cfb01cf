package zkserver

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// Isolate cuts a front off from its leader: it goes on answering pings and reads, from the tree as
// it was, but syncs, writes and new connections wait. The leader does not learn which sessions the
// front hears of: they expire on the leader's clock, and clients of other fronts see that. When it
// is healed, the front catches up and carries out the requests that waited. With a limit, it gives
// up after that time as a real follower does: it drops its clients and serves none until it is
// healed.
func (f *Front) Isolate(limit time.Duration) (heal func()) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.isolated == nil && !f.down {
		f.isolated = newGate()
		f.detach()
		f.s.elect()
	}
	if f.deposed != nil { // its next tick would open the same gate: now heal does, or lets the tick do so
		f.deposed.rejoins = false
	}
	g := f.isolated
	if g == nil { // it is down: there is nothing to be cut off
		return func() {}
	}
	if limit > 0 {
		f.s.after(limit, func() { f.giveUp(g) })
	}
	return func() {
		f.s.mu.Lock()
		defer f.s.mu.Unlock()
		switch {
		case f.isolated != g: // it was healed before, or killed
		case f.deposed != nil && f.deposed.resumed:
			f.deposed.rejoins = true // it does not know yet that there are others to follow
		default:
			f.rejoin()
		}
	}
}

// giveUp ends what an isolated front does for its clients, if the same isolation still lasts.
func (f *Front) giveUp(g *gate) {
	if f.isolated != g {
		return
	}
	f.lost, f.waiting = true, nil
	for c := range f.conns {
		c.abort()
	}
}

// rejoin ends an isolation: first there is a leader, then the front shows what was committed, and
// then it serves the requests that waited.
func (f *Front) rejoin() {
	close(f.isolated.opened)
	f.isolated, f.lost = nil, false
	f.s.elect()
	f.follow(f.lag)
	f.serveWaiting()
	f.armPing()
}

// Stop halts a front as SIGSTOP halts a process: connections stay open, and new ones are accepted,
// but nothing is read or answered, and the leader is told nothing.
func (f *Front) Stop() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.stop()
}

func (f *Front) stop() {
	if f.frozen != nil || f.down {
		return
	}
	f.frozen = newGate()
	f.detach()
	f.s.elect()
	for c := range f.conns {
		c.out.hold()
	}
}

// Continue ends what Stop began.
func (f *Front) Continue() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.thaw()
}

// thaw is Continue, in the order of rejoin; a front that was deposed goes on alone.
func (f *Front) thaw() {
	if f.frozen == nil {
		return
	}
	close(f.frozen.opened)
	f.frozen = nil
	if f.deposed != nil {
		f.resume()
	}
	f.s.elect()
	f.follow(f.lag)
	f.serveWaiting()
	for c := range f.conns {
		c.out.release()
		c.kick()
	}
	f.armPing()
}

// Kill ends a front as SIGKILL ends a process: its connections are reset and new ones refused. If
// the fronts that are left are no majority they serve no client, and time stands still for the
// sessions.
func (f *Front) Kill() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.kill()
}

func (f *Front) kill() {
	f.down, f.term, f.deposed, f.busyUntil = true, 0, nil, time.Time{}
	f.heldUp, f.waiting = nil, nil
	f.s.elect()
	// The gates are opened before the connections are reset, which clients of a frozen front would
	// not see: see abort. No request is served: the front is down, and none waits.
	if f.isolated != nil {
		f.rejoin()
	}
	f.thaw()
	f.shut()
	clear(f.touched)
	if len(f.s.fronts) == 1 {
		f.s.expiry.stop()
	}
}

// Restart lets a killed front listen again, on its old address, with the tree as it is now. One
// that runs is killed first. If there was no majority before, every session has its whole timeout
// from when there is a leader.
func (f *Front) Restart(ctx context.Context) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.closed {
		return ErrClosed
	}
	if !f.down {
		f.kill()
	}
	if f.address != "" {
		if _, err := f.listen(ctx, f.address); err != nil {
			return err
		}
	}
	f.down, f.pending = false, nil
	f.tree, f.behind, f.applied = f.s.tree, false, f.s.zxid
	if f.lag > 0 {
		f.detach()
	}
	f.s.elect()
	if len(f.s.fronts) == 1 {
		f.s.expiry.resume(f.s)
	}
	return nil
}

// Lag keeps a front n transactions behind: its clients read an old state until they sync or write;
// at the front that leads, until they write: see catchUpIfFollower. 0 ends it.
func (f *Front) Lag(n int) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.lag = n
	if n > 0 {
		f.detach()
	}
	if f.behind {
		f.follow(n)
	}
}

// Reset makes the server as New has made it, in one transaction: no sessions, faults, interceptors
// and journal. Clients lose their connections, without an event. What stays are sockets, TLS,
// RequireAuth and the clock; numbers go on.
func (a Admin) Reset(ctx context.Context) error {
	s := a.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.tree = tree.New()
	for _, f := range s.fronts {
		if f.down && f.address != "" {
			if _, err := f.listen(ctx, f.address); err != nil {
				return err
			}
		}
		for _, g := range []*gate{f.isolated, f.frozen, f.heldUp} {
			if g != nil {
				close(g.opened)
			}
		}
		f.isolated, f.frozen, f.heldUp, f.waiting, f.deposed = nil, nil, nil, nil, nil
		f.down, f.lost, f.lag, f.busyUntil = false, false, 0, time.Time{}
		f.tree, f.behind, f.pending = s.tree, false, nil
		for c := range f.conns {
			c.cuts = nil
			c.abort()
		}
	}
	for _, x := range s.cuts { // no connection is in one any more
		close(x.opened)
	}
	s.rules, s.cuts, s.slow, s.handshakeCost, s.expiry.heap = nil, nil, nil, 0, nil
	clear(s.sessions)
	clear(s.replaced)
	s.journal = journal{limit: s.journal.limit, maxBytes: s.journal.maxBytes}
	s.install()
	if len(s.first) == 0 {
		s.commit(&txn{}, nil) // for those that wait
	}
	return a.load(s.first)
}
