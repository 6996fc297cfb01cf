// What is held is over before a rival can have it: fixed seeds, two servers, of which the holder
// has the one that has trouble.

package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// rivalry is how a session comes to lose what it holds. Each trial has a session of its own.
type rivalry struct {
	tick   time.Duration // of the servers
	opts   []session.Option
	seeds  uint64
	trials int
	lead   func(w *world, rng *rand.Rand)                                   // before it holds anything; nil: nothing
	cut    func(w *world, rng *rand.Rand, s *session.Session) (heal func()) // the session off
	quick  bool                                                             // as soon as it holds something; else at any instant
}

// A rival sees the znode gone after the holder's Done, not before, though the holder's server has
// lost its leader and goes on answering pings and reads: it may stand still right behind an answer,
// before it has passed on what it heard, once and again; the session may have been idle, with pings
// alone, the last of which was answered right before a halt. Faults at once: test/losses.
func TestARivalComesAfterDoneInRandomSchedules(t *testing.T) {
	t.Parallel()
	const short, long = 100 * time.Millisecond, 2 * time.Second
	known := func(tick time.Duration) []session.Option { return []session.Option{session.WithTick(tick)} }
	margin := func(d time.Duration, opts ...session.Option) []session.Option {
		return append(opts, session.WithTrustMargin(d))
	}
	for name, r := range map[string]rivalry{
		"trouble, short tick":            {short, nil, 3, 20, idle, trouble, false},
		"trouble, long tick":             {long, nil, 3, 20, idle, trouble, false},
		"trouble, short tick known":      {short, known(short), 3, 20, idle, trouble, false},
		"trouble, long tick known":       {long, known(long), 3, 20, idle, trouble, false},
		"trouble, margin as without":     {long, margin(4*time.Second, known(long)...), 3, 20, idle, trouble, false},
		"trouble, larger margin":         {long, margin(5*time.Second, known(long)...), 3, 20, idle, trouble, false},
		"trouble, margin alone":          {short, margin(6 * time.Second), 3, 20, idle, trouble, false},
		"trouble, larger margin alone":   {short, margin(7 * time.Second), 3, 20, idle, trouble, false},
		"behind an answer":               {short, nil, 4, 15, nil, stillBehindAnAnswer, false},
		"behind an answer, short tick":   {short, known(short), 4, 15, nil, stillBehindAnAnswer, false},
		"behind an answer, long tick":    {long, known(long), 4, 15, nil, stillBehindAnAnswer, false},
		"behind an answer, with margin":  {short, margin(4*time.Second, known(short)...), 4, 15, nil, stillBehindAnAnswer, false},
		"first after a halt":             {short, nil, 4, 10, stillWhenIdle, withoutLeader, true},
		"first after a halt, tick known": {short, known(short), 4, 10, stillWhenIdle, withoutLeader, true},
	} {
		for seed := range r.seeds {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				inBubble(t, func(w *world) {
					rng, rival, least := rand.New(rand.NewPCG(seed, uint64(len(name)))), w.openAt(1), time.Hour
					for range r.trials {
						least = min(least, w.loss(r, rng, rival))
					}
					w.Logf("done at least %v before the rival sees it", least)
					require.Positive(w, least)
				}, zktest.WithTick(r.tick), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithServers(2), zktest.WithSeed(seed+1))
			})
		}
	}
}

// loss lets a session hold something, cuts it off, and tells by how much its loss came before a
// rival could see it.
func (w *world) loss(r rivalry, rng *rand.Rand, rival *session.Session) time.Duration {
	w.Helper()
	s := w.openAt(0, append(r.opts, session.WithTimeout(timeout))...)
	if r.lead != nil {
		r.lead(w, rng)
	}
	h := w.client(s).hold(w, 1, "/line")
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	var heal func()
	if r.quick {
		heal = r.cut(w, rng, s)
	}
	states := rival.WatchData(ctx, h.Path())
	require.True(w, (<-states).Exists)
	if !r.quick {
		time.Sleep(between(rng, 0, 2*timeout))
		heal = r.cut(w, rng, s)
	}
	defer heal() // also where something fails, or the session could not be closed
	done := bubble.Begin(func() time.Time { <-h.Done(); return time.Now() })
	require.False(w, (<-states).Exists)
	seen := time.Now()
	require.Error(w, h.Err(), "still held when the rival saw the znode gone")
	require.False(w, h.Valid())
	heal()
	require.NoError(w, s.Close(w.ctx))
	return seen.Sub(<-done)
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

func withoutLeader(w *world, _ *rand.Rand, _ *session.Session) (heal func()) {
	return w.srv.IsolateServer(0, 0)
}

// idle: pings alone.
func idle(_ *world, rng *rand.Rand) { time.Sleep(between(rng, 0, 2*timeout)) }

// stillWhenIdle: a ping has been answered, and then the server stands still.
func stillWhenIdle(w *world, rng *rand.Rand) {
	time.Sleep(between(rng, timeout, 2*timeout))
	w.still(rng, 0, timeout/3)
}

// still lets the first server stand still.
func (w *world) still(rng *rand.Rand, least, most time.Duration) {
	w.srv.Stop(0)
	time.Sleep(between(rng, least, most))
	w.srv.Continue(0)
}

// trouble lets the first server stand still now and then, and lose its leader for good.
func trouble(w *world, rng *rand.Rand, _ *session.Session) (heal func()) {
	for range rng.IntN(3) {
		w.still(rng, 0, timeout/2)
		if rng.IntN(2) == 0 {
			time.Sleep(between(rng, 0, timeout/3))
		}
		synctest.Wait()
	}
	return w.srv.IsolateServer(0, 0)
}

// stillBehindAnAnswer lets the server stand still right behind its answer to a sync, before it has
// passed on that it has heard of the session, answer what came meanwhile, and lose its leader.
func stillBehindAnAnswer(w *world, rng *rand.Rand, s *session.Session) (heal func()) {
	for before := s.Status().TrustedUntil; s.Status().TrustedUntil.Equal(before); synctest.Wait() {
		time.Sleep(time.Millisecond)
	}
	w.still(rng, timeout/12, timeout/2)
	synctest.Wait()
	return w.srv.IsolateServer(0, 0)
}
