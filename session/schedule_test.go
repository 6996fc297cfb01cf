package session_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

var schedules = flag.Int("schedules", 60, "how many random schedules of halts and losses a configuration is tried with")

// Whatever a server does before it loses its leader, and whenever in its ticks, a rival sees the
// znode gone after the holder's Done, not before: it may stand still right behind an answer, before
// it has passed on what it heard, once and again; the session may have been idle, with pings alone.
func TestARivalComesAfterDoneInRandomSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		tick time.Duration
		opts []session.Option
	}{
		"tick not known, short":       {100 * time.Millisecond, nil},
		"tick not known, long":        {2 * time.Second, nil},
		"tick known, short":           {100 * time.Millisecond, []session.Option{session.WithTick(100 * time.Millisecond)}},
		"tick known, long":            {2 * time.Second, []session.Option{session.WithTick(2 * time.Second)}},
		"margin given, the same":      {2 * time.Second, []session.Option{session.WithTick(2 * time.Second), session.WithTrustMargin(4 * time.Second)}},
		"margin given, a larger one":  {2 * time.Second, []session.Option{session.WithTick(2 * time.Second), session.WithTrustMargin(5 * time.Second)}},
		"margin given, short tick":    {100 * time.Millisecond, []session.Option{session.WithTrustMargin(6 * time.Second)}},
		"margin given, larger, short": {100 * time.Millisecond, []session.Option{session.WithTrustMargin(7 * time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				inBubbleHere(t, func(w *world) {
					rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
					rival := w.openAt(1)
					least := time.Hour
					for range *schedules / 3 {
						s := w.openAt(0, append(c.opts, session.WithTimeout(timeout))...)
						time.Sleep(between(rng, 0, 2*timeout)) // idle: pings alone
						least = min(least, w.loss(s, rival, rng, func(w *world, _ int64) func() { return w.trouble(rng) }))
					}
					w.Logf("seed %d: done at least %v before the rival sees it", seed, least)
					require.Positive(w, least)
				}, zktest.WithTick(c.tick), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithServers(2), zktest.WithSeed(seed+1))
			}
		})
	}
}

// trouble lets the first server stand still now and then, and lose its leader for good.
func (w *world) trouble(rng *rand.Rand) (heal func()) {
	for range rng.IntN(3) {
		w.srv.Stop(0)
		time.Sleep(between(rng, 0, timeout/2))
		w.srv.Continue(0)
		if rng.IntN(2) == 0 {
			time.Sleep(between(rng, 0, timeout/3))
		}
		synctest.Wait()
	}
	return w.srv.IsolateServer(0, 0)
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// A server stands still right behind its answer, before it passes on that it has heard of the
// session, answers what came meanwhile, and loses its leader.
func TestAServerThatStandsStillRightBehindItsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		tick time.Duration
		opts []session.Option
	}{
		"tick not known":    {100 * time.Millisecond, nil},
		"tick known":        {100 * time.Millisecond, []session.Option{session.WithTick(100 * time.Millisecond)}},
		"tick known, long":  {2 * time.Second, []session.Option{session.WithTick(2 * time.Second)}},
		"margin as without": {100 * time.Millisecond, []session.Option{session.WithTick(100 * time.Millisecond), session.WithTrustMargin(4 * time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				inBubbleHere(t, func(w *world) {
					rng := rand.New(rand.NewPCG(seed, 1))
					rival := w.openAt(1)
					least := time.Hour
					for range 15 {
						s := w.openAt(0, append(c.opts, session.WithTimeout(timeout))...)
						least = min(least, w.loss(s, rival, rng, func(w *world, _ int64) func() {
							w.untilSync(s)
							w.srv.Stop(0)
							time.Sleep(between(rng, timeout/12, timeout/2))
							w.srv.Continue(0)
							synctest.Wait()
							return w.srv.IsolateServer(0, 0)
						}))
					}
					w.Logf("done at least %v before the rival sees it", least)
					require.Positive(w, least)
				}, zktest.WithTick(c.tick), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithServers(2), zktest.WithSeed(seed+1))
			}
		})
	}
}

// untilSync waits until the session's next sync has just been answered.
func (w *world) untilSync(s *session.Session) {
	w.Helper()
	for before := s.Status().TrustedUntil; s.Status().TrustedUntil.Equal(before); synctest.Wait() {
		time.Sleep(time.Millisecond)
	}
}

// An idle session has pinged alone, and the last ping was answered right before its server stood
// still. The first possession of it must not outlive what the leader knows.
func TestTheFirstPossessionOfAnIdleSession(t *testing.T) {
	for name, opts := range map[string][]session.Option{"tick not known": nil, "tick known": {session.WithTick(100 * time.Millisecond)}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				inBubbleHere(t, func(w *world) {
					rng := rand.New(rand.NewPCG(seed, 1))
					rival := w.openAt(1)
					least := time.Hour
					for range 10 {
						s := w.openAt(0, append(opts, session.WithTimeout(timeout))...)
						time.Sleep(between(rng, timeout, 2*timeout))
						w.srv.Stop(0)
						time.Sleep(between(rng, 0, timeout/3))
						w.srv.Continue(0)
						h := w.client(s).hold(w, 1, "/line")
						heal := w.srv.IsolateServer(0, 0)
						seen := w.gone(rival, h.Path())
						done := bubble.Begin(func() time.Time {
							<-h.Done()
							return time.Now()
						})
						least = min(least, (<-seen).Sub(<-done))
						heal()
						require.NoError(w, s.Close(w.ctx))
					}
					w.Logf("done at least %v before the rival sees it", least)
					require.Positive(w, least)
				}, zktest.WithTick(100*time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithServers(2), zktest.WithSeed(seed+1))
			}
		})
	}
}

// gone tells when a rival sees that a znode is gone.
func (w *world) gone(rival *session.Session, path string) <-chan time.Time {
	states := rival.WatchData(w.ctx, path)
	require.True(w, (<-states).Exists)
	return bubble.Begin(func() time.Time {
		for st := range states {
			if !st.Exists {
				break
			}
		}
		return time.Now()
	})
}
