package zkconn

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// server is one entry of the list of servers.
type server struct {
	name    string // host:port
	targets []*target
	tried   time.Time
}

// target is one address of a server, and what is remembered of it. Under the Conn's mu.
type target struct {
	server  string // host:port as it was given
	address string // the same, or one of the addresses that the host's name stands for

	tried     time.Time // when it was asked last
	busy      bool      // it is being asked
	badUntil  time.Time // until when it is known to be of no use
	slowDials int       // how often in a row it took too long to be connected
	silent    int       // how often in a row it was connected and did not answer the request for the session

	lastUntil time.Time     // until when it is tried after all others, since it was left for its stall
	penalty   time.Duration // for how long the next time
}

// String is how logs and errors name it.
func (t *target) String() string {
	if t.address == t.server {
		return t.server
	}
	return t.server + " (" + t.address + ")"
}

// failed notes that a target was of no use.
func (t *target) failed(now time.Time, timeout time.Duration) { t.badUntil = now.Add(memory * timeout) }

// leave lets a target that fell silent be tried after all others, for longer each time.
func (t *target) penalize(now time.Time, timeout time.Duration) {
	t.penalty = min(max(2*t.penalty, firstPenalty*timeout), longestPenalty*timeout)
	t.lastUntil = now.Add(t.penalty)
}

// served notes for how long a connection was of use. One that lasted lets its server's silences be
// forgotten.
func (t *target) served(lasted time.Duration) {
	if lasted >= t.penalty {
		t.penalty = 0
	}
}

// Parts and multiples of the session's timeout.
const (
	firstPenalty   = 6
	longestPenalty = 200
	memory         = 6 // of what was of no use
)

// rank is in which order targets are tried: those that were left for their stall last, those that
// were of no use before them; and round and round.
func (t *target) rank(now time.Time) int {
	switch {
	case now.Before(t.lastUntil):
		return 2
	case now.Before(t.badUntil):
		return 1
	}
	return 0
}

func compareTargets(now time.Time) func(a, b *target) int {
	return func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.rank(now), b.rank(now)), a.tried.Compare(b.tried))
	}
}

// round are the servers in the order in which they are to be tried.
func (c *Conn) round() []*server {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	rank := func(s *server) (best int) {
		for i, t := range s.targets {
			if r := t.rank(now); i == 0 || r < best {
				best = r
			}
		}
		return best
	}
	order := slices.Clone(c.servers)
	slices.SortStableFunc(order, func(a, b *server) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.tried.Compare(b.tried))
	})
	return order
}

// lookUp finds the addresses that a server's name stands for at this moment. What is known of them
// is kept; if the name can't be looked up, those that it stood for before are as good as any.
func (c *Conn) lookUp(ctx context.Context, s *server) error {
	host, port, err := net.SplitHostPort(s.name)
	if err != nil {
		return err
	}
	hosts, err := c.cfg.Lookup(ctx, host)
	if err != nil {
		return err
	}
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], port)
	}
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	c.found(s, hosts)
	return nil
}

// found takes the addresses of a server.
func (c *Conn) found(s *server, addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := s.targets
	s.targets = nil
	for _, a := range addresses {
		same := func(t *target) bool { return t.address == a }
		if slices.ContainsFunc(s.targets, same) {
			continue
		}
		if i := slices.IndexFunc(known, same); i >= 0 {
			s.targets = append(s.targets, known[i])
			continue
		}
		t := &target{server: s.name, address: a}
		if c.cfg.Slow {
			t.silent = 1
		}
		s.targets = append(s.targets, t)
	}
}

// order are the addresses of a server in the order in which they are to be tried, without those
// that are being tried.
func (c *Conn) order(s *server) []*target {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	s.tried = now
	free := slices.DeleteFunc(slices.Clone(s.targets), func(t *target) bool { return t.busy })
	slices.SortStableFunc(free, compareTargets(now))
	return free
}

// another tells whether there is an address to go to from this one: one that is not known to be
// silent or of no use.
func (c *Conn) another(than *target, now time.Time) bool {
	for _, s := range c.servers {
		if slices.ContainsFunc(s.targets, func(t *target) bool { return t != than && t.rank(now) == 0 }) {
			return true
		}
		if len(s.targets) == 0 {
			return true // its addresses have not been looked up yet
		}
	}
	return false
}

// single: there is one address only.
func (c *Conn) single() bool {
	return len(c.servers) == 1 && len(c.servers[0].targets) <= 1
}
