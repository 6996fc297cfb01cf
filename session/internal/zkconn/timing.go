package zkconn

import (
	"math/rand/v2"
	"time"
)

const (
	handshakeShare = 6 // a server has this part of the timeout for a step, before another one is tried as well
	shareDivisor   = 4 // the shortest share is this part of that

	longestPatience = 20              // times the session's timeout, …
	longestWait     = 5 * time.Minute // … but no longer than this, if the timeout is shorter

	shortestPause = 20 * time.Millisecond // between the first two rounds of servers, …
	longestPause  = time.Second           // … doubling up to this, or to a share if that is shorter
)

// limitOf is what dialling, and each step of the handshake, may take of the session's timeout.
func limitOf(timeout time.Duration) time.Duration {
	return max(timeout/handshakeShare, time.Millisecond)
}

// share is how long to wait for an attempt before the next one starts. It is shorter if something
// will be lost soon. It is longer if the last reply took longer: a second server that is asked
// would needlessly take the session over from the first.
func (k *connector) share() time.Duration {
	k.mu.Lock()
	share, usual := limitOf(k.session.timeout), min(2*k.took, k.session.timeout)
	k.mu.Unlock()
	if left, _ := k.cfg.Stake(); left > 0 {
		share = max(min(share, left/2), share/shareDivisor)
	}
	return max(share, usual)
}

// limits are how long dialling a target may take, and then the reply to the connect request. That
// is longer if one was not answered, but not for a second attempt beside that. With only one
// address, the first dial is short, since there is nothing to try beside it; and so is the first
// wait for a reply, if there is a session to lose: many servers may be behind it. Under mu.
func (k *connector) limits(t *target) (dial, reply time.Duration) {
	timeout := k.session.timeout
	share := limitOf(timeout)
	dial = timeout << min(t.stuck.Load(), 16)
	if k.servers.single() && !time.Now().Before(t.badUntil) {
		dial = share
	}
	switch {
	case t.silent && t.busy < 2:
		reply = max(min(longestPatience*timeout, longestWait), timeout)
	case k.session.id != 0 && k.servers.single():
		reply = share
	default:
		reply = timeout
	}
	return dial, reply + rand.N(share/2+1)
}

// pause is how long to wait before the next server is tried: nothing within a round of all servers,
// and longer after each round. Jitter keeps the clients of a server that failed from coming back at
// once. The pause is shorter if something will be lost soon.
func (k *connector) pause() time.Duration {
	left, _ := k.cfg.Stake()
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.servers.addresses()
	round, within := k.tries/all, k.tries%all != 0
	k.tries++
	if round == 0 || within {
		return 0
	}
	longest := min(longestPause, k.session.timeout/handshakeShare)
	if left > 0 {
		longest = min(longest, max(left/8, shortestPause))
	}
	d := min(shortestPause<<min(round-1, 10), longest)
	return d/2 + rand.N(d/2+1)
}
