package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Of three servers the one that a session is connected to is stopped, or killed, at any instant.
// The session goes to another one while it is still trusted to be alive, so that what it holds
// stands.
func TestNoPossessionIsLostWhenTheConnectedServerFallsSilent(t *testing.T) {
	t.Parallel()
	const parts, trials = 20, 50
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(part), 4))
			lost := 0
			for trial := range trials {
				ends := (*zktest.Server).Stop
				if trial%5 == 0 {
					ends = (*zktest.Server).Kill
				}
				at := time.Duration(random.Int64N(int64(25 * time.Second)))
				idle := time.Duration(random.Int64N(int64(10 * time.Second)))
				if err := silence(t, ends, idle, at); err != nil {
					lost++
					t.Logf("trial %d, stopped %v after the first possession: %v", trial, at, err)
				}
			}
			require.Zero(t, lost, "of %d possessions", trials)
		})
	}
}

// silence is one trial; the error is how the possession ended.
func silence(t *testing.T, ends func(*zktest.Server, int), idle, at time.Duration) (lost error) {
	inBubbleHere(t, func(w *world) {
		s := w.open()
		time.Sleep(idle)
		h := w.client(s).hold(w, 1, "/line")
		time.Sleep(at)
		require.NoError(w, h.Err())
		ends(w.srv, w.connectedTo(s))
		time.Sleep(2 * s.Status().Timeout)
		lost = h.Err()
		require.Equal(w, session.Connected, s.Status().State)
	}, zktest.WithServers(3))
	return lost
}

// connectedTo is the number of the server that a session is connected to.
func (w *world) connectedTo(s *session.Session) int {
	w.Helper()
	i := slices.Index(w.srv.Hosts(), s.Status().Server)
	require.GreaterOrEqual(w, i, 0, "not connected")
	return i
}

// Where every server is slow, or the way to all of them, going from one to the next helps nobody: a
// session that has always known it so stays where it is, and one that finds it so loses its
// connection a few times at most, until it knows.
func TestASlowNetworkIsNotFledFrom(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{500 * time.Millisecond, 1100 * time.Millisecond, 1400 * time.Millisecond, 1600 * time.Millisecond} {
		for _, always := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, always %t", latency, always), func(t *testing.T) {
				inBubble(t, func(w *world) {
					host := w.srv.Host("far away")
					slow := zktest.Speed{Latency: latency}
					if always {
						host.Slow(slow)
					}
					s := w.open(session.WithDialer(host.Dialer()))
					t := w.client(s)
					t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
					time.Sleep(time.Minute)
					if !always {
						host.Slow(slow)
					}
					t.told()
					w.srv.ClearJournal()
					time.Sleep(30 * time.Minute)
					left := 0
					for _, n := range t.told() {
						if n == "disconnected" {
							left++
						}
					}
					again, _ := w.handshakes()
					if always || 2*latency < s.Status().Timeout/8 {
						require.Zero(w, again)
					} else {
						require.LessOrEqual(w, left, 3, "times that a connection was lost in half an hour")
						require.LessOrEqual(w, again, 6, "handshakes: a few with each server, once it is slow")
					}
					require.EqualValues(w, 1, s.Status().Epoch)
				}, zktest.WithServers(3))
			})
		}
	}
}

// An idle session has nothing to lose, and bears a silence for as long as it can.
func TestAnIdleSessionStaysWithASilentServer(t *testing.T) {
	inBubble(t, func(w *world) {
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

// Nor does an idle session flee from a slow network, of which it hears nothing but the answers to
// pings. An answer that takes two thirds of the timeout is too late: see docs/sessions.md.
func TestAnIdleSessionStaysOnASlowNetwork(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{time.Second, 1700 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second, 3300 * time.Millisecond} {
		for _, always := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, always %t", latency, always), func(t *testing.T) {
				inBubble(t, func(w *world) {
					host := w.srv.Host("far away")
					slow := zktest.Speed{Latency: latency}
					if always {
						host.Slow(slow)
					}
					s := w.open(session.WithDialer(host.Dialer()))
					time.Sleep(time.Minute)
					if !always {
						host.Slow(slow)
					}
					w.srv.ClearJournal()
					time.Sleep(30 * time.Minute)
					again, _ := w.handshakes()
					if always {
						require.Zero(w, again)
					} else {
						require.LessOrEqual(w, again, 6, "handshakes: a few with each server, once it is slow")
					}
					require.EqualValues(w, 1, s.Status().Epoch)
				}, zktest.WithServers(3))
			})
		}
	}
}

// A server that has much to do answers one request after the other, the later ones late. It lives,
// so nobody goes to another one, where they would be asked anew.
func TestABusyServerIsNotLeft(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				return zktest.Delay(50 * time.Millisecond)
			}
			return zktest.Pass
		})
		time.Sleep(time.Minute)
		t.told()
		const reads = 60 // three seconds
		answers := make(chan error, reads)
		for range reads {
			t.Read(1, "/line", false, func(seen session.Seen) { answers <- seen.Err })
		}
		for range reads {
			require.NoError(w, <-answers)
		}
		require.Empty(w, t.told())
		require.True(w, h.Valid())
	}, zktest.WithServers(3))
}
