package zkconn

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// server is an entry of the list of servers.
type server struct {
	name    string // host:port
	targets []*target
	most    int // of them at a time
	tried   time.Time
	unknown time.Time // until then its name counts as one that can't be resolved
	trouble error     // what was wrong with it when it was tried last
}

// servers are those of the configuration. Under the Conn's mu.
type servers []*server

// target is one address of a server, with its history. Under the Conn's mu.
type target struct {
	server  string // host:port as configured
	address string // the same, or one of the addresses of the host's name

	tried     time.Time // the last attempt
	busy      bool      // an attempt is under way
	asked     time.Time // when its connect request was sent; zero: it was not yet
	badUntil  time.Time // it failed
	slowDials int       // consecutive attempts in which dialling took too long
	silent    bool      // a connect request was not answered, since one was

	lastUntil time.Time     // it stalled, and is tried after all others
	penalty   time.Duration // for how long
	hangs     time.Time     // since when it hangs up on the session, if that is after search.sound
	scouted   time.Time     // for a loss of data
	next      int64         // the transaction of that scout, if it was not above what was seen
	stuck     atomic.Int32  // attempts whose dialer did not return
}

// Multiples of the session's timeout.
const (
	failedFor      = 6
	firstPenalty   = 6
	longestPenalty = 200
)

// about is a log that names it: the server, and its address if that is another.
func (t *target) about(log *slog.Logger) *slog.Logger {
	if log = log.With("server", t.server); t.address == t.server {
		return log
	}
	return log.With("address", t.address)
}

// failed notes that an attempt failed.
func (t *target) failed(now time.Time, timeout time.Duration) {
	t.badUntil = now.Add(failedFor * timeout)
}

// penalize notes that the server stalled. It is tried after all others, for longer each time.
func (t *target) penalize(now time.Time, timeout time.Duration) {
	t.penalty = min(max(2*t.penalty, firstPenalty*timeout), longestPenalty*timeout)
	t.lastUntil = now.Add(t.penalty)
}

// served notes how long a connection lasted that was lost for another reason. One that lasted long
// clears the penalty.
func (t *target) served(lasted time.Duration) {
	if lasted >= t.penalty {
		t.penalty = 0
	}
}

// rank is 0 for a target that is good, 1 for one that failed, 2 for one that stalled.
func (t *target) rank(now time.Time) int {
	switch {
	case now.Before(t.lastUntil):
		return 2
	case now.Before(t.badUntil):
		return 1
	}
	return 0
}

// rank is that of its best target; as if it had failed, if its name could not be resolved.
func (s *server) rank(now time.Time) (best int) {
	if len(s.targets) == 0 && now.Before(s.unknown) {
		return 1
	}
	for i, t := range s.targets {
		if r := t.rank(now); i == 0 || r < best {
			best = r
		}
	}
	return best
}

// round returns the servers in the order in which to try them: the best first, and among equals the
// one that was not tried for the longest time.
func (k *connector) round() []*server {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	order := slices.Clone(k.servers)
	slices.SortStableFunc(order, func(a, b *server) int {
		return cmp.Or(cmp.Compare(a.rank(now), b.rank(now)), a.tried.Compare(b.tried))
	})
	return order
}

// targetsOf returns the targets of a server, in the same order, without those that are being tried.
func (k *connector) targetsOf(s *server) []*target {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	s.tried = now
	free := slices.DeleteFunc(slices.Clone(s.targets), func(t *target) bool { return t.busy })
	slices.SortStableFunc(free, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.rank(now), b.rank(now)), a.tried.Compare(b.tried))
	})
	return free
}

// resolve looks up a server's name. If that fails, its former addresses are kept.
func (k *connector) resolve(ctx context.Context, s *server) error {
	host, port, err := net.SplitHostPort(s.name)
	if err != nil {
		return err
	}
	hosts, err := k.cfg.Lookup(ctx, host)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		s.unknown = time.Now().Add(failedFor * k.session.timeout)
		return err
	}
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], port)
	}
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	k.found(s, hosts)
	return nil
}

// found sets the addresses of a server. Those that it had keep their history.
func (k *connector) found(s *server, addresses []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
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
		s.targets = append(s.targets, &target{server: s.name, address: a, silent: k.cfg.Slow})
	}
	s.most = max(s.most, len(s.targets))
}

// another tells whether there is a good target beside this one. A server whose name is not resolved
// yet may have one. Under mu.
func (all servers) another(than *target, now time.Time) bool {
	return slices.ContainsFunc(all, func(s *server) bool {
		return len(s.targets) == 0 && s.rank(now) == 0 || slices.ContainsFunc(s.targets, func(t *target) bool { return t != than && t.rank(now) == 0 })
	})
}

// single tells whether there is one address only. Under mu.
func (all servers) single() bool { return len(all) == 1 && len(all[0].targets) <= 1 }
