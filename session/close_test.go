package session_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B71: nothing is left behind, whatever the session was doing. The bubble itself fails if a
// goroutine is.
func TestB71_CloseLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func(w *world, s *session.Session){
		"never connected":     func(*world, *session.Session) {},
		"connecting":          func(w *world, s *session.Session) { _ = w.client(s) },
		"nobody there":        func(w *world, s *session.Session) { w.srv.Kill(0); _ = w.client(s); time.Sleep(time.Minute) },
		"connected":           func(w *world, s *session.Session) { require.NoError(w, s.Connect(w.ctx)) },
		"everything going on": everythingGoingOn,
		"while it is down": func(w *world, s *session.Session) {
			everythingGoingOn(w, s)
			w.srv.Disconnect(id(s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.session()
				during(w, s)
				require.NoError(w, s.Close(w.ctx))
				require.NoError(w, s.Close(w.ctx))
				synctest.Wait()
				require.Empty(w, w.srv.Sessions(), "the ZooKeeper session is closed")
			})
		})
	}
}

func everythingGoingOn(w *world, s *session.Session) {
	require.NoError(w, s.Connect(w.ctx))
	t := w.client(s)
	_ = t.hold(w, 1, "/line")
	_, _ = s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/line")
	for range 10 {
		t.Join(1, session.Join{Parent: "/line", Name: "lock-"}, func(session.Joined) {})
		t.Read(1, "/line", true, func(session.Seen) {})
		go func() { _, _ = s.Create(w.ctx, "/x-", nil, session.Sequential(), session.Protected()) }() // ends with the session at the latest
	}
}

func TestCloseIsConfirmed(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		h := w.client(s).hold(w, 1, "/line")
		states := other.WatchData(w.ctx, h.Path())
		require.True(w, newest(w, states).Exists)
		w.cutOnce(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpCloseSession })
		begun := time.Now()
		ended := bubble.Begin(func() time.Time { <-h.Done(); return time.Now() })
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, begun, <-ended, "what is held ends first")
		require.ErrorIs(w, h.Err(), session.ErrClosed)
		require.ErrorIs(w, h.Err(), session.ErrLost)
		require.Equal(w, time.Second, time.Since(begun), "and the server has confirmed it")
		require.False(w, newest(w, states).Exists, "the next takes over at once")
	})
}

func TestCloseFromManyGoroutines(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		everythingGoingOn(w, s)
		var closers sync.WaitGroup
		for range 20 {
			closers.Go(func() { // waited for below
				ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
				defer cancel()
				if err := s.Close(ctx); err != nil {
					w.Error(err)
				}
			})
		}
		closers.Wait()
		synctest.Wait()
		require.Empty(w, w.srv.Sessions())
	})
}

// Whoever waits for the end hears what became of it, whoever began it. To those who come when it is
// over there is nothing to report.
func TestEveryoneWhoWaitsForTheEndHearsOfIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, s *session.Session){
		"closed": func(w *world, s *session.Session) {
			ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
			w.Cleanup(cancel)
			go func() { _ = s.Close(ctx) }() // ends with the session
		},
		"closed after a failure": func(w *world, s *session.Session) {
			session.PanicSession(s, "on purpose")
			ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
			w.Cleanup(cancel)
			go func() { _ = s.Close(ctx) }() // ends with the session
		},
		"given up": func(_ *world, s *session.Session) {
			for s.Err() == nil {
				session.PanicSession(s, "on purpose")
				time.Sleep(3 * time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				w.srv.Partition(id(s))
				end(w, s)
				synctest.Wait()
				require.Error(w, s.Close(w.ctx), "the ZooKeeper session is left to expire")
				require.NoError(w, s.Close(w.ctx), "that was it")
			})
		})
	}
}
