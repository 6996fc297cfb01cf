package zkconn

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// server is an entry of the list of servers.
type server struct {
	name    string // host:port
	targets []*target
	most    int // of them that there were at a time
	tried   time.Time
	unknown time.Time // until then a name without an address counts as one that can't be resolved
	trouble error     // what was wrong with it when it was tried last
}

// target is one address of a server, with its history. Under the Conn's mu.
type target struct {
	server  string // host:port as configured
	address string // the same, or one of the addresses of the host's name

	tried    time.Time    // the last attempt
	busy     int          // attempts that are under way: one, or one more when the first waits for long
	more     time.Time    // when there may be one more
	asked    time.Time    // when the first of these sent its connect request; zero: none has
	badUntil time.Time    // until then it is tried after the others, since it has failed
	silent   bool         // a connect request was not answered, and none since
	stuck    atomic.Int32 // attempts whose dialer did not return
	// For the check for a loss of data: see hangs.
	hangs   time.Time // since when it hangs up on the session, if that is after core.sound
	scouted time.Time // when it was last scouted
	next    int64     // the transaction of that scout, if it was not above what was seen
}

// failedFor is for how many timeouts a target that failed is tried after the others.
const failedFor = 6

// about is a log that names the target: the server, and its address if that is another.
func (t *target) about(log *slog.Logger) *slog.Logger {
	log = log.With("server", t.server)
	if t.address == t.server {
		return log
	}
	return log.With("address", t.address)
}

// failed records that an attempt failed, or that the target does not answer.
func (t *target) failed(now time.Time, timeout time.Duration) {
	t.badUntil = now.Add(failedFor * timeout)
}

// good tells whether a target has not failed recently, has no late writes, and is not being tried.
// Under mu.
func (c *core) good(t *target, now time.Time) bool {
	return !now.Before(t.badUntil) && t.busy == 0 && c.owed(t) == 0
}

// hasGood tells whether a server has a good target beside one, or may have one since its name is
// not resolved yet. Under mu.
func (c *core) hasGood(s *server, than *target, now time.Time) bool {
	return len(s.targets) == 0 && !now.Before(s.unknown) || slices.ContainsFunc(s.targets, func(t *target) bool { return t != than && c.good(t, now) })
}

// pick returns the server to try next: at random one of those that have a good target, or may have
// one, beside the target of the last connection; or else the server of that target, if it is good;
// or else the server that was not tried for the longest time.
func (k *connector) pick() *server {
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	now := time.Now()
	for _, than := range []*target{k.core.lost, nil} {
		if good := slices.DeleteFunc(slices.Clone(k.core.servers), func(s *server) bool { return !k.core.hasGood(s, than, now) }); len(good) > 0 {
			return good[k.core.cfg.Source.Rand().IntN(len(good))]
		}
	}
	return slices.MinFunc(k.core.servers, func(a, b *server) int { return a.tried.Compare(b.tried) })
}

// next returns the target of a server to try, by the same rule; nil if attempts at all of them are
// under way. Where an attempt has waited for its answer for long there may be another, since its
// connection may be dead.
func (k *connector) next(s *server) (best *target) {
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	s.tried = time.Now()
	if len(s.targets) == 0 {
		s.unknown = s.tried.Add(failedFor * k.core.session.timeout) // until found
	}
	last := false // best is good, and was lost
	for _, t := range s.targets {
		switch good := k.core.good(t, s.tried); {
		case good && t != k.core.lost: // any of these will do: they were shuffled
			return t
		case good: // it is the second choice
			best, last = t, true
		case last, t.busy > 1, t.busy == 1 && s.tried.Before(t.more): // there is a better one, or it is being tried
		case best == nil || t.tried.Before(best.tried): // the third choice: the one that was not tried for the longest time
			best = t
		}
	}
	return best
}

// resolve looks up a server's name. If that fails, its former addresses are kept.
func (k *connector) resolve(ctx context.Context, s *server) error {
	host, port, err := net.SplitHostPort(s.name)
	if err != nil {
		return err
	}
	hosts, err := k.core.cfg.Lookup(ctx, host)
	if err == nil && len(hosts) == 0 {
		err = errNoAddress
	}
	if err != nil {
		k.core.mu.Lock()
		defer k.core.mu.Unlock()
		s.unknown = time.Now().Add(failedFor * k.core.session.timeout)
		if err == errNoAddress {
			s.targets = nil
		}
		return err
	}
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], port)
	}
	k.core.cfg.Source.Rand().Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	k.found(s, hosts)
	return nil
}

// found sets the addresses of a server. Addresses that it had before keep their history.
func (k *connector) found(s *server, addresses []string) {
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	known := s.targets
	s.targets, s.unknown = nil, time.Time{}
	for _, a := range addresses {
		same := func(t *target) bool { return t.address == a }
		if slices.ContainsFunc(s.targets, same) {
			continue
		}
		if i := slices.IndexFunc(known, same); i >= 0 {
			s.targets = append(s.targets, known[i])
			continue
		}
		s.targets = append(s.targets, &target{server: s.name, address: a, silent: k.core.cfg.Slow})
	}
	s.most = max(s.most, len(s.targets))
}

// addresses is how many addresses of servers are known. Under mu.
func (c *core) addresses() (n int) {
	for _, s := range c.servers {
		n += max(len(s.targets), 1)
	}
	return n
}

// single tells whether there is one address only. Under mu.
func (c *core) single() bool { return len(c.servers) == 1 && len(c.servers[0].targets) <= 1 }

const (
	handshakeShare = 6 // a server has this part of the timeout for a step, before another one is tried as well
	shareDivisor   = 4 // the shortest share is this part of the usual one

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
	k.core.mu.Lock()
	share, usual := limitOf(k.core.session.timeout), min(2*k.core.took, k.core.session.timeout)
	k.core.mu.Unlock()
	if left, _ := k.core.cfg.Stake(); left > 0 {
		share = max(min(share, left/2), share/shareDivisor)
	}
	return max(share, usual)
}

// limits are how long dialling a target may take, and then the reply to the connect request. That
// is longer if one was not answered, but not for a second attempt beside that. With only one
// address, the first dial is short, since there is nothing to try beside it; and so is the first
// wait for a reply, if there is a session to lose: many servers may be behind it. Under mu.
func (k *connector) limits(t *target) (dial, reply time.Duration) {
	timeout := k.core.session.timeout
	share := limitOf(timeout)
	dial = timeout << min(t.stuck.Load(), 16)
	if k.core.single() && !time.Now().Before(t.badUntil) {
		dial = share
	}
	switch {
	case t.silent && t.busy < 2:
		reply = max(min(longestPatience*timeout, longestWait), timeout)
	case k.core.session.id != 0 && k.core.single():
		reply = share
	default:
		reply = timeout
	}
	return dial, reply + k.core.cfg.Source.N(share/2+1)
}

// pause is how long to wait before the next server is tried: nothing within a round of all servers,
// and longer after each round. Jitter keeps the clients of a server that failed from coming back at
// once. The pause is shorter if something will be lost soon.
func (k *connector) pause() time.Duration {
	left, _ := k.core.cfg.Stake()
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	all := k.core.addresses()
	round, within := k.core.tries/all, k.core.tries%all != 0
	k.core.tries++
	if round == 0 || within {
		return 0
	}
	longest := min(longestPause, k.core.session.timeout/handshakeShare)
	if left > 0 {
		longest = min(longest, max(left/8, shortestPause))
	}
	d := min(shortestPause<<min(round-1, 10), longest)
	return d/2 + k.core.cfg.Source.N(d/2+1)
}
