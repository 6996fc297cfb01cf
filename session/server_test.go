// Servers that fall silent, are slow, busy or overrun: what is held outlasts them, and no session
// changes servers in vain. Helpers: helper_test.go.

package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// ending is one trial: a session holds something over one of three servers, and that one ends.
type ending struct {
	ends  func(s *zktest.Server, i int) // it is stopped, or killed
	leads bool                          // it is the leader
	takes time.Duration                 // the election of another one
	idle  time.Duration                 // from the opening of the session to the possession
	every time.Duration                 // how often something is read while the session is idle
	held  time.Duration                 // from the possession to the end of the server
}

// loses makes the trial, and returns how the possession ended: nil if it stands.
func (f ending) loses(t *testing.T) (lost error) {
	inBubbleHere(t, func(w *harness) {
		const leader = 2
		s := w.open()
		for f.leads && w.connectedTo(s) != leader {
			require.NoError(w, s.Close(w.ctx))
			s = w.open()
		}
		for left := f.idle; left > 0; left -= f.every {
			time.Sleep(min(f.every, left))
			if left > f.every {
				w.exists(s, "/")
			}
		}
		h := w.client(s).hold(w, 1, "/queue")
		time.Sleep(f.held)
		require.NoError(w, h.Err())
		f.ends(w.srv, w.connectedTo(s))
		time.Sleep(2 * s.Status().Timeout)
		lost = h.Err()
		require.Equal(w, session.Connected, s.Status().State)
	}, zktest.WithServers(3), zktest.WithElection(f.takes))
	return lost
}

// The server that a session is connected to is stopped, or killed, at any instant. The session goes
// to another one while it is still trusted to be alive, so that what it holds stands. If it was the
// leader, it stands if the others have elected another in time. How much time that is, hangs on
// what is known of the leader's knowledge when the possession is granted: see docs/sessions.md.
func TestNoPossessionIsLostWithASilentServer(t *testing.T) {
	t.Parallel()
	const s = time.Second
	const never = time.Hour // longer than any trial
	random := func(rng *rand.Rand, ends func(*zktest.Server, int)) ending {
		return ending{ends: ends, idle: between(rng, 0, 10*s), every: never, held: between(rng, 0, 25*s)}
	}
	type row struct {
		parts, trials int // tests, and trials of each
		draw          func(rng *rand.Rand) ending
	}
	stop := (*zktest.Server).Stop
	for name, r := range map[string]row{
		"stopped": {16, 50, func(rng *rand.Rand) ending { return random(rng, stop) }},
		"killed":  {4, 50, func(rng *rand.Rand) ending { return random(rng, (*zktest.Server).Kill) }},
		"leader, held for long": {1, 20, func(rng *rand.Rand) ending {
			return ending{ends: stop, leads: true, takes: 3 * s, idle: between(rng, 0, 4*s), every: never, held: between(rng, 20*s, 22*s)}
		}},
		"leader of a new session": {1, 20, func(rng *rand.Rand) ending {
			return ending{ends: stop, leads: true, takes: 3 * s, held: between(rng, 0, 2*s)}
		}},
		"leader of a session in use": {1, 20, func(rng *rand.Rand) ending {
			return ending{ends: stop, leads: true, takes: 3 * s, idle: between(rng, 20*s, 24*s), every: s * 8 / 5, held: between(rng, 0, 2*s)}
		}},
		"leader of an idle session": {1, 20, func(rng *rand.Rand) ending {
			return ending{ends: stop, leads: true, takes: s * 3 / 2, idle: between(rng, 20*s, 24*s), every: never, held: between(rng, 0, 2*s)}
		}},
	} {
		for part := range r.parts {
			t.Run(fmt.Sprint(name, " ", part), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(uint64(part), 4))
				lost := 0
				for range r.trials {
					f := r.draw(rng)
					if err := f.loses(t); err != nil {
						lost++
						t.Logf("idle for %v, held for %v: %v", f.idle, f.held, err)
					}
				}
				require.Zero(t, lost, "of %d possessions", r.trials)
			})
		}
	}
}

// Where every server is slow, or the way to all of them, going from one to the next is no help: a
// session that has always known it so stays where it is, and one that finds it so loses its
// connection a few times at most, until it knows. An idle one, that hears nothing but the answers
// to pings, bears more: an answer that takes two thirds of the timeout is too late, see
// docs/sessions.md.
func TestASlowNetworkIsNotFledFrom(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for idle, latencies := range map[bool][]time.Duration{
		false: {500 * ms, 1100 * ms, 1400 * ms, 1600 * ms},
		true:  {1000 * ms, 1700 * ms, 2000 * ms, 2500 * ms, 3000 * ms, 3300 * ms},
	} {
		for _, latency := range latencies {
			for _, always := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v, always %t, idle %t", latency, always, idle), func(t *testing.T) {
					inBubble(t, func(w *harness) { w.slowNetwork(latency, always, idle) }, zktest.WithServers(3))
				})
			}
		}
	}
}

// slowNetwork: the network is slow, always or from some moment on, for a session that holds nothing
// if it is idle.
func (w *harness) slowNetwork(latency time.Duration, always, idle bool) {
	host := w.srv.Host("far away")
	slow := latency
	if always {
		host.Slow(slow)
	}
	s, t := w.openClient(session.WithDialer(host.Dialer()))
	if !idle {
		t.inQueue(w)
	}
	time.Sleep(time.Minute)
	host.Slow(slow)
	t.told()
	w.srv.ClearJournal()
	time.Sleep(30 * time.Minute)
	left := slices.DeleteFunc(t.told(), func(n string) bool { return n != "disconnected" })
	again, _ := w.handshakes()
	if always || !idle && 2*latency < s.Status().Timeout/8 { // a server that answers in T/8 is not left: see zkconn, loss.go
		require.Zero(w, again)
	} else {
		require.LessOrEqual(w, again, 6, "handshakes: a few with each server, once it is slow")
	}
	if !idle {
		require.LessOrEqual(w, len(left), 3, "times that a connection was lost in half an hour")
	}
	require.EqualValues(w, 1, s.Status().Epoch)
}

// connectedTo is the number of the server that a session is connected to.
func (w *harness) connectedTo(s *session.Session) int {
	w.Helper()
	i := slices.Index(w.srv.Hosts(), s.Status().Server)
	require.GreaterOrEqual(w, i, 0, "not connected")
	return i
}

// An idle session has nothing to lose, and bears a silence for as long as it can.
func TestAnIdleSessionStaysWithASilentServer(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		time.Sleep(time.Minute)
		before := s.Status().Server
		w.srv.Stop(w.connectedTo(s))
		time.Sleep(6 * time.Second)
		require.Equal(w, before, s.Status().Server)
		time.Sleep(time.Minute)
		require.NotEqual(w, before, s.Status().Server)
	}, zktest.WithServers(3))
}

// A server that has much to do answers one request after the other, the later ones late. It lives,
// so no session goes to another one, where the requests would be sent again.
func TestABusyServerIsNotLeft(t *testing.T) {
	inBubble(t, func(w *harness) {
		_, t, h := w.holding()
		w.meets(zktest.Delay(50*time.Millisecond), func(r *zktest.Request) bool { return r.Op == zktest.OpGetData })
		time.Sleep(time.Minute)
		t.told()
		const reads = 60 // three seconds
		answers := make(chan error, reads)
		for range reads {
			t.Read(1, "/queue", false, func(seen session.Seen) { answers <- seen.Err })
		}
		for range reads {
			require.NoError(w, <-answers)
		}
		require.Empty(w, t.told())
		require.True(w, h.Valid())
	}, zktest.WithServers(3))
}

// handshakes are those that the servers have received since the journal was cleared, and how many
// sessions were found to have expired by them.
func (w *harness) handshakes() (all, expired int) {
	over := map[int64]bool{}
	for _, r := range w.srv.Journal() {
		if r.Op == zktest.OpConnect {
			all++
			if r.Replied && !r.Served {
				over[r.SessionID] = true
			}
		}
	}
	return all, len(over)
}

// All clients of a server come back at once when it has been restarted, and each handshake costs it
// work, one after the other. Clients that gave up too early would make it work for nothing, and the
// more so the more of them there are. All are back within twice the time that the server needs for
// all of them.
func TestAHerdComesBackInTwiceTheTimeThatItsHandshakesTake(t *testing.T) {
	t.Parallel()
	herds := map[int]time.Duration{300: 20 * time.Millisecond}
	if tier.Soaking() {
		herds[5000] = 2 * time.Millisecond
	}
	for clients, cost := range herds {
		t.Run(fmt.Sprint(clients), func(t *testing.T) {
			inBubble(t, func(w *harness) { w.herdComesBack(clients, cost) }, zktest.WithJournal(1<<16))
		})
	}
}

func (w *harness) herdComesBack(n int, cost time.Duration) {
	sessions := w.herd(n)
	took := w.comesBack(sessions, cost, func() {})
	all, expired := w.handshakes()
	needed := time.Duration(n+expired) * cost // a client whose session has expired asks once more, for another one
	w.Logf("%v for %d handshakes, %d of which told of an expiry; in turn %d take %v", took, all, expired, n+expired, needed)
	require.Less(w, took, 2*needed)
	synctest.Wait()
	w.srv.SlowHandshakes(0)
	w.settled(sessions)
}

// herd are n sessions.
func (w *harness) herd(n int) []*session.Session {
	system, _ := actors.New()
	w.Cleanup(func() { require.NoError(w, system.Close(context.Background())) })
	sessions := make([]*session.Session, n)
	for i := range sessions {
		sessions[i] = w.open(session.WithSystem(system), session.WithTimeout(10*time.Second))
	}
	return sessions
}

// comesBack is how long it takes until all are connected again, when all servers have been killed
// and restarted.
func (w *harness) comesBack(sessions []*session.Session, cost time.Duration, killed func()) time.Duration {
	for i := range w.srv.Hosts() {
		w.srv.Kill(i)
	}
	killed()
	time.Sleep(time.Second)
	w.srv.SlowHandshakes(cost)
	w.srv.ClearJournal()
	for i := range w.srv.Hosts() {
		require.NoError(w, w.srv.Restart(i))
	}
	restarted := time.Now()
	var back sync.WaitGroup
	var failed atomic.Int32
	for _, s := range sessions {
		back.Go(func() { // ends when the session is connected, for good or for the epoch that follows
			if err := s.Connect(w.within(time.Hour)); err != nil {
				failed.Add(1)
			}
		})
	}
	back.Wait()
	require.Zero(w, failed.Load(), "clients never came back")
	return time.Since(restarted)
}

// A session that may have left writes at every server asks each for a session of its own first. The
// herd is back within three times of what it takes otherwise.
func TestAHerdThatMayHaveLeftWritesComesBackInTime(t *testing.T) {
	t.Parallel()
	const clients, cost = 300, 20 * time.Millisecond
	var took [2]time.Duration
	for i := range took {
		inBubbleHere(t, func(w *harness) {
			sessions := w.herd(clients)
			ctx, cancel := context.WithCancel(w.ctx)
			var writing sync.WaitGroup
			if i > 0 { // each session loses writes at each server
				w.meets(zktest.DropRequest, func(r *zktest.Request) bool { return r.Op == zktest.OpSetData })
				for _, s := range sessions {
					writing.Go(func() { // ends with ctx
						for ctx.Err() == nil {
							_, _ = s.Set(ctx, "/", nil, -1)
						}
					})
				}
			}
			for range len(w.srv.Hosts()) - 1 {
				synctest.Wait()
				for _, s := range sessions {
					w.srv.Disconnect(id(s))
				}
				time.Sleep(time.Second)
			}
			took[i] = w.comesBack(sessions, cost, func() {
				cancel()
				writing.Wait()
			})
			all, expired := w.handshakes()
			w.Logf("%v for %d handshakes, %d of which told of an expiry", took[i], all, expired)
			w.srv.SlowHandshakes(0)
			w.settled(sessions)
		}, zktest.WithServers(3), zktest.WithJournal(1<<16))
	}
	require.Less(t, took[1], 3*took[0])
}

// settled: nothing of the herd is left over that would let connections go again.
func (w *harness) settled(sessions []*session.Session) {
	w.Helper()
	time.Sleep(10 * time.Second)
	w.srv.ClearJournal()
	time.Sleep(10 * time.Second)
	again, _ := w.handshakes()
	require.Zero(w, again, "connections still come and go")
	for _, s := range sessions {
		require.Equal(w, session.Connected, s.Status().State)
	}
}

// Round trips may take nearly a sixth of the timeout, and a fifth if the tick is known, always or
// from some moment on: trust stays while anything depends on it.
func TestTrustStaysOnASlowConnection(t *testing.T) {
	t.Parallel()
	for _, always := range []bool{false, true} {
		for tick, trip := range map[time.Duration]time.Duration{0: timeout * 15 / 100, timeout / 20: timeout * 20 / 100} {
			t.Run(fmt.Sprintf("always %t, tick %v", always, tick), func(t *testing.T) {
				inBubble(t, func(w *harness) {
					host := w.srv.Host("far away")
					opts := []session.Option{session.WithTimeout(timeout), session.WithDialer(host.Dialer())}
					if tick > 0 {
						opts = append(opts, session.WithTick(tick))
					}
					slow := trip / 2
					if always {
						host.Slow(slow)
					}
					s, c := w.openClient(opts...)
					time.Sleep(3 * timeout)
					if !always {
						host.Slow(slow)
					}
					c.StandBy(1, true)
					time.Sleep(2 * timeout)
					for range 1000 {
						time.Sleep(timeout / 100)
						require.True(w, s.Status().TrustedUntil.After(time.Now()), "%+v", s.Status())
					}
				}, zktest.WithTick(timeout/20))
			})
		}
	}
}
