// A znode, or an epoch, is told as gone when ZooKeeper has said so, and not before. Helpers:
// helper_test.go.

package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// parted is a process that is cut off while it holds something and removes something else.
type parted struct {
	*harness
	s    *session.Session
	id   int64
	heal func() // ends the partition
	// From then on the servers...
	refuse  atomic.Bool // ...refuse every credential,
	enforce atomic.Bool // ...and close no session without one
	// What it held, and what was told of the end of its epoch.
	held *session.Hold
	ends []toldEnd
	// What it removes.
	doomed  string
	removed chan error // the answer; capacity 1
	stood   bool       // the znode stood when that came; set before it is sent
}

// toldEnd is an EpochEnded that a client was told, and whether the held znode stood then.
type toldEnd struct {
	session.EpochEnded
	stood bool
}

// part cuts a process off while it holds something and removes something else.
func (w *harness) part() *parted {
	w.Helper()
	from := w.srv.Host("this")
	p := &parted{harness: w, removed: make(chan error, 1)}
	w.meets(authFailed, func(r *zktest.Request) bool {
		return r.Op == zktest.OpSetAuth && p.refuse.Load() || r.Op == zktest.OpCloseSession && p.enforce.Load()
	})
	p.s = w.open(session.WithTimeout(timeout), session.WithDialer(from.Dialer()), session.WithAuth("digest", []byte("a:b")))
	p.id = id(p.s)
	t := w.client(p.s)
	_, err := p.s.Client("witness", func(n session.ClientEvent) {
		if n, ok := n.(session.EpochEnded); ok {
			p.ends = append(p.ends, toldEnd{n, w.serverHas(p.held.Path())})
		}
	})
	require.NoError(w, err)
	p.held = t.hold(w, 1, "/held")
	p.doomed = t.join(w, 1, session.Join{Parent: "/doomed", Name: "lock-"}).Path
	steady(w, p.s)
	p.heal = from.Partition()
	t.Remove(1, p.doomed, func(err error) {
		p.stood = w.serverHas(p.doomed)
		p.removed <- err
	})
	synctest.Wait()
	return p
}

// restart has the session's actor fail: nothing is known of the znodes then.
func (p *parted) restart() {
	session.PanicSession(p.s, "on purpose")
	time.Sleep(time.Second)
	p.pending()
}

// pending: both znodes stand, and nothing is told.
func (p *parted) pending() {
	p.Helper()
	synctest.Wait()
	require.Empty(p, p.removed)
	require.Empty(p, p.ends)
	require.True(p, p.serverHas(p.doomed) && p.serverHas(p.held.Path()))
}

// What an epoch, or the session, ends with, and what is told of it: that a znode is gone only when
// ZooKeeper has said so, of the znode or of its session.
func TestWhatConfirmsTheEndOfAZnode(t *testing.T) {
	type row struct {
		befall  func(p *parted)
		removed error  // the answer to the removal; nil: confirmed
		gone    []bool // Gone of each EpochEnded that is told
		held    error  // how the hold ends; nil: it stands
	}
	each(t, map[string]row{
		"not at all": {befall: func(p *parted) {
			time.Sleep(time.Second)
			p.heal()
		}},
		"expired": {befall: func(p *parted) {
			p.srv.Expire(p.id)
			synctest.Wait()
			require.Empty(p, p.removed, "no server has said so yet")
			p.heal()
		}, gone: []bool{true}, held: session.ErrExpired},
		"replaced": {befall: func(p *parted) {
			p.srv.ExpireSilently(p.id)
			p.heal()
		}, gone: []bool{true}, held: session.ErrExpired},
		"restarted": {befall: func(p *parted) {
			p.restart()
			p.heal()
		}, gone: []bool{true}, held: session.ErrRestarted},
		"restarted, and expired at last": {befall: func(p *parted) {
			session.PanicSession(p.s, "on purpose")
			for p.serverHas(p.doomed) {
				p.pending()
				time.Sleep(time.Second)
			}
			p.pass(timeout)
			require.Empty(p, p.removed, "no server has said so yet")
			require.Empty(p, p.ends)
			p.heal()
		}, gone: []bool{true}, held: session.ErrRestarted},
		"expired, and restarted at that": {befall: func(p *parted) {
			unblock := session.BlockActor(p.s)
			session.PanicSession(p.s, "on purpose") // before word of the expiry
			p.srv.Expire(p.id)
			p.heal()
			time.Sleep(timeout)
			unblock()
			time.Sleep(time.Second) // the pause before the restart
		}, gone: []bool{true}, held: session.ErrExpired},
		"restarted, and closed in vain": {befall: func(p *parted) {
			p.restart()
			p.closeInVain()
		}, removed: session.ErrClosed, gone: []bool{false}, held: session.ErrRestarted},
		"restarted, and closed": {befall: func(p *parted) {
			p.restart()
			closed := bubble.Begin(func() error { return p.s.Close(p.ctx) })
			time.Sleep(2 * time.Second) // a sixth of the timeout after the crash the connection is given up, and the answer to the removal with it
			require.Empty(p, closed)
			p.heal()
			require.NoError(p, <-closed)
			require.False(p, p.serverHas(p.doomed) || p.serverHas(p.held.Path()), "Close has confirmed it")
		}, removed: session.ErrClosed, gone: []bool{false}, held: session.ErrRestarted},
		"restarted, and closed, and the removal answered": {befall: func(p *parted) {
			p.restart()
			closed := bubble.Begin(func() error { return p.s.Close(p.ctx) })
			time.Sleep(time.Second / 2) // the connection has not been given up
			p.heal()
			require.NoError(p, <-closed)
		}, gone: []bool{false}, held: session.ErrRestarted},
		"closed in vain": {befall: (*parted).closeInVain, removed: session.ErrClosed, gone: []bool{false}, held: session.ErrClosed},
		"a credential was refused": {befall: func(p *parted) {
			time.Sleep(timeout * 3 / 4) // the connection is given up after two thirds, and trust has ended
			p.refuse.Store(true)
			p.heal()
			<-p.s.Done()
			require.ErrorIs(p, p.s.Err(), session.ErrAuthFailed)
			require.True(p, p.serverHas(p.held.Path()))
		}, removed: session.ErrClosed, gone: []bool{false}, held: session.ErrUntrusted},
		"a credential was refused, and restarted at that": {befall: func(p *parted) {
			time.Sleep(timeout / 4)
			unblock := session.BlockActor(p.s)
			session.PanicSession(p.s, "on purpose")
			time.Sleep(timeout / 2)
			p.refuse.Store(true)
			p.enforce.Store(true)
			p.heal()
			time.Sleep(time.Second)
			unblock()
			<-p.s.Done()
			require.ErrorIs(p, p.s.Err(), session.ErrAuthFailed)
		}, removed: session.ErrClosed, gone: []bool{false}, held: session.ErrUntrusted},
		"given up": {befall: func(p *parted) {
			for p.s.Err() == nil {
				session.PanicSession(p.s, "on purpose")
				time.Sleep(3 * time.Second)
			}
			require.ErrorIs(p, p.s.Err(), actors.ErrGivenUp)
		}, removed: session.ErrClosed, gone: []bool{false}, held: session.ErrRestarted},
	}, func(w *harness, row row) {
		p := w.part()
		row.befall(p)
		err := <-p.removed
		require.ErrorIs(p, err, row.removed)
		if row.removed == nil {
			require.NoError(p, err)
			require.False(p, p.stood, "reported as gone, and it stood")
		}
		synctest.Wait()
		var gone []bool
		for _, n := range p.ends {
			require.EqualValues(p, 1, n.Epoch)
			require.False(p, n.Gone && n.stood, "told as gone, and it stood")
			gone = append(gone, n.Gone)
		}
		require.Equal(p, row.gone, gone)
		if row.held == nil {
			require.NoError(p, p.held.Err())
			return
		}
		isAll(p, p.held.Err(), session.ErrLost, row.held)
	}, shortTicks...)
}

// closeInVain closes the session, which says that its end could not be confirmed.
func (p *parted) closeInVain() {
	require.ErrorIs(p, p.s.Close(p.within(time.Second)), context.DeadlineExceeded)
	require.True(p, p.serverHas(p.doomed) && p.serverHas(p.held.Path()), "they are left to expire")
}

// What was sent in an epoch that a failure ended may be under way until its ZooKeeper session is
// over. Until then nothing begins, and no outcome is reported as settled: a read would not tell.
func TestAnOutcomeIsSettledWhenTheEpochBeforeIsGone(t *testing.T) {
	inBubble(t, func(w *harness) {
		from := w.srv.Host("this")
		s := w.open(session.WithTimeout(timeout), session.WithDialer(from.Dialer()))
		other := w.open()
		heal := w.srv.Partition(id(s)) // new sessions would be possible
		written := bubble.Begin(func() error { return errOf(s.Create(w.ctx, "/a", nil)) })
		synctest.Wait()
		session.PanicSession(s, "on purpose")
		w.pass(time.Second)
		require.EqualValues(w, 1, s.Status().Epoch)
		require.Equal(w, session.Lost, s.Status().State)
		require.Empty(w, written)
		heal() // and the create arrives
		err := <-written
		_, before, failure := other.Exists(w.ctx, "/a")
		require.NoError(w, failure)
		require.Equal(w, before, err == nil, "%v", err)
		time.Sleep(time.Minute)
		_, after, failure := other.Exists(w.ctx, "/a")
		require.NoError(w, failure)
		require.Equal(w, before, after, "nothing comes behind the answer's back")
	}, shortTicks...)
}

// rivalry is how a session comes to lose what it holds.
type rivalry struct {
	tick   time.Duration                                                      // of the servers
	opts   []session.Option                                                   // of the session
	seeds  uint64                                                             // each is a test
	trials int                                                                // of each test; each has a session of its own
	before func(w *harness, rng *rand.Rand)                                   // what happens before it holds anything; nil: nothing
	cut    func(w *harness, rng *rand.Rand, s *session.Session) (heal func()) // cuts the session off from the quorum
	quick  bool                                                               // that begins as soon as it holds something; else at a random instant
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
	for name, r := range map[string]rivalry{ // tick, options, seeds, trials, before, cut, quick
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
				inBubble(t, func(w *harness) {
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
func (w *harness) loss(r rivalry, rng *rand.Rand, rival *session.Session) time.Duration {
	w.Helper()
	s := w.openAt(0, append(r.opts, session.WithTimeout(timeout))...)
	if r.before != nil {
		r.before(w, rng)
	}
	h := w.client(s).hold(w, 1, "/queue")
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

func withoutLeader(w *harness, _ *rand.Rand, _ *session.Session) (heal func()) {
	return w.srv.IsolateServer(0, 0)
}

// idle: pings alone.
func idle(_ *harness, rng *rand.Rand) { time.Sleep(between(rng, 0, 2*timeout)) }

// stillWhenIdle: a ping has been answered, and then the server stands still.
func stillWhenIdle(w *harness, rng *rand.Rand) {
	time.Sleep(between(rng, timeout, 2*timeout))
	w.still(rng, 0, timeout/3)
}

// still lets the first server stand still.
func (w *harness) still(rng *rand.Rand, least, most time.Duration) {
	w.srv.Stop(0)
	time.Sleep(between(rng, least, most))
	w.srv.Continue(0)
}

// trouble lets the first server stand still now and then, and lose its leader for good.
func trouble(w *harness, rng *rand.Rand, _ *session.Session) (heal func()) {
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
func stillBehindAnAnswer(w *harness, rng *rand.Rand, s *session.Session) (heal func()) {
	for before := s.Status().TrustedUntil; s.Status().TrustedUntil.Equal(before); synctest.Wait() {
		time.Sleep(time.Millisecond)
	}
	w.still(rng, timeout/12, timeout/2)
	synctest.Wait()
	return w.srv.IsolateServer(0, 0)
}
