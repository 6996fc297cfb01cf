package zktest_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// What the strict options turn on is what a real server does that is set up so: words that are not
// allowed, TTLs that are off.
func TestStrictnessIsThatOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	s, err := zkserver.New(zkserver.Config{Version: "3.8.0", NoTTL: true, Words: []string{"srvr", "mntr"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	ours, err := s.Front(0).Listen(context.Background(), "127.0.0.1:0")
	require.NoError(t, err)
	real := ensemble.Start(t, 1, ensemble.WithConfig("4lw.commands.whitelist", "srvr, mntr"), ensemble.WithConfig("extendedTypesEnabled", "false")).Servers()
	both(t, []string{ours}, real, func(t *testing.T, servers []string, say func(string, ...any)) {
		for _, word := range []string{"ruok", "stat", "conf"} {
			conn := dialTCP(t, servers[0])
			_, err := conn.Write([]byte(word))
			require.NoError(t, err)
			answer, err := io.ReadAll(conn)
			say("%s: %q %v", word, answer, err)
			conn.Close()
		}
		c, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
		p, err := c.do(jute.Request{Op: jute.OpCreateTTL, Path: "/ttl", ACL: jute.OpenACL(), Flags: jute.FlagPersistentTTL, TTL: 1000})
		say("%v %v", p.Err, err)
	})
}
