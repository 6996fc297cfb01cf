package zkconn

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// A server hangs up on a session that has seen more than the server has, and says nothing. It may
// lag, or have no quorum; or its ensemble has lost data. Then new transactions, which scouts make,
// are not above what was seen. That is also so at one emptied server that runs alone, while others
// have everything: so more than half of the addresses have to show it, and none may be above.

// hangs notes that a target has hung up on the session. When one has done so for the timeout, all
// that have are examined for a loss of data, once in each timeout. Under mu.
func (k *connector) hangs(t *target, now time.Time) {
	if !t.hangs.After(k.sound) {
		t.hangs, t.next = now, 0
	}
	if k.session.zxid == 0 || k.over() || min(now.Sub(t.hangs), now.Sub(k.looked)) < k.session.timeout || !k.looking.TryLock() {
		return
	}
	targets, all := []*target(nil), 0
	for _, s := range k.servers {
		all += max(s.most, 1) // a name loses the addresses of servers that are down
		for _, t := range s.targets {
			if t.hangs.After(k.sound) && now.Sub(t.hangs) >= k.session.timeout {
				targets = append(targets, t)
			}
		}
	}
	slices.SortStableFunc(targets, func(a, b *target) int { return a.scouted.Compare(b.scouted) })
	k.looked = now
	k.dials.Go(func() { k.lookForLoss(targets, all) }) // the Conn's end waits for it; ends with its limits, or with the connector
}

// lookForLoss scouts the first target, and the others if that one's transaction is not above what
// was seen. A sync would not do: a leader that was deposed answers it alone.
func (k *connector) lookForLoss(targets []*target, all int) {
	var logged error
	defer guard(k.log, "look for a loss of data", &logged)
	defer k.looking.Unlock()
	below, next := []*target(nil), int64(0)
	for _, t := range targets {
		zxid, err := k.scout(t, Identity{}, &jute.Request{Xid: 1, Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpCheck, Path: "/", Version: -1}}})
		failed := err != nil && !errors.Is(err, jute.NoAuth) // a check that finds something wrong takes a quorum too
		k.mu.Lock()
		above := !failed && zxid > k.session.zxid
		switch t.scouted = time.Now(); {
		case above:
			t.next = 0
		case !failed:
			t.next, next, below = zxid, zxid, append(below, t)
		}
		k.mu.Unlock()
		if above || len(below) == 0 {
			return
		}
	}
	if 2*len(below) <= all || k.ctx.Err() != nil {
		return
	}
	if is := k.Identity(); is.ID != 0 { // once: if that fails, it expires
		_, _ = k.scout(below[len(below)-1], is, &jute.Request{Xid: xidClose, Op: jute.OpCloseSession})
	}
	k.dataLost(k.LastZxid(), next)
}

// dataLost ends the session, since the next transaction is not above what was seen.
func (c *core) dataLost(seen, next int64) {
	c.log.Error("the ZooKeeper ensemble has lost its data", "seen", fmt.Sprintf("0x%x", seen), "next", fmt.Sprintf("0x%x", next))
	c.end(ErrDataLoss)
}
