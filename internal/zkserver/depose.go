package zkserver

import (
	"crypto/subtle"
	"maps"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// A leader that stands still for too long is deposed: the others elect another. When it goes on, it
// does not know that yet. Until its next tick it takes itself for the leader, shows the tree as it
// was, answers syncs alone (ZooKeeper asks no quorum for them), and resumes sessions by its own
// table, in which they live even if they have ended since. Only a write, which needs the others,
// gets no answer.

// deposed is the state of a front that was deposed and does not know it. It is halted first
// (Front.frozen); then it goes on, cut off from the others (Front.isolated) until its next tick.
// That gate is its own (rejoins), unless Isolate cuts it off as well: then heal decides.
type deposed struct {
	sessions map[int64]*session // as they were when it stood still
	expired  map[int64]bool     // of these, by its own clock: see ExpireAlone
	resumed  bool               // it goes on, and learns of it at its next tick
	rejoins  bool               // only if resumed: at that tick it rejoins the others
}

// Depose halts a front, as Stop does, and makes the others elect another leader. The front counts
// as the leader up to now. Under the new leader every session has its whole timeout, as after any
// election. After Continue the front learns of it at its next tick, which comes at a random moment
// of the tick.
func (f *Front) Depose() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.down || f.deposed != nil {
		return
	}
	f.deposed = &deposed{sessions: maps.Clone(f.s.sessions), expired: make(map[int64]bool)}
	f.s.lead(f)
	f.stop()
	f.s.elect()
}

// resume lets a deposed front go on until its next tick. The caller holds the lock.
func (f *Front) resume() {
	d := f.deposed
	d.resumed = true
	if f.isolated == nil {
		f.isolated, d.rejoins = newGate(), true
	}
	f.s.after(1+time.Duration(f.s.rng.Int64N(int64(f.s.cfg.Tick))), func() {
		if f.deposed == d {
			f.resign()
			if d.rejoins {
				f.rejoin()
			}
		}
	})
}

// resign makes the front a follower, once it knows that it does not lead any more. It drops its
// clients, and forgets which sessions it has heard of.
func (f *Front) resign() {
	f.deposed, f.term, f.waiting = nil, 0, nil
	clear(f.touched)
	for c := range f.conns {
		c.abort()
	}
}

// believes tells whether the front takes itself for the leader of a session that it knows.
func (f *Front) believes(session int64) bool {
	return f.deposed != nil && f.deposed.sessions[session] != nil
}

// ExpireAlone has a deposed front take a session for expired, also if the others do not.
func (f *Front) ExpireAlone(id int64) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if d := f.deposed; d != nil {
		d.expired[id] = true
	}
}

// admit resumes a session by the front's own table; nil if the password is wrong, or the front
// takes it for expired.
func (d *deposed) admit(c *conn, q *jute.ConnectRequest) *session {
	ss := d.sessions[q.SessionID]
	if d.expired[ss.id] || subtle.ConstantTimeCompare(ss.password[:], q.Password) != 1 {
		return nil
	}
	if old := c.front.bySession[ss.id]; old != nil {
		old.finish()
	}
	c.session = ss
	c.overdue.Stop()
	c.front.bySession[ss.id] = c
	c.pace()
	return ss
}
