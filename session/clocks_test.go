// Clocks that jump, and a machine that sleeps.

package session_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A clock steps, somebody asks before it is noticed, and it steps back: the answer does not become
// true again, and the possession is over.
func TestValidStaysFalseWhenAClockStepsBack(t *testing.T) {
	each(t, map[string]time.Duration{"ahead": time.Hour, "a little": timeout / 9, "back": -time.Hour}, func(w *world, step time.Duration) {
		s, t, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		t.told()
		letGo := session.Hush(s)
		session.ShiftWall(s, step)
		valid := h.Valid()
		session.ShiftWall(s, -step)
		letGo()
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
	inBubble(t, func(w *world) {
		s, t, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		t.told()
		session.ShiftMono(s, timeout*3/5)
		session.ShiftWall(s, timeout*3/5)
		w.write(s, "/line", nil)
		require.Equal(w, []string{"trust ended", "trust gained"}, t.told())
		require.False(w, h.Valid())
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
	})
}

// What is given up when it can't be vouched for any more was lost: others may have had it before
// that, so nobody may reckon with a release. The client may have left, or a whole be given up of
// which it is a part.
func TestAReleaseBehindTheEndOfTrustComesTooLate(t *testing.T) {
	pairs(t, map[string]func(s *session.Session, h *session.Hold){
		"unnoticed": func(s *session.Session, _ *session.Hold) { session.ShiftMono(s, time.Hour) },
		"told, and the clock set back": func(s *session.Session, h *session.Hold) {
			letGo := session.Hush(s)
			defer letGo()
			session.ShiftWall(s, time.Hour)
			_ = h.Valid()
			session.ShiftWall(s, -time.Hour)
		},
	}, map[string]func(w *world, t *client, h *session.Hold, end func(error) bool){
		"the hold": func(w *world, t *client, h *session.Hold, _ func(error) bool) {
			require.False(w, t.End(h, session.ErrReleased))
		},
		"the hold, with what is closed": func(w *world, t *client, h *session.Hold, _ func(error) bool) {
			require.False(w, t.End(h, session.ErrClosed))
		},
		"the whole": func(w *world, _ *client, _ *session.Hold, end func(error) bool) {
			require.False(w, end(session.ErrReleased))
		},
		"the client": func(_ *world, t *client, _ *session.Hold, _ func(error) bool) { t.Leave() },
	}, (*world).releaseTooLate)
}

func (w *world) releaseTooLate(halt func(*session.Session, *session.Hold), release func(*world, *client, *session.Hold, func(error) bool)) {
	s := w.open(session.WithTimeout(timeout))
	t, bystander := w.client(s), w.client(s)
	j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
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

// asking is a log handler that asks the session how it stands, as one that adds that to each record
// does.
type asking struct {
	slog.Handler
	s **session.Session
}

func (a asking) Enabled(context.Context, slog.Level) bool { return true }

func (a asking) Handle(context.Context, slog.Record) error {
	if *a.s != nil {
		_ = (*a.s).Status()
	}
	return nil
}

func (a asking) WithAttrs([]slog.Attr) slog.Handler { return a }

func (a asking) WithGroup(string) slog.Handler { return a }

// Nothing is logged while the session is locked: a handler may ask it for its status. Here the
// timeout that is negotiated leaves nothing of trust, which is logged, and so is the rest of a life
// with all sorts of trouble.
func TestALogHandlerMayAskForTheStatus(t *testing.T) {
	inBubble(t, func(w *world) {
		var s *session.Session
		made := w.session(session.WithTimeout(time.Minute), session.WithTrustMargin(30*time.Second), session.WithLogger(slog.New(asking{s: &s})))
		s = made
		require.NoError(w, s.Connect(w.ctx))
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		_, err := t.Hold(1, j.Path, 1, nil)
		require.ErrorIs(w, err, session.ErrUntrusted, "the margin is all")
		w.srv.Disconnect(id(s))
		time.Sleep(timeout)
		w.srv.Expire(id(s))
		time.Sleep(timeout)
		heal := w.srv.Partition(id(s))
		time.Sleep(2 * timeout)
		heal()
		time.Sleep(timeout)
		require.Greater(w, s.Status().Epoch, uint64(2))
	}, zktest.WithTick(time.Second), zktest.WithSessionTimeouts(time.Second, timeout))
}

// B74: the machine sleeps, so that the wall clock is far ahead of the monotonic one, or a clock is
// set. Done closes at once, also if nobody asks for Valid, and nothing is believed until ZooKeeper
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
	}, map[string]bool{"asked": true, "not asked": false}, func(w *world, c row, asked bool) {
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
