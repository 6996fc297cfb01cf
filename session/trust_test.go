package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// shortTicks let the server expire sessions nearly to the instant.
var shortTicks = []zktest.Option{zktest.WithTick(200 * time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute)}

const timeout = 12 * time.Second // of sessions here: a sixth is two seconds, and trust is good for six when requests go out steadily

// steady lets a session with something at stake run until its trust is as good as it gets, and
// stops right after a sync.
func steady(w *world, s *session.Session) {
	w.Helper()
	time.Sleep(timeout)
	for range int(timeout / time.Millisecond) {
		synctest.Wait()
		if s.Status().TrustedUntil.Equal(time.Now().Add(timeout / 2)) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(w, "no sync", "%v", s.Status())
}

// B06: packets vanish. The loss comes at an exact instant, by this process's own clock, before the
// server ends the session.
func TestB06_PartitionEndsHoldsAtTheEndOfTrust(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		steady(w, s)
		t.told()
		first := id(s)
		cut := time.Now()
		heal := w.srv.Partition(first)
		until := s.Status().TrustedUntil
		require.True(w, h.Valid())

		<-h.Done()
		require.True(w, until.Equal(time.Now()))
		require.Equal(w, timeout/2, time.Since(cut))
		require.ErrorIs(w, h.Err(), session.ErrLost)
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
		require.False(w, h.Valid())
		require.Contains(w, w.ephemerals(first), h.Path(), "the server still has the znode")
		synctest.Wait()
		require.Equal(w, session.Untrusted, s.Status().State)
		require.Equal(w, time.Now(), at[session.TrustEnded](t))

		for len(w.ephemerals(first)) > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		require.Greater(w, time.Since(cut), timeout-time.Second)
		require.EqualValues(w, 1, s.Status().Epoch, "nobody has said that the session is over")
		heal()
		time.Sleep(timeout)
		require.EqualValues(w, 2, s.Status().Epoch)
		require.Equal(w, session.Connected, s.Status().State)
	}, shortTicks...)
}

// A timer of its own ends a hold: neither the next proof nor a look at the clocks is due then.
func TestAHoldEndsWithTrustWhateverElseIsDue(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout), session.WithTick(timeout/4))
		h := w.client(s).hold(w, 1, "/line")
		time.Sleep(timeout + 33*time.Millisecond)
		_, err := s.Set(w.Context(), "/line", nil, -1)
		require.NoError(w, err)
		w.srv.Partition(id(s))
		until := s.Status().TrustedUntil

		<-h.Done()
		require.True(w, until.Equal(time.Now()), "%v late", time.Since(until))
	}, shortTicks...)
}

// The same at random instants, also for a server that answers pings and reads but has lost its
// leader: the holder's loss comes first, always.
func TestLossBeforeTheRivalSeesIt(t *testing.T) {
	t.Parallel()
	known := session.WithTick(200 * time.Millisecond)
	for _, c := range []struct {
		name string
		opts []session.Option
		cut  func(w *world, id int64) (heal func())
	}{
		{"partition", nil, func(w *world, id int64) func() { return w.srv.Partition(id) }},
		{"what is sent vanishes", nil, func(w *world, id int64) func() { return w.srv.PartitionOneWay(id, zktest.ToServer) }},
		{"server without leader", nil, func(w *world, _ int64) func() { return w.srv.IsolateServer(0, 0) }},
		{"server halted", nil, func(w *world, _ int64) func() { w.srv.Stop(0); return func() { w.srv.Continue(0) } }},
		{"tick known", []session.Option{known}, func(w *world, id int64) func() { return w.srv.Partition(id) }},
		{"tick known, server without leader", []session.Option{known}, func(w *world, _ int64) func() { return w.srv.IsolateServer(0, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				rng := rand.New(rand.NewPCG(1, uint64(len(c.name))))
				rival := w.openAt(1)
				least := time.Hour
				for range 30 {
					least = min(least, w.loss(w.openAt(0, append(c.opts, session.WithTimeout(timeout))...), rival, rng, c.cut))
				}
				w.Logf("done at least %v before the rival sees it", least)
				require.Positive(w, least)
			}, append(shortTicks, zktest.WithServers(2))...)
		})
	}
}

// openAt opens a session on one of the servers alone.
func (w *world) openAt(i int, opts ...session.Option) *session.Session {
	w.Helper()
	s, err := session.Open(w.ctx, w.srv.Hosts()[i:i+1], append(opts, session.WithDialer(w.srv.Dialer()))...)
	require.NoError(w, err)
	w.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// loss holds something, cuts the holder off, and tells by how much his loss came before a rival
// could see it.
func (w *world) loss(s, rival *session.Session, rng *rand.Rand, cut func(*world, int64) func()) time.Duration {
	w.Helper()
	h := w.client(s).hold(w, 1, "/line")
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	states := rival.WatchData(ctx, h.Path())
	require.True(w, (<-states).Exists)
	time.Sleep(time.Duration(rng.Int64N(int64(2 * timeout))))
	heal := cut(w, id(s))
	defer heal() // also where something fails, or the session could not be closed
	done := bubble.Begin(func() time.Time {
		<-h.Done()
		return time.Now()
	})
	require.False(w, (<-states).Exists)
	seen := time.Now()
	require.Error(w, h.Err(), "still held when the rival saw the znode gone")
	require.False(w, h.Valid())
	heal()
	require.NoError(w, s.Close(w.ctx))
	return seen.Sub(<-done)
}

func TestSyncsOnlyWhileAnythingDependsOnThem(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		w.requests()
		time.Sleep(time.Hour)
		require.Empty(w, w.requests(), "an idle session asks for nothing")
		require.Equal(w, session.Connected, s.Status().State)
		require.Equal(w, []string{"began 1"}, t.told(), "and its trust runs out silently")

		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		require.Equal(w, []string{"trust gained"}, t.told())
		w.requests()
		time.Sleep(time.Hour)
		require.Empty(w, w.requests(), "who stands in line and is not next depends on nothing")
		t.StandBy(1, true)
		require.Equal(w, []string{"trust gained"}, t.told())
		require.Equal(w, []string{"multi"}, w.requests(), "one write when trust comes back")
		time.Sleep(2*timeout + timeout/12 - time.Millisecond)
		asked := len(w.requests())
		require.GreaterOrEqual(w, asked, 12, "one after a twelfth of the timeout, to complete trust after the idle time, and one each sixth")
		require.LessOrEqual(w, asked, 13, "or two after a twelfth, where the last ping was long ago")
		seen := t.read(w, 1, j.Path, true)
		h, err := t.Hold(1, j.Path, seen.Stat.Czxid, func(error) {})
		require.NoError(w, err)
		for range 100 {
			time.Sleep(timeout/6 - time.Millisecond)
			_, err := s.Set(w.ctx, "/line", nil, -1)
			require.NoError(w, err)
		}
		require.LessOrEqual(w, len(w.requests()), 103, "writes prove as much as syncs do")
		require.True(w, h.Valid())

		t.remove(w, 1, j.Path)
		t.StandBy(1, false)
		require.True(w, t.End(h, session.ErrReleased))
		time.Sleep(timeout)
		w.requests()
		time.Sleep(time.Hour)
		require.Empty(w, w.requests())
		require.Equal(w, session.Connected, s.Status().State)
	})
}

func TestARefusedHoldHearsOfTrust(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		seen := t.read(w, 1, j.Path, true)
		t.StandBy(1, true)
		steady(w, s)
		t.told()
		heal := w.srv.Isolate() // pings and reads are answered, so that only trust tells
		time.Sleep(timeout / 2)
		synctest.Wait()
		_, err := t.Hold(1, j.Path, seen.Stat.Czxid, nil)
		require.ErrorIs(w, err, session.ErrUntrusted)
		require.Equal(w, []string{"trust ended"}, t.told())
		heal()
		time.Sleep(timeout / 2)
		require.Subset(w, t.told(), []string{"trust gained"})
		h, err := t.Hold(1, j.Path, seen.Stat.Czxid, func(error) {})
		require.NoError(w, err)
		require.True(w, h.Valid())
		require.Equal(w, session.Connected, s.Status().State)
	})
}

func TestTrustIsLostAndRegainedWithinAnEpoch(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		steady(w, s)
		t.told()
		heal := w.srv.Partition(id(s))
		time.Sleep(timeout * 3 / 4) // the connection is given up after two thirds
		<-h.Done()
		heal()
		time.Sleep(timeout / 3)
		synctest.Wait()
		require.Equal(w, []string{"trust ended", "disconnected", "reconnected", "trust gained"}, t.told())
		require.False(w, h.Valid(), "what is over is over")
		require.EqualValues(w, 1, s.Status().Epoch)
		require.Contains(w, w.ephemerals(id(s)), h.Path(), "the place in line is kept")
	})
}

func TestStrictEndsAtTheFirstSuspension(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithStrict())
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		w.srv.Kill(0)
		synctest.Wait()
		<-h.Done()
		require.ErrorIs(w, h.Err(), session.ErrSuspended)
		require.ErrorIs(w, h.Err(), session.ErrLost)
		_, err := t.Hold(1, h.Path(), h.Token(), nil)
		require.ErrorIs(w, err, session.ErrSuspended)
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, s.Sync(w.ctx, "/"))
		_, err = t.Hold(1, h.Path(), h.Token(), func(error) {})
		require.NoError(w, err)
	})
}

// B74: the machine sleeps, so that the wall clock is far ahead of the monotonic one. Nothing is
// believed until ZooKeeper has answered.
func TestB74_SleepEndsTrust(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		jump func(s *session.Session)
		back time.Duration // until trust is back
	}{
		{"wall clock ahead", func(s *session.Session) { session.ShiftWall(s, time.Hour) }, timeout / 6},
		{"wall clock back", func(s *session.Session) { session.ShiftWall(s, -time.Hour) }, timeout / 6},
		{"less than the timeout", func(s *session.Session) { session.ShiftWall(s, timeout/9) }, timeout / 6},
		{"monotonic clock ahead", func(s *session.Session) { session.ShiftMono(s, time.Hour) }, timeout / 2}, // nothing was heard for so long
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(session.WithTimeout(timeout))
				t := w.client(s)
				h := t.hold(w, 1, "/line")
				steady(w, s)
				t.told()
				c.jump(s)
				require.False(w, h.Valid(), "at once")
				time.Sleep(timeout / 6)
				synctest.Wait()
				<-h.Done()
				require.ErrorIs(w, h.Err(), session.ErrUntrusted)
				time.Sleep(c.back - timeout/6)
				synctest.Wait()
				require.Equal(w, []string{"trust ended", "trust gained"}, t.told())
				again, err := t.Hold(1, h.Path(), h.Token(), func(error) {})
				require.NoError(w, err)
				time.Sleep(time.Hour)
				require.True(w, again.Valid())
				require.NoError(w, s.Close(w.ctx))
			})
		})
	}
}

func TestANegotiatedTimeoutMovesTheMargin(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(time.Minute))
		require.Equal(w, timeout, s.Status().Timeout)
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		steady(w, s)
		w.srv.Partition(id(s))
		cut := time.Now()
		<-h.Done()
		require.Equal(w, timeout/2, time.Since(cut)) // B70: by the negotiated timeout
	}, zktest.WithTick(time.Second), zktest.WithSessionTimeouts(time.Second, timeout))
}

func TestNothingIsHeldWhenTheMarginIsAll(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(time.Minute), session.WithTrustMargin(30*time.Second))
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		_, err := t.Hold(1, j.Path, 1, nil)
		require.ErrorIs(w, err, session.ErrUntrusted)
	}, zktest.WithTick(time.Second), zktest.WithSessionTimeouts(time.Second, timeout))
}

// A connection became slow. A possession is lost with it at most once, and another can be had: on a
// session that held one, and on an idle one.
func TestPossessionsOnAConnectionThatBecameSlow(t *testing.T) {
	t.Parallel()
	for _, idle := range []bool{false, true} {
		t.Run(fmt.Sprintf("idle %t", idle), func(t *testing.T) {
			inBubble(t, func(w *world) {
				host := w.srv.Host("far away")
				s := w.open(session.WithTimeout(timeout), session.WithDialer(host.Dialer()))
				t := w.client(s)
				if !idle {
					t.hold(w, 1, "/line")
				}
				time.Sleep(10 * timeout)
				host.Slow(zktest.Speed{Latency: timeout / 50})
				time.Sleep(2 * timeout)
				j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
				t.StandBy(1, true)
				time.Sleep(timeout)
				h, err := t.Hold(1, j.Path, j.Stat.Czxid, func(error) {})
				require.NoError(w, err)
				time.Sleep(10 * timeout)
				require.True(w, h.Valid(), "%v", h.Err())
			})
		})
	}
}

// Round trips may take a sixth of the timeout, and a fifth if the tick is known, always or from
// some moment on: trust stays while anything depends on it.
func TestTrustStaysOnASlowConnection(t *testing.T) {
	t.Parallel()
	for _, always := range []bool{false, true} {
		for tick, trip := range map[time.Duration]time.Duration{0: timeout * 15 / 100, timeout / 20: timeout * 20 / 100} {
			t.Run(fmt.Sprintf("always %t, tick %v", always, tick), func(t *testing.T) {
				inBubble(t, func(w *world) {
					host := w.srv.Host("far away")
					opts := []session.Option{session.WithTimeout(timeout), session.WithDialer(host.Dialer())}
					if tick > 0 {
						opts = append(opts, session.WithTick(tick))
					}
					slow := zktest.Speed{Latency: trip / 2}
					if always {
						host.Slow(slow)
					}
					s := w.open(opts...)
					c := w.client(s)
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
