package session_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

// mute is a dialer to servers that take connections, and whatever comes over them, and never
// answer.
func (w *world) mute() func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() { // ends with the connection
			for b := make([]byte, 1024); ; {
				if _, err := far.Read(b); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
}

// With all the time in the world Close waits for a connection only for as long as the ZooKeeper
// session can live without: what it would have done has happened by then.
func TestCloseWaitsNoLongerThanTheZooKeeperSessionLives(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	t.Run("never connected", func(t *testing.T) {
		inBubble(t, func(w *world) {
			s := w.session(session.WithDialer(w.mute()))
			s.Start()
			time.Sleep(time.Minute)
			begun := time.Now()
			require.NoError(w, s.Close(w.ctx), "there was nothing")
			require.LessOrEqual(w, time.Since(begun), timeout)
		})
	})
	for name, c := range map[string]struct{ down, most time.Duration }{
		"just parted":            {0, timeout},
		"parted for a while":     {9 * time.Second, timeout}, // of which two thirds went by before the connection was given up
		"parted for a long time": {5 * time.Minute, timeout / 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				host := w.srv.Host("here")
				s := w.open(session.WithDialer(host.Dialer()))
				path := w.client(s).join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
				heal := host.Partition()
				time.Sleep(c.down)
				begun := time.Now()
				err := s.Close(w.ctx)
				require.ErrorIs(w, err, session.ErrSuspended)
				require.ErrorContains(w, err, "left to expire")
				require.ErrorContains(w, err, "10s")
				require.LessOrEqual(w, time.Since(begun), c.most)
				time.Sleep(2*time.Second + time.Millisecond) // sessions end at ticks
				require.False(w, w.stands(path), "it ends as late as that")
				heal()
			})
		})
	}
}

// A connection that comes in time is waited for.
func TestCloseWaitsForAConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		host := w.srv.Host("here")
		s := w.open(session.WithDialer(host.Dialer()))
		heal := host.Partition()
		closed := bubble.Begin(func() error { return s.Close(w.ctx) })
		time.Sleep(6 * time.Second)
		heal()
		require.NoError(w, <-closed)
		require.Empty(w, w.srv.Sessions())
	})
}
