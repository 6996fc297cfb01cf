// What cannot be seen from outside: panics under the mutex, who ends a hold first, pauses. Helpers:
// export_test.go.

package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest"
)

// withClient runs a test in a bubble, with a session and a client on it.
func withClient(t *testing.T, test func(t *testing.T, s *Session, client *Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		s, err := Open(t.Context(), server.Hosts(), WithDialer(server.Dialer()))
		require.NoError(t, err)
		client, err := s.Client("test", func(ClientEvent) {})
		require.NoError(t, err)
		test(t, s, client)
		require.NoError(t, s.Close(t.Context()))
	})
}

// asATimer does something with the keeper as its timers do.
func asATimer(s *Session, react func(k *keeper)) {
	g := s.state.lock()
	defer g.unlock()
	react(&g.keeper)
}

// A panic may come while the session's mutex is held. It must not keep that: without it nothing
// ends what is held, and nothing goes on.
func TestAPanicUnderTheMutexEndsWhatIsHeldAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	for name, react := range map[string]func(s *Session, t *Client, h *Hold){
		"a proof of life is due":  func(s *Session, _ *Client, _ *Hold) { asATimer(s, (*keeper).syncDue) },
		"trust ends":              func(s *Session, _ *Client, _ *Hold) { asATimer(s, (*keeper).expiryDue) },
		"the clocks are compared": func(s *Session, _ *Client, _ *Hold) { asATimer(s, (*keeper).clockDue) },
		"a hold is doubted":       func(_ *Session, _ *Client, h *Hold) { _ = h.lost() },
		"a proof has come":        func(s *Session, _ *Client, _ *Hold) { s.state.in.cur.hear(zkconn.Proved{Sent: time.Now()}) },
		"the connection goes":     func(s *Session, _ *Client, _ *Hold) { s.cfg.strict = true; s.state.in.cur.disconnected() },
		"another hold is made":    func(_ *Session, t *Client, _ *Hold) { _, _ = t.Hold(1, "/queue/z", 3, func(error) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			withClient(t, func(t *testing.T, s *Session, client *Client) {
				var holds []*Hold
				for _, path := range []string{"/queue/x", "/queue/y"} {
					h, err := client.Hold(1, path, 1, func(error) {})
					require.NoError(t, err)
					holds = append(holds, h)
				}
				g := s.state.lock()
				broken := &Hold{client: client, cancel: func(error) {}, onEnd: func(error) {}}
				g.holds[broken] = struct{}{} // it has no session, so its end is a panic, once
				g.unlock()
				ShiftWall(s, time.Hour) // trust has ended, unnoticed
				s.tasks.call(func() { react(s, client, holds[0]) })
				require.True(t, s.state.mu.TryLock(), "the mutex is free")
				s.state.mu.Unlock()
				for _, h := range holds {
					<-h.Done()
					assert.ErrorIs(t, h.Err(), ErrLost)
				}
				synctest.Wait()
				require.NoError(t, s.Connect(t.Context()))
				require.EqualValues(t, 2, s.Status().Epoch)
			})
		})
	}
}

// A goroutine that ends a hold while another is ending it finds it done, with its Err: either lost
// or released.
func TestAHoldThatAnotherGoroutineEndsIsDone(t *testing.T) {
	t.Parallel()
	for name, joint := range map[string]bool{"a hold": false, "a whole": true} {
		t.Run(name, func(t *testing.T) {
			withClient(t, func(t *testing.T, s *Session, client *Client) {
				h, err := client.Hold(1, "/queue/x", 1, func(error) {})
				require.NoError(t, err)
				end := func(cause error) bool { return client.End(h, cause) }
				quicker := func() (finished func()) { // another goroutine's end of the hold, in two steps
					g := s.state.lock()
					defer g.unlock()
					g.endHolds(ErrUntrusted)
					ended := g.ended
					g.ended = nil
					return func() { finish(ended) }
				}
				if joint {
					h, end = JoinHolds([]*Hold{h}, func(error) {})
					quicker = func() func() {
						require.False(t, h.ended.Swap(true))
						return func() { h.cancel(ending(ErrUntrusted)) }
					}
				}
				finished := quicker()
				found := make(chan error, 1)
				go func() { // ends with the hold
					assert.False(t, end(ErrReleased))
					found <- h.Err()
				}()
				time.Sleep(time.Second)
				finished()
				synctest.Wait()
				require.ErrorIs(t, <-found, ErrUntrusted)
			})
		})
	}
}

func TestARetryPolicyTellsWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	const half, drawn = 500 * time.Millisecond, -1
	java := RetryGrowing(9, half) // ten tries, growing by half a second, as ZooKeeper's Java recipes have them
	for _, c := range []struct {
		name   string
		policy RetryPolicy
		try    int
		since  time.Duration
		again  bool
		pause  time.Duration
	}{
		{"zero value", RetryPolicy{}, 1, 0, false, 0},
		{"never", RetryTimes(0), 1, 0, false, 0},
		{"less than never", RetryTimes(-1), 1, 0, false, 0},
		{"the last of three", RetryTimes(3), 3, time.Hour, true, drawn},
		{"one more", RetryTimes(3), 4, 0, false, 0},
		{"in time", RetryElapsed(time.Minute), 100, 50 * time.Second, true, drawn},
		{"too late", RetryElapsed(time.Minute), 1, time.Minute, false, 0},
		{"no time", RetryElapsed(0), 1, 0, false, 0},
		{"for ever", RetryForever(), 1 << 40, 1 << 60, true, drawn},
		{"growing", java, 1, time.Hour, true, 0},
		{"growing, the second", java, 2, time.Hour, true, half},
		{"growing, the last", java, 9, time.Hour, true, 8 * half},
		{"growing, one more", java, 10, 0, false, 0},
		{"growing by less than nothing", RetryGrowing(2, -time.Second), 2, 0, true, 0},
		{"growing, never", RetryGrowing(-1, time.Second), 1, 0, false, 0},
	} {
		pause, again := c.policy.next(c.try, c.since)
		require.Equal(t, c.again, again, c.name)
		if c.pause != drawn {
			require.Equal(t, c.pause, pause, c.name)
			continue
		}
		require.Greater(t, pause, 4*time.Millisecond, c.name)
		require.LessOrEqual(t, pause, longestPause, c.name)
	}
}

// Contenders that only the record can tell apart are created one after the other, in later epochs
// too. One whose creation panics does not keep the others waiting.
func TestATurnThatPanicsIsOver(t *testing.T) {
	t.Parallel()
	s, err := New([]string{"a:1"})
	require.NoError(t, err)
	c := &ephemeral{parent: "/queue", form: znode.Plain}
	broken := &znodes{sender: &s.sender} // without a namespace, which is a panic
	require.Panics(t, func() { _, _, _ = (&joining{z: broken, node: c}).inTurn() })
	require.Empty(t, s.state.in.record.turns)
	require.NoError(t, s.Close(t.Context()))
}

// An epoch may end while it has a connection, as when it is found to have lost its data. How long
// the end of its ZooKeeper session is awaited counts from then on, not from the beginning of time.
func TestAnEpochThatEndsWithItsConnectionLosesItThen(t *testing.T) {
	withClient(t, func(t *testing.T, s *Session, _ *Client) {
		e := s.state.in.cur
		time.Sleep(time.Second)
		ended := time.Now()
		e.hear(zkconn.Ended{Cause: ErrDataLoss})
		synctest.Wait()
		require.Equal(t, ended, e.lost)
	})
}
