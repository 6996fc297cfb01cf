package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest"
)

// guardedBy does what a timer does.
func guardedBy(s *Session, react func(k *keeper)) {
	g := s.state.lock()
	defer g.unlock()
	react(&g.keeper)
}

// A panic may come while the session's mutex is held. It must not keep that: without it nothing
// ends what is held, and nothing goes on.
func TestAPanicUnderTheMutexEndsWhatIsHeldAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	for name, react := range map[string]func(s *Session, t *Client, h *Hold){
		"a proof of life is due":   func(s *Session, _ *Client, _ *Hold) { guardedBy(s, (*keeper).syncDue) },
		"trust ends":               func(s *Session, _ *Client, _ *Hold) { guardedBy(s, (*keeper).expiryDue) },
		"the clocks are looked at": func(s *Session, _ *Client, _ *Hold) { guardedBy(s, (*keeper).clockDue) },
		"a hold is doubted":        func(_ *Session, _ *Client, h *Hold) { h.foundInvalid() },
		"a proof has come":         func(s *Session, _ *Client, _ *Hold) { s.state.in.cur.hear(zkconn.Proved{Sent: time.Now()}) },
		"the connection goes":      func(s *Session, _ *Client, _ *Hold) { s.cfg.strict = true; s.state.in.cur.disconnected() },
		"another hold is made":     func(_ *Session, t *Client, _ *Hold) { _, _ = t.Hold(1, "/line/z", 3, func(error) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := zktest.Start(t)
				s, err := Open(t.Context(), server.Hosts(), WithDialer(server.Dialer()))
				require.NoError(t, err)
				client, err := s.Client("test", func(Event) {})
				require.NoError(t, err)
				var holds []*Hold
				for _, path := range []string{"/line/x", "/line/y"} {
					h, err := client.Hold(1, path, 1, func(error) {})
					require.NoError(t, err)
					holds = append(holds, h)
				}
				g := s.state.lock()
				g.holds.all[nil] = struct{}{} // to end it is a panic
				g.unlock()
				ShiftWall(s, time.Hour) // trust has ended, unnoticed
				s.tasks.guarded(func() { react(s, client, holds[0]) })
				require.True(t, s.state.mu.TryLock(), "the mutex is free")
				s.state.mu.Unlock()
				for _, h := range holds {
					<-h.Done()
					assert.ErrorIs(t, h.Err(), ErrLost)
				}
				synctest.Wait()
				require.NoError(t, s.Connect(t.Context()))
				require.EqualValues(t, 2, s.Status().Epoch)
				require.NoError(t, s.Close(t.Context()))
			})
		})
	}
}
