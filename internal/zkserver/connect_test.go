package zkserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func TestTimeoutsAreNegotiated(t *testing.T) {
	world(t, zkserver.Config{MinTimeout: time.Second, MaxTimeout: time.Minute}, func(t *testing.T, s *zkserver.Server) {
		for asked, want := range map[int32]int32{-1: 1000, 0: 1000, 999: 1000, 30000: 30000, 60001: 60000} {
			_, p := shake(t, s, &jute.ConnectRequest{Timeout: asked, Password: make([]byte, 16)})
			require.Equal(t, want, p.Timeout)
		}
	})
}

// A session is resumed with its password, and told to be over otherwise; the connection before it
// ends. Closing ends the session, its ephemerals, and, after the answer, the connection.
func TestSessionsAreResumedAndClosed(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		old := join(t, s)
		old.create("/e", jute.FlagEphemeral)
		wrong, p := shake(t, s, &jute.ConnectRequest{SessionID: old.id, Password: make([]byte, 16)})
		require.Zero(t, p.SessionID)
		wrong.over()
		c, p := shake(t, s, &jute.ConnectRequest{SessionID: old.id, Password: old.password, Timeout: 20000})
		require.Equal(t, old.id, p.SessionID)
		require.EqualValues(t, 20000, p.Timeout)
		old.over()
		c.must(jute.Request{Op: jute.OpCloseSession})
		c.over()
		require.NotContains(t, s.Dump(), "/e ")
		_, p = shake(t, s, &jute.ConnectRequest{SessionID: c.id, Password: c.password})
		require.Zero(t, p.SessionID)
	})
}

// Old clients leave the read-only flag out, and get an answer without it.
func TestTheFormOfOldClients(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		for _, q := range []jute.ConnectRequest{{Old: true}, {ReadOnly: true}, {}} {
			_, p := shake(t, s, &q)
			require.NotZero(t, p.SessionID)
			require.Equal(t, q.Old, p.Old)
			require.False(t, p.ReadOnly, "it is a server that writes")
		}
	})
}

func TestAClientThatHasSeenMoreIsHungUpOn(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		conn := dial(t, s)
		_, err := conn.Write(frame((&jute.ConnectRequest{LastZxidSeen: 1}).Encode))
		require.NoError(t, err)
		(&client{t: t, conn: conn}).over()
	})
}
