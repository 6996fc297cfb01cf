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

// A panic may come while the session's mutex is held. It must not keep that: without it nothing
// ends what is held, and nothing goes on.
func TestAPanicUnderTheMutexEndsWhatIsHeldAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	for name, react := range map[string]func(s *Session, t *Seat, h *Hold){
		"a proof of life is due":   func(s *Session, _ *Seat, _ *Hold) { s.pace() },
		"trust ends":               func(s *Session, _ *Seat, _ *Hold) { s.wane() },
		"the clocks are looked at": func(s *Session, _ *Seat, _ *Hold) { s.look() },
		"a hold is doubted":        func(s *Session, _ *Seat, h *Hold) { s.suspect(h) },
		"a proof has come":         func(s *Session, _ *Seat, _ *Hold) { s.onProved(s.cur, zkconn.Proved{Sent: time.Now()}) },
		"the connection goes":      func(s *Session, _ *Seat, _ *Hold) { s.cfg.strict = true; s.onDown(s.cur) },
		"another hold is made":     func(_ *Session, t *Seat, _ *Hold) { _, _ = t.Hold(1, "/line/z", 3, func(error) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := zktest.Start(t)
				s, err := Open(t.Context(), server.Hosts(), WithDialer(server.Dialer()))
				require.NoError(t, err)
				seat, err := s.Seat("test", func(Notice) {})
				require.NoError(t, err)
				var holds []*Hold
				for _, path := range []string{"/line/x", "/line/y"} {
					h, err := seat.Hold(1, path, 1, func(error) {})
					require.NoError(t, err)
					holds = append(holds, h)
				}
				s.mu.Lock()
				s.holds[nil] = struct{}{} // to end it is a panic
				s.mu.Unlock()
				ShiftWall(s, time.Hour) // trust has ended, unnoticed
				s.guarded(func() { react(s, seat, holds[0]) })
				require.True(t, s.mu.TryLock(), "the mutex is free")
				s.mu.Unlock()
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
