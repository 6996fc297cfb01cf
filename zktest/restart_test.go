package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// A server that was killed with notes for the leader under way passes on what it hears after its
// restart: sessions that ping live.
func TestASessionLivesOnAServerThatWasRestarted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.Kill(0)
		require.NoError(t, s.Restart(0))
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		for range 20 {
			time.Sleep(3 * time.Second)
			again.ping(t)
			require.True(t, again.exists(t, "/held"))
		}
	}, zktest.WithServers(3))
}
