package lease

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a client, the server that it is connected to, and the leader, each of which may stand
// still at any time. A lease is safe if it ends before the leader may end the session: T after the
// latest moment at which the server heard of the session, as far as the leader knew when it took
// part in the proof.
type model struct {
	*rapid.T
	lease   *Lease
	timeout time.Duration
	half    time.Duration // between the leader's pings

	now    time.Duration
	agenda []occasion

	serverStill, leaderStill []pause
	toServer, toClient       time.Duration // when the last message on that way comes: messages do not overtake each other
	toLeader, fromLeader     time.Duration

	heard time.Duration // by the server, of the session
	known time.Duration // to the leader: what the server had heard
}

type pause struct{ from, to time.Duration }

type occasion struct {
	at    time.Duration
	order int // of those at the same moment: drawn
	do    func()
}

// at has something done at that moment.
func (m *model) at(moment time.Duration, do func()) {
	o := occasion{moment, rapid.IntRange(0, 9).Draw(m.T, "order"), do}
	i, _ := slices.BinarySearchFunc(m.agenda, o, func(a, b occasion) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	m.agenda = slices.Insert(m.agenda, i, o)
}

// active is the first moment from then on at which somebody does not stand still.
func active(still []pause, moment time.Duration) time.Duration {
	for _, p := range still {
		if moment >= p.from && moment < p.to {
			return p.to
		}
	}
	return moment
}

// arrive is when a message that is sent now is dealt with by somebody. Messages on one way do not
// overtake each other; those of different ways may, when somebody goes on.
func (m *model) arrive(way *time.Duration, trip time.Duration, still []pause) time.Duration {
	*way = active(still, max(*way+1, m.now+trip))
	return *way
}

func (m *model) trip() time.Duration {
	if rapid.IntRange(0, 3).Draw(m.T, "slow") > 0 {
		return time.Millisecond
	}
	return time.Duration(rapid.Int64Range(1, 200).Draw(m.T, "trip")) * time.Millisecond
}

// pauses are times at which somebody stands still.
func (m *model) pauses(label string, until time.Duration) []pause {
	var all []pause
	for at := time.Duration(0); at < until; {
		at += time.Duration(rapid.SampledFrom([]int64{1, 2, 500, 3000}).Draw(m.T, label+" runs")) * time.Millisecond
		p := pause{from: at, to: at + time.Duration(rapid.Int64Range(1, 1500).Draw(m.T, label+" stands still"))*time.Millisecond}
		all = append(all, p)
		at = p.to
	}
	return all
}

// ping is the leader's, and the next one half a tick later.
func (m *model) ping() {
	m.at(m.arrive(&m.fromLeader, time.Millisecond, m.serverStill), func() {
		heard := m.heard
		m.at(m.arrive(&m.toLeader, time.Millisecond, m.leaderStill), func() { m.known = max(m.known, heard) })
	})
	m.at(active(m.leaderStill, m.now+m.half), m.ping)
}

// request is one of the client's: answered by the server, or a proof.
func (m *model) request(proof bool) {
	sent := m.now
	write := proof && !m.lease.SyncProves(at(sent))
	if proof {
		m.lease.Asked(at(sent))
	}
	m.at(m.arrive(&m.toServer, m.trip(), m.serverStill), func() {
		m.heard = m.now
		if !proof {
			m.at(m.arrive(&m.toClient, m.trip(), nil), func() { m.lease.Pinged(at(sent), at(m.now)) })
			return
		}
		m.at(m.arrive(&m.toLeader, time.Millisecond, m.leaderStill), func() {
			known := m.known
			m.at(m.arrive(&m.fromLeader, time.Millisecond, m.serverStill), func() {
				m.at(m.arrive(&m.toClient, m.trip(), nil), func() {
					m.lease.Check(at(m.now))
					before, follows := m.lease.until.Mono, sent-m.lease.proofs.sentBefore(sent) <= m.timeout/gapShare
					m.lease.Proved(1, at(sent), at(m.now), write)
					if until := m.lease.until.Mono; follows && m.lease.stands && until > before && until > known+m.timeout {
						m.Fatalf("at %v the lease goes to %v by a request sent at %v: the leader knows of %v", m.now, until, sent, known)
					}
				})
			})
		})
	})
}

func (m *model) run(until time.Duration) {
	for len(m.agenda) > 0 && m.agenda[0].at <= until {
		o := m.agenda[0]
		m.agenda = m.agenda[1:]
		m.now = o.at
		o.do()
	}
}

// asks is the client's life: proofs when they are due, and answers of the server in between.
func (m *model) asks() {
	m.request(rapid.IntRange(0, 2).Draw(m.T, "kind") > 0)
	next := m.lease.NextSync(at(m.now)).Mono
	if more := m.now + time.Duration(rapid.Int64Range(1, 1000).Draw(m.T, "pause"))*time.Millisecond; more < next {
		next = more
	}
	m.at(next, m.asks)
}

// Server and leader stand still however often, and messages take their time: once proofs follow on
// one another, the lease ends before the leader can end the session.
func TestTheLeaseEndsBeforeTheLeaderEndsTheSession(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const T, long = 3 * time.Second, 30 * time.Second
		tick := rapid.SampledFrom([]time.Duration{T / 2, T / 4, T / 10}).Draw(t, "tick")
		m := &model{T: t, timeout: T, half: tick / 2}
		m.lease = newLease(T, func(c *Config) {
			if rapid.Bool().Draw(t, "tick known") {
				c.Tick = tick
			}
		})
		m.serverStill = m.pauses("server", long)
		m.leaderStill = m.pauses("leader", long)
		m.at(time.Duration(rapid.Int64Range(0, int64(m.half)).Draw(t, "first ping")), m.ping)
		m.at(0, m.asks)
		m.run(long)
	})
}
