// Close: what it waits for and for how long, and what is left behind. Helpers: helper_test.go.

package session_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B71: nothing is left behind, whatever the session was doing and however many close it. The bubble
// itself fails if a goroutine is.
func TestB71_CloseLeavesNothing(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session){
		"never connected":     func(*harness, *session.Session) {},
		"connecting":          func(w *harness, s *session.Session) { _ = w.client(s) },
		"no server there":     func(w *harness, s *session.Session) { w.srv.Kill(0); _ = w.client(s); time.Sleep(time.Minute) },
		"connected":           func(w *harness, s *session.Session) { require.NoError(w, s.Connect(w.ctx)) },
		"everything going on": everythingGoingOn,
		"while it is down": func(w *harness, s *session.Session) {
			everythingGoingOn(w, s)
			w.srv.Disconnect(id(s))
		},
		"handshakes are not answered": func(w *harness, s *session.Session) {
			w.meets(zktest.DropRequest, func(r *zktest.Request) bool { return r.Op == zktest.OpConnect })
			session.Start(s)
			time.Sleep(time.Minute)
		},
	}, func(w *harness, during func(w *harness, s *session.Session)) {
		s := w.session()
		during(w, s)
		begun := time.Now()
		var closers sync.WaitGroup
		for range 20 {
			closers.Go(func() { // waited for below
				if err := s.Close(w.ctx); err != nil {
					w.Error(err)
				}
			})
		}
		closers.Wait()
		require.LessOrEqual(w, time.Since(begun), 10*time.Second)
		require.NoError(w, s.Close(w.ctx))
		synctest.Wait()
		require.Empty(w, w.srv.Sessions(), "the ZooKeeper session is closed")
	})
}

func everythingGoingOn(w *harness, s *session.Session) {
	require.NoError(w, s.Connect(w.ctx))
	t := w.client(s)
	_ = t.hold(w, 1, "/queue")
	_, _ = s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/queue")
	for range 10 {
		t.Join(1, session.Join{Parent: "/queue", Name: "lock-"}, func(session.Joined) {})
		t.Read(1, "/queue", true, func(session.Seen) {})
		go func() { _, _ = s.Create(w.ctx, "/x-", nil, session.Sequential(), session.Protected()) }() // ends with the session at the latest
	}
}

// Each caller that waits for the end is told its outcome within its own context, also if another
// caller began it. To those who come when it is over there is nothing to report.
func TestEveryoneWhoWaitsForTheEndHearsOfIt(t *testing.T) {
	closed := func(w *harness, s *session.Session) {
		ctx := w.within(3 * time.Second)
		go func() { _ = s.Close(ctx) }() // ends with the session
	}
	each(t, map[string]func(w *harness, s *session.Session, system *actors.System){
		"closed": func(w *harness, s *session.Session, _ *actors.System) { closed(w, s) },
		"closed after a failure": func(w *harness, s *session.Session, _ *actors.System) {
			session.PanicSession(s, "on purpose")
			closed(w, s)
		},
		"given up": func(_ *harness, s *session.Session, _ *actors.System) {
			for s.Err() == nil {
				session.PanicSession(s, errors.New("on purpose"))
				time.Sleep(time.Second)
			}
		},
		"its system is closed": func(w *harness, _ *session.Session, system *actors.System) { require.NoError(w, system.Close(w.ctx)) },
	}, func(w *harness, end func(w *harness, s *session.Session, system *actors.System)) {
		system, _ := actors.New()
		s := w.open(session.WithSystem(system), session.WithTimeout(30*time.Second))
		heal := w.srv.Partition(id(s))
		end(w, s, system)
		synctest.Wait()
		ctx := w.within(10 * time.Millisecond)
		require.ErrorIs(w, s.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(w, s.Close(w.ctx), session.ErrSuspended, "the ZooKeeper session is left to expire")
		require.NoError(w, s.Close(w.ctx), "that was it")
		begun := time.Now()
		require.NoError(w, system.Close(w.ctx))
		require.Zero(w, time.Since(begun))
		heal()
	})
}

// over is a context that has ended.
func (w *harness) over() context.Context {
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	return ctx
}

// slowlyClosed has the server take d to close a ZooKeeper session.
func (w *harness) slowlyClosed(d time.Duration) {
	w.cutOnce(zktest.Delay(d), func(r *zktest.Request) bool { return r.Op == zktest.OpCloseSession })
}

// What goes on behind the caller's back looks for a connection for as long as the ZooKeeper session
// lives without, and ends then.
func TestACloseThatIsGivenUpFindsAConnectionOrEnds(t *testing.T) {
	each(t, map[string]bool{"a connection comes": true, "none comes": false}, func(w *harness, heals bool) {
		host := w.srv.Host("here")
		var log journal
		s := w.open(session.WithDialer(host.Dialer()), log.logger())
		heal := host.Partition()
		begun := time.Now()
		ctx := w.within(3 * time.Second)
		require.ErrorIs(w, s.Close(ctx), context.DeadlineExceeded)
		require.Equal(w, 3*time.Second, time.Since(begun))
		if heals {
			time.Sleep(3 * time.Second)
			heal()
			require.NoError(w, s.Close(w.ctx))
			require.Empty(w, w.srv.Sessions())
			require.NotContains(w, log.String(), "could not be closed")
			return
		}
		err := s.Close(w.ctx)
		require.ErrorIs(w, err, session.ErrSuspended)
		require.ErrorContains(w, err, "left to expire")
		require.LessOrEqual(w, time.Since(begun), s.Status().Timeout)
		require.NoError(w, s.Close(w.ctx), "that was it")
		require.Contains(w, log.String(), "could not be closed", "a caller may not have waited")
	})
}

// A process may end as soon as Close has returned: the servers have been asked by then, unless the
// network takes nothing. That is not waited for.
func TestCloseHasAskedWhenItReturns(t *testing.T) {
	each(t, map[string]bool{"the network takes it": false, "the network takes nothing": true}, func(w *harness, clogged bool) {
		n := &network{}
		s := w.open(n.dialer(w.srv))
		synctest.Wait()
		before := n.writes.Load()
		w.slowlyClosed(time.Second)
		unclog := func() {}
		if clogged {
			unclog = n.clog()
		}
		begun := time.Now()
		require.ErrorIs(w, s.Close(w.over()), context.Canceled)
		require.LessOrEqual(w, time.Since(begun), time.Second/10)
		require.Equal(w, clogged, n.writes.Load() == before, "there is nothing else to be said")
		unclog()
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, before+1, n.writes.Load())
		synctest.Wait()
		require.Empty(w, w.srv.Sessions())
	})
}

// With all the time in the world Close waits for a connection only for as long as the ZooKeeper
// session can live without: what it would have done has happened by then.
func TestCloseWaitsNoLongerThanTheZooKeeperSessionLives(t *testing.T) {
	const timeout = 10 * time.Second
	type row struct{ down, most time.Duration }
	each(t, map[string]row{
		"just parted":            {0, timeout},
		"parted for a while":     {9 * time.Second, timeout}, // of which two thirds went by before the connection was given up
		"parted for a long time": {5 * time.Minute, timeout / 3},
	}, func(w *harness, c row) {
		host := w.srv.Host("here")
		s := w.open(session.WithDialer(host.Dialer()))
		path := w.client(s).inQueue(w).Path
		heal := host.Partition()
		time.Sleep(c.down)
		begun := time.Now()
		err := s.Close(w.ctx)
		require.ErrorIs(w, err, session.ErrSuspended)
		require.ErrorContains(w, err, "left to expire")
		require.ErrorContains(w, err, "10s")
		require.LessOrEqual(w, time.Since(begun), c.most)
		time.Sleep(2*time.Second + time.Millisecond) // sessions end at ticks
		require.False(w, w.serverHas(path), "it ends as late as that")
		heal()
	})
}

// An outage that is over takes nothing of that time away, however long ago it was: the ZooKeeper
// session lives without a connection for its timeout from the loss of the last one on.
func TestCloseCountsFromTheLossOfTheLastConnection(t *testing.T) {
	const timeout = 10 * time.Second
	type row struct{ before, connected time.Duration }
	each(t, map[string]row{
		"no outage before": {0, time.Hour},
		"one long ago":     {time.Second, time.Hour},
		"one just before":  {timeout / 2, timeout / 2},
	}, func(w *harness, c row) {
		host := w.srv.Host("here")
		s := w.open(session.WithDialer(host.Dialer()))
		path := w.client(s).inQueue(w).Path
		if c.before > 0 {
			heal := host.Partition()
			w.srv.Disconnect(id(s))
			time.Sleep(c.before)
			heal()
		}
		time.Sleep(c.connected)
		require.NoError(w, s.Sync(w.ctx, "/"))
		heal := host.Partition()
		time.AfterFunc(timeout/2, heal)
		require.NoError(w, session.CloseWithin(s, time.Minute))
		require.False(w, w.serverHas(path))
		require.Empty(w, w.srv.Sessions())
	})
}

// Close does not wait for what is to be tried again after a pause.
func TestCloseDoesNotWaitForPauses(t *testing.T) {
	type row struct {
		refused zktest.Op
		during  func(w *harness, s *session.Session)
	}
	each(t, map[string]row{
		"a watch that may not look": {zktest.OpGetData, func(w *harness, s *session.Session) { _ = s.WatchData(w.ctx, "/queue") }},
		"a deletion that is refused": {zktest.OpDelete, func(w *harness, s *session.Session) {
			t := w.client(s)
			t.Remove(1, t.inQueue(w).Path, func(error) {})
		}},
		"a server that is overloaded": {zktest.OpGetChildren2, func(w *harness, s *session.Session) {
			w.client(s).List(1, "/queue", false, func(session.Listed) {})
		}},
	}, func(w *harness, row row) {
		s := w.open()
		w.create(s, "/queue", nil)
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.Op != row.refused:
				return zktest.Pass
			case r.Op == zktest.OpGetChildren2:
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Fail(zktest.ErrNoAuth)
		})
		row.during(w, s)
		for range 5 { // at different moments of its pauses
			time.Sleep(time.Minute / 7)
		}
		begun := time.Now()
		require.NoError(w, s.Close(w.ctx))
		require.Zero(w, time.Since(begun))
	})
}

// Close waits for tasks that still run when the connection is closed: no goroutine is left.
func TestCloseWaitsForWhatRuns(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		told := make(chan struct{})
		t.List(1, "/", false, func(session.Listed) {
			close(told)
			time.Sleep(time.Minute)
		})
		<-told
		began := time.Now()
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, time.Minute, time.Since(began))
	})
}

// What is held ends first, at once. Close waits until the server has confirmed that it is given
// back; a context that is over ends the wait alone, and no other session has to wait for the
// expiry.
func TestCloseGivesBackWhatIsHeld(t *testing.T) {
	type row struct {
		ctx  func(w *harness) context.Context
		err  error
		took time.Duration
	}
	each(t, map[string]row{
		"in time":                {func(w *harness) context.Context { return w.ctx }, nil, time.Second},
		"a context that is over": {(*harness).over, context.Canceled, 0},
	}, func(w *harness, r row) {
		s, other := w.open(), w.open()
		h := w.client(s).hold(w, 1, "/queue")
		states := other.WatchData(w.ctx, h.Path())
		require.True(w, newest(w, states).Exists)
		w.slowlyClosed(time.Second)
		begun := time.Now()
		ended := bubble.Begin(func() time.Time { <-h.Done(); return time.Now() })
		require.ErrorIs(w, s.Close(r.ctx(w)), r.err)
		require.Equal(w, r.took, time.Since(begun))
		require.Equal(w, begun, <-ended, "what is held ends first")
		isAll(w, h.Err(), session.ErrClosed, session.ErrLost)
		bubble.Closed(w, s.Done())
		require.ErrorIs(w, s.Err(), session.ErrClosed)
		require.Equal(w, session.Closed, s.Status().State)
		require.ErrorIs(w, errOf(s.Get(w.ctx, "/")), session.ErrClosed)
		require.False(w, (<-states).Exists)
		require.Equal(w, time.Second, time.Since(begun), "the next takes over at once")
		synctest.Wait()
		require.NoError(w, s.Close(w.over()), "nothing to report")
	})
}

// CloseWithin waits for so long, and closes the session all the same.
func TestCloseWithin(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, slow := w.open(), w.open()
		require.NoError(w, session.CloseWithin(s, time.Second))
		for _, none := range []session.Closer{nil, (*session.Session)(nil)} { // New has failed, say
			require.NoError(w, session.CloseWithin(none, time.Second))
		}
		heal := w.srv.Slow(id(slow), 2*time.Second)
		began := time.Now()
		err := session.CloseWithin(slow, time.Second)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "not closed within 1s")
		require.Equal(w, time.Second, time.Since(began))
		time.Sleep(10 * time.Second)
		require.Empty(w, w.srv.Sessions())
		heal()
	})
}
