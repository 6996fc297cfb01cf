// A rival that ends a session, on a real server.

package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestARivalEndsASession(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	r := &rival{servers: servers}
	s, err := session.Open(t.Context(), servers, session.WithTimeout(time.Minute), session.WithDialer(r.dial))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	first := s.Status()
	require.Equal(t, first.SessionID, r.knows.SessionID)
	for !r.expire(time.Second) {
		t.Log("not yet")
	}
	for status := range s.ObserveStatus(t.Context()) {
		if status.State == session.Connected && status.Epoch > first.Epoch {
			return
		}
	}
	t.Fatal("the session has ended")
}
