// The arithmetic of a lease, by tables, and on a connection that becomes slow.

package lease

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/test/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }

// at is a moment at which both clocks show the same.
func at(d time.Duration) Instant { return Instant{Mono: d, Wall: time.Unix(0, 0).Add(d)} }

// jumped is a moment at which the wall clock has jumped.
func jumped(d, by time.Duration) Instant { return Instant{Mono: d, Wall: time.Unix(0, 0).Add(d + by)} }

func newLease(timeout time.Duration, change func(*Config)) *Lease {
	var cfg Config
	if change != nil {
		change(&cfg)
	}
	l := New(cfg, new(View))
	l.Begin(timeout, at(0))
	return &l
}

// written takes the answer to a write, which came at once.
func (l *Lease) written(sent Instant) (gained bool) {
	gained, _ = l.Proved(1, sent, sent, true)
	return gained
}

func TestAnAnswerIsGoodForTheTimeoutLessTheMargin(t *testing.T) {
	t.Parallel()
	const T = 12 * time.Second
	for _, c := range []struct {
		name   string
		change func(*Config)
		steady time.Duration // what an answer is good for when requests go out every T/6, and right after connecting
		idle   time.Duration // where there have been pings alone, every T/3, the last one T/6 ago
	}{
		{"tick unknown: half", nil, T / 2, 5 * time.Second},
		{"tick known", func(c *Config) { c.Tick = 2 * time.Second }, T - (T/6 + time.Second + T/12), 6 * time.Second},
		{"many ticks", func(c *Config) { c.Tick = 200 * time.Millisecond }, T - (T/4 + T/12), 6 * time.Second},
		{"few ticks", func(c *Config) { c.Tick = T / 3 }, T / 2, 6 * time.Second},
		{"fewest ticks", func(c *Config) { c.Tick = T / 2 }, T / 4, 3 * time.Second},
		{"margin given", func(c *Config) { c.Margin = time.Second }, T - time.Second, 10 * time.Second},
		{"large margin given", func(c *Config) { c.Margin = 8 * time.Second }, T - 8*time.Second, T - 8*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newLease(T, c.change)
			require.True(t, tr.written(at(time.Second)))
			require.Equal(t, at(time.Second+c.steady), tr.until)
			tr = newLease(T, c.change)
			for sent := time.Duration(0); sent <= T; sent += T / 6 {
				tr.written(at(sent))
			}
			require.Equal(t, at(T+c.steady), tr.until)
			tr = newLease(T, c.change)
			for sent := time.Duration(0); sent <= T; sent += T / 3 {
				tr.Pinged(at(sent), at(sent))
			}
			require.True(t, tr.written(at(T+T/6)))
			require.Equal(t, at(T+T/6+c.idle), tr.until)
		})
	}
}

// The leader lags behind in its knowledge of the session by the same time with another timeout.
func TestWhatAProofLacksItLacksWithAnotherTimeout(t *testing.T) {
	t.Parallel()
	const T, shorter = 12 * time.Second, 8 * time.Second
	l := newLease(T, nil)
	for sent := time.Duration(0); sent <= T; sent += T / 3 {
		l.Pinged(at(sent), at(sent))
	}
	proof := at(T + T/6)
	require.True(t, l.written(proof))
	lacking := l.Longest() - (l.Until().Mono - proof.Mono)
	require.Positive(t, lacking)
	l.Retime(shorter)
	require.Equal(t, proof.Add(shorter-l.Margin()-lacking), l.Until())
	require.False(t, l.view.Read().Good(l.Until()))
}

// Whatever was answered, and whenever: with a larger margin trust does not end later.
func TestALargerMarginIsNeverLessSafe(t *testing.T) {
	t.Parallel()
	const T = 12 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.SampledFrom([]time.Duration{0, 200 * time.Millisecond, 2 * time.Second, T / 2}).Draw(t, "tick")
		margins := []time.Duration{0, time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second, 9 * time.Second}
		var all []*Lease
		for _, m := range margins {
			all = append(all, newLease(T, func(c *Config) { c.Tick, c.Margin = tick, m }))
		}
		now := time.Duration(0)
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			sent := now + time.Duration(rapid.Int64Range(0, int64(T/2)).Draw(t, "pause"))
			now = sent + time.Duration(rapid.Int64Range(0, int64(T/3)).Draw(t, "trip"))
			kind := rapid.IntRange(0, 2).Draw(t, "ping, sync, write")
			for _, tr := range all {
				tr.Check(at(now))
				if kind == 0 {
					tr.Pinged(at(sent), at(now))
				} else {
					tr.Proved(1, at(sent), at(now), kind == 2)
				}
			}
			for i, tr := range all {
				for _, larger := range all {
					if tr.margin < larger.margin && larger.stands && tr.stands {
						require.LessOrEqual(t, larger.until.Mono, tr.until.Mono, "margins %v and %v", tr.margin, larger.margin)
					}
				}
				if margins[i] >= all[0].least && tr.stands {
					require.True(t, all[0].stands)
					require.LessOrEqual(t, tr.until.Mono, all[0].until.Mono, "a margin of %v is larger than what is reckoned", margins[i])
				}
			}
		}
	})
}

func TestSyncsProveWhileTheyFollowOnAWrite(t *testing.T) {
	t.Parallel()
	const T = 12 * time.Second
	s := time.Second
	type answer struct {
		does      string
		sent, now time.Duration
		write     bool
		refused   bool
	}
	for _, c := range []struct {
		name    string
		created bool
		answers []answer
	}{
		{"a new session, and syncs that follow on one another", true, []answer{
			{"the first sync", 0, s, false, false}, {"the next", 2 * s, 3 * s, false, false}, {"the next", 4 * s, 6 * s, false, false},
		}},
		{"a session that was resumed", false, []answer{
			{"a sync", 0, s, false, true}, {"the next", 2 * s, 3 * s, false, true}, {"a write", 3 * s, 3 * s, true, false}, {"a sync behind it", 4 * s, 5 * s, false, false},
		}},
		{"a gap in the answers", true, []answer{
			{"a sync", 0, s, false, false},
			{"one that is answered late", 2 * s, 5 * s, false, true},
			{"one that is not", 5 * s, 5 * s, false, true},
			{"a write", 5 * s, 6 * s, true, false},
			{"a sync behind it", 7 * s, 8 * s, false, false},
		}},
		{"an idle session", true, []answer{
			{"a sync", 60 * s, 60 * s, false, true}, {"a write", 120 * s, 120 * s, true, false}, {"a sync behind it", 122 * s, 122 * s, false, false},
		}},
		{"a write that was answered late: the leader may have been deposed right behind it", false, []answer{
			{"a write", 0, 5 * s, true, false}, {"a sync", 5 * s, 5 * s, false, true}, {"a write", 6 * s, 6 * s, true, false}, {"a sync", 8 * s, 8 * s, false, false},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newLease(T, nil)
			tr.Connected(at(0), c.created, at(0))
			for _, a := range c.answers {
				tr.Check(at(a.now))
				_, refused := tr.Proved(1, at(a.sent), at(a.now), a.write)
				require.Equal(t, a.refused, refused, a.does)
			}
		})
	}
}

func TestALeaseEndsByWhicheverClockIsFirst(t *testing.T) {
	t.Parallel()
	const T = 10 * time.Second // credit: 8s
	type step struct {
		does   string
		sent   Instant // of a proof, if one comes
		now    Instant
		lapsed bool
		gained bool
		until  time.Duration // 0: none
	}
	none := Instant{}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"proofs prolong", []step{
			{"first", at(1), at(1), false, true, 8*time.Second + 1},
			{"second", at(2 * time.Second), at(3 * time.Second), false, false, 10 * time.Second},
			{"older one, late", at(time.Second), at(4 * time.Second), false, false, 10 * time.Second},
		}},
		{"the end, and back", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"just before", none, at(8*time.Second - 1), false, false, 8 * time.Second},
			{"the Instant", none, at(8 * time.Second), true, false, 8 * time.Second},
			{"once only", none, at(9 * time.Second), false, false, 8 * time.Second},
			{"a proof that comes too late", at(time.Second), at(9 * time.Second), false, false, 8 * time.Second},
			{"back", at(3 * time.Second), at(9 * time.Second), false, true, 11 * time.Second},
		}},
		{"an end that a proof finds", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"another", at(2 * time.Second), at(2 * time.Second), false, false, 10 * time.Second},
			{"another", at(3500 * time.Millisecond), at(3500 * time.Millisecond), false, false, 11500 * time.Millisecond},
			{"another", at(4900 * time.Millisecond), at(4900 * time.Millisecond), false, false, 12900 * time.Millisecond},
			{"the next, when it was over", at(6900 * time.Millisecond), at(14 * time.Second), true, true, 14900 * time.Millisecond},
		}},
		{"the machine slept: the wall clock is ahead", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"sync out, then sleep, then the answer", at(time.Second), jumped(2*time.Second, time.Hour), true, false, 0},
			{"one from after", jumped(2*time.Second, time.Hour), jumped(3*time.Second, time.Hour), false, true, 10 * time.Second},
		}},
		{"the wall clock is set back", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"jump", none, jumped(time.Second, -time.Hour), true, false, 0},
			{"one from before", at(time.Second / 2), jumped(time.Second, -time.Hour), false, false, 0},
		}},
		{"a small step of the wall clock is no jump", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"step", none, jumped(time.Second, time.Second), false, false, 8 * time.Second},
			{"but the end comes by whichever clock is first", none, jumped(7*time.Second, time.Second), true, false, 8 * time.Second},
		}},
		{"jumps while nothing is trusted are of no interest", []step{
			{"jump", none, jumped(time.Second, time.Hour), false, false, 0},
			{"proof", jumped(time.Second, time.Hour), jumped(time.Second, time.Hour), false, true, 9 * time.Second},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newLease(T, func(c *Config) { c.Margin = 2 * time.Second })
			for _, s := range c.steps {
				require.Equal(t, s.lapsed, tr.Check(s.now), s.does)
				if s.sent != none {
					gained, _ := tr.Proved(1, s.sent, s.now, true)
					require.Equal(t, s.gained, gained, s.does)
				}
				require.Equal(t, s.until, tr.until.Mono, s.does)
				require.Equal(t, tr.stands, tr.view.Read().Good(s.now), s.does)
			}
		})
	}
}

func TestAReadingNoticesAJumpBeforeTheLeaseDoes(t *testing.T) {
	t.Parallel()
	tr := newLease(10*time.Second, nil)
	tr.written(at(0))
	v := tr.view.Read()
	require.True(t, v.Good(at(time.Second)))
	require.True(t, v.Good(jumped(time.Second, time.Second)))
	require.False(t, v.Good(jumped(time.Second, time.Second+1)))
	require.False(t, v.Good(jumped(time.Second, -time.Second-1)))
	require.False(t, (*Reading)(nil).Good(at(0)))
}

// Answers from before the machine slept are older by the sleep, though the monotonic clock stood
// still: a server that stands still, and whose leader has not heard of the session since, must not
// be taken for one that answered a moment ago.
func TestWhatWasHeardBeforeASleepIsOld(t *testing.T) {
	t.Parallel()
	const T, slept = 12 * time.Second, 7 * time.Second
	tr := newLease(T, func(c *Config) { c.Tick = 2 * time.Second })
	for sent := time.Duration(0); sent <= 10*time.Second; sent += T / 6 {
		tr.written(at(sent))
	}
	woken := jumped(10*time.Second+100*time.Millisecond, slept)
	tr.Check(woken)
	require.False(t, tr.stands)
	tr.written(woken)
	// The latest that the leader may know of is what was sent half a tick before the last answer
	// that came before the sleep: at 8 s.
	require.False(t, tr.stands && tr.until.Wall.After(at(8*time.Second+T).Wall), "trusted until %v by the wall clock", tr.until.Wall.Sub(at(0).Wall))
}

// A connection may become slow, for good or now and then: with the network, the server, or this
// machine. That does not keep the lease away.
func TestTheLeaseComesBackOnAConnectionThatBecameSlow(t *testing.T) {
	t.Parallel()
	const T = 3 * time.Second
	ms := time.Millisecond
	for _, c := range []struct {
		name        string
		least, most time.Duration // a trip takes, once the connection is slow
	}{
		{"slow", 80 * ms, 80 * ms},
		{"slower", 200 * ms, 200 * ms},
		{"now and then", ms, 150 * ms},
		{"very unevenly", ms, 300 * ms},
	} {
		for _, tick := range []time.Duration{0, T / 10, T / 4} {
			t.Run(c.name+", tick "+tick.String(), func(t *testing.T) {
				t.Parallel()
				l := newLease(T, func(c *Config) { c.Tick = tick })
				rng := rand.New(rand.NewPCG(1, 2))
				now, lapses := time.Duration(0), 0
				var lapsed time.Duration
				for now < 100*T {
					trip := ms
					if now > 10*T {
						trip = c.least + time.Duration(rng.Int64N(int64(c.most-c.least+1)))
					}
					sent := at(now)
					l.Check(sent)
					l.Asked(sent)
					back := now + trip
					if end := l.Until().Mono; l.Check(at(back)) {
						lapses++
						lapsed = end
					}
					write := !l.SyncProves(sent)
					l.Proved(1, sent, at(back), write)
					if now > 12*T && l.Stands() && lapsed > 0 {
						require.Less(t, back-lapsed, T/2, "without a lease")
						lapsed = 0
					}
					now = max(back, l.NextSync(at(back)).Mono)
				}
				require.True(t, l.Stands())
				require.LessOrEqual(t, lapses, 1, "ends of the lease")
			})
		}
	}
}

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
	// The ways of messages, each with the moment when its last one arrives: they do not overtake
	// each other. The first two are between client and server, the others between server and
	// leader.
	toServer, toClient   time.Duration
	toLeader, fromLeader time.Duration

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

// active is the first moment from then on that is in none of the pauses.
func active(still []pause, moment time.Duration) time.Duration {
	for _, p := range still {
		if moment >= p.from && moment < p.to {
			return p.to
		}
	}
	return moment
}

// arrive is when a message that is sent now is handled at its end. Messages on one way do not
// overtake each other; messages on different ways may, when their end goes on after a pause.
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

// pauses are times at which a process stands still.
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
