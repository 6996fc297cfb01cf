// Trust: at which instant holds end, by either clock, what extends it, what it costs, and how it
// comes back. Helpers: steady and timeout in helper_test.go.

package session_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B06: a partition ends a hold at an exact instant, before the server ends the session; for each
// kind of possession see test/losses. A timer of its own ends it: neither the next proof nor a
// check of the clocks is due then.
func TestAHoldEndsWithTrustWhateverElseIsDue(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding(session.WithTimeout(timeout), session.WithTick(timeout/4))
		time.Sleep(timeout + 33*time.Millisecond)
		require.NoError(w, errOf(s.Set(w.Context(), "/queue", nil, -1)))
		w.srv.Partition(id(s))
		until := s.Status().TrustedUntil

		<-h.Done()
		require.True(w, until.Equal(time.Now()), "%v late", time.Since(until))
	}, shortTicks...)
}

func TestSyncsOnlyWhileAnythingDependsOnThem(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient(session.WithTimeout(timeout))
		w.requests()
		time.Sleep(time.Hour)
		require.Empty(w, w.requests(), "an idle session asks for nothing")
		require.Equal(w, session.Connected, s.Status().State)
		require.Equal(w, []string{"began 1"}, t.told(), "and its trust runs out silently")

		j := t.inQueue(w)
		require.Equal(w, []string{"trust gained"}, t.told())
		w.requests()
		time.Sleep(time.Hour)
		require.Empty(w, w.requests(), "a contender that is not next depends on nothing")
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
			w.write(s, "/queue", nil)
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
	inBubble(t, func(w *harness) {
		s, t := w.openClient(session.WithTimeout(timeout))
		j := t.inQueue(w)
		seen := t.read(w, 1, j.Path, true)
		t.StandBy(1, true)
		steady(w, s)
		t.told()
		heal := w.srv.Isolate() // pings and reads are answered, so that only trust tells
		w.pass(timeout / 2)
		require.ErrorIs(w, errOf(t.Hold(1, j.Path, seen.Stat.Czxid, nil)), session.ErrUntrusted)
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

func TestStrictEndsAtTheFirstSuspension(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t, h := w.holding(session.WithStrict())
		w.srv.Kill(0)
		synctest.Wait()
		<-h.Done()
		isAll(w, h.Err(), session.ErrSuspended, session.ErrLost)
		require.ErrorIs(w, errOf(t.Hold(1, h.Path(), h.Token(), nil)), session.ErrSuspended)
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, s.Sync(w.ctx, "/"))
		require.NoError(w, errOf(t.Hold(1, h.Path(), h.Token(), func(error) {})))
	})
}

// The return of trust costs one write that is answered in time, after each way to lose it; none
// while it lasts.
func TestTrustComesBackWithOneWrite(t *testing.T) {
	type row struct {
		trouble func(w *harness, s *session.Session)
		writes  int
	}
	each(t, map[string]row{
		"nothing":        {func(*harness, *session.Session) { time.Sleep(time.Hour) }, 0},
		"a reconnection": {func(w *harness, s *session.Session) { w.srv.Disconnect(id(s)) }, 1},
		"a halt": {func(w *harness, _ *session.Session) {
			w.srv.Stop(0)
			time.Sleep(timeout * 5 / 12)
			w.srv.Continue(0)
		}, 1},
		"a partition that outlives trust": {func(w *harness, s *session.Session) {
			heal := w.srv.Partition(id(s))
			time.Sleep(timeout * 7 / 12)
			heal()
		}, 2}, // and one that was asked for while nothing came through, whose answer is too late to prove anything
		"a jump of a clock": {func(_ *harness, s *session.Session) { session.ShiftWall(s, time.Hour) }, 1},
	}, func(w *harness, c row) {
		s, t := w.openClient(session.WithTimeout(timeout))
		t.hold(w, 1, "/queue")
		t.StandBy(1, true)
		steady(w, s)
		time.Sleep(timeout / 50)
		w.requests()
		c.trouble(w, s)
		w.pass(timeout)
		require.True(w, s.Status().TrustedUntil.After(time.Now()))
		require.Equal(w, c.writes, w.transactions())
		time.Sleep(timeout)
		require.LessOrEqual(w, len(w.requests()), 7, "a sync each sixth of the timeout, and nothing else")
	})
}

// A reconnection to a server that grants another timeout lets possessions go on for as long as the
// shorter of the two allows, which may be over by then; what is proved later is good by the new
// one, and new clients are told of that.
func TestAPossessionOutlivesAnotherTimeout(t *testing.T) {
	type row struct {
		next time.Duration
		down time.Duration // since the last proof
	}
	each(t, map[string]row{
		"the same":           {timeout, 0},
		"longer":             {2 * timeout, 0},
		"shorter":            {timeout * 5 / 6, 0},
		"nothing of it left": {timeout / 3, timeout / 4},
	}, func(w *harness, r row) {
		s := w.open(session.WithDialer(w.granting(timeout, r.next)))
		require.Equal(w, timeout, s.Status().Timeout)
		t := w.client(s)
		h := t.hold(w, 1, "/queue")
		ended := bubble.Begin(func() time.Time { <-h.Done(); return time.Now() })
		steady(w, s)
		want := time.Now().Add(min(timeout, r.next) / 2)
		remove := w.meets(zktest.Delay(timeout), func(r *zktest.Request) bool { return r.Op == zktest.OpMulti || r.Op == zktest.OpSync }) // no proof comes with the next connection
		time.Sleep(r.down)
		t.told()
		w.srv.Disconnect(id(s))
		time.Sleep(timeout / 12)
		require.Equal(w, r.next, s.Status().Timeout)
		late := w.client(s)
		synctest.Wait()
		require.Equal(w, session.EpochBegan{Epoch: 1, SessionID: id(s), Trusted: h.Valid()}, late.events[0])
		if back := at[session.Reconnected](t); want.Before(back) {
			want = back
		} else {
			require.True(w, h.Valid())
			require.Equal(w, want, s.Status().TrustedUntil)
		}
		require.Equal(w, want, <-ended)
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
		synctest.Wait()
		require.Equal(w, session.Untrusted, s.Status().State)
		remove()
		t.StandBy(1, true)
		time.Sleep(2 * r.next)
		left := time.Until(s.Status().TrustedUntil)
		require.LessOrEqual(w, left, r.next/2)
		require.Greater(w, left, r.next/2-r.next/6-time.Millisecond)
		require.Equal(w, session.Connected, s.Status().State)
	})
}

// granting dials to servers of which the first grants another timeout than the others, independent
// of the one that is asked for.
func (w *harness) granting(first, others time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialled atomic.Int64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := w.srv.Dialer()(ctx, network, addr)
		granted := others
		if dialled.Add(1) == 1 {
			granted = first
		}
		return &grantedConn{Conn: conn, timeout: granted}, err
	}
}

type grantedConn struct {
	net.Conn
	timeout time.Duration
	greeted bool
}

// Write puts the timeout into the request for the session, the first frame: behind its length, the
// version of the protocol and the last zxid.
func (c *grantedConn) Write(b []byte) (int, error) {
	if !c.greeted {
		c.greeted = true
		binary.BigEndian.PutUint32(b[16:], uint32(c.timeout/time.Millisecond))
	}
	return c.Conn.Write(b)
}

// A clock steps, Valid is called before that is noticed, and it steps back: the answer does not
// become true again, and the possession is over.
func TestValidStaysFalseWhenAClockStepsBack(t *testing.T) {
	each(t, map[string]time.Duration{"ahead": time.Hour, "a little": timeout / 9, "back": -time.Hour}, func(w *harness, step time.Duration) {
		s, t, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		t.told()
		unlock := session.LockState(s)
		session.ShiftWall(s, step)
		valid := h.Valid()
		session.ShiftWall(s, -step)
		unlock()
		require.False(w, valid)
		require.False(w, h.Valid(), "it was said to be over")
		require.Equal(w, []string{"trust ended", "trust gained"}, t.told())
		<-h.Done()
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
		again, err := t.Hold(1, h.Path(), h.Token(), func(error) {})
		require.NoError(w, err)
		require.True(w, again.Valid())
		require.False(w, h.Valid())
	})
}

// A process stands still for longer than its lease lasts, and the first to come when it goes on is
// an answer that proves that the session is alive, ahead of every timer. The possession is over all
// the same: others may have had it meanwhile, though not as far as this process has noticed.
func TestAProofBehindTheEndOfTheLeaseBringsNothingBack(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		t.told()
		session.ShiftMono(s, timeout*3/5)
		session.ShiftWall(s, timeout*3/5)
		w.write(s, "/queue", nil)
		require.Equal(w, []string{"trust ended", "trust gained"}, t.told())
		require.False(w, h.Valid())
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
	})
}

// What is given up when it can't be vouched for any more was lost: others may have had it before
// that, so no recipe may rely on a release. The client may have left, or a whole be given up of
// which it is a part.
func TestAReleaseBehindTheEndOfTrustComesTooLate(t *testing.T) {
	pairs(t, map[string]func(s *session.Session, h *session.Hold){
		"unnoticed": func(s *session.Session, _ *session.Hold) { session.ShiftMono(s, time.Hour) },
		"told, and the clock set back": func(s *session.Session, h *session.Hold) {
			unlock := session.LockState(s)
			defer unlock()
			session.ShiftWall(s, time.Hour)
			_ = h.Valid()
			session.ShiftWall(s, -time.Hour)
		},
	}, map[string]func(w *harness, t *client, h *session.Hold, end func(error) bool){
		"the hold": func(w *harness, t *client, h *session.Hold, _ func(error) bool) {
			require.False(w, t.End(h, session.ErrReleased))
		},
		"the hold, with what is closed": func(w *harness, t *client, h *session.Hold, _ func(error) bool) {
			require.False(w, t.End(h, session.ErrClosed))
		},
		"the whole": func(w *harness, _ *client, _ *session.Hold, end func(error) bool) {
			require.False(w, end(session.ErrReleased))
		},
		"the client": func(_ *harness, t *client, _ *session.Hold, _ func(error) bool) { t.Leave() },
	}, (*harness).releaseTooLate)
}

// releaseTooLate: halt ends trust, and before that is noticed, release gives up the hold, the whole
// of which it is a part, or its client.
func (w *harness) releaseTooLate(halt func(*session.Session, *session.Hold), release func(*harness, *client, *session.Hold, func(error) bool)) {
	s := w.open(session.WithTimeout(timeout))
	t, bystander := w.client(s), w.client(s)
	j := t.inQueue(w)
	var causes []error
	h, err := t.Hold(1, j.Path, j.Stat.Czxid, func(cause error) { causes = append(causes, cause) })
	require.NoError(w, err)
	all, end, ends := joined(h)
	steady(w, s)
	bystander.told()
	halt(s, h)
	release(w, t, h, end)
	<-h.Done()
	require.ErrorIs(w, h.Err(), session.ErrUntrusted)
	<-all.Done()
	require.Equal(w, h.Err(), all.Err())
	require.Equal(w, "trust ended", bystander.told()[0])
	require.Equal(w, []error{h.Err()}, causes)
	require.Equal(w, []error{h.Err()}, *ends)
}

// A margin that the negotiated timeout does not exceed leaves nothing of trust.
func TestNothingIsHeldWhereTheMarginIsAll(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		_, t := w.openClient(session.WithTimeout(time.Minute), session.WithTrustMargin(30*time.Second), log.logger())
		j := t.inQueue(w)
		require.ErrorIs(w, errOf(t.Hold(1, j.Path, 1, nil)), session.ErrUntrusted)
		synctest.Wait()
		require.Contains(w, log.String(), "the negotiated timeout leaves nothing of trust")
	}, zktest.WithTick(time.Second), zktest.WithSessionTimeouts(time.Second, timeout))
}

// B74: the machine sleeps, so that the wall clock is far ahead of the monotonic one, or a clock is
// set. Done closes at once, also if Valid is not called, and nothing is believed until ZooKeeper
// has answered.
func TestB74_SleepEndsTrust(t *testing.T) {
	type row struct {
		jump func(s *session.Session)
		back time.Duration // until trust is back
	}
	pairs(t, map[string]row{
		"wall clock ahead":      {func(s *session.Session) { session.ShiftWall(s, time.Hour) }, timeout / 6},
		"wall clock back":       {func(s *session.Session) { session.ShiftWall(s, -time.Hour) }, timeout / 6},
		"less than the timeout": {func(s *session.Session) { session.ShiftWall(s, timeout*3/4) }, timeout / 2},
		"a bit":                 {func(s *session.Session) { session.ShiftWall(s, timeout/9) }, timeout / 6},
		"monotonic clock ahead": {func(s *session.Session) { session.ShiftMono(s, time.Hour) }, timeout / 2}, // nothing was heard for so long
	}, map[string]bool{"asked": true, "not asked": false}, func(w *harness, c row, asked bool) {
		s, t, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		time.Sleep(timeout / 50)
		t.told()
		c.jump(s)
		jumped := time.Now()
		if asked {
			require.False(w, h.Valid(), "at once")
		}
		<-h.Done()
		require.LessOrEqual(w, time.Since(jumped), 100*time.Millisecond)
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
		time.Sleep(c.back - time.Since(jumped))
		require.Equal(w, []string{"trust ended", "trust gained"}, t.told())
		again, err := t.Hold(1, h.Path(), h.Token(), func(error) {})
		require.NoError(w, err)
		time.Sleep(time.Hour)
		require.True(w, again.Valid())
		require.NoError(w, s.Close(w.ctx))
	})
}
