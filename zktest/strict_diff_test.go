package zktest_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// What the strict options turn on is what a real server does that is set up so: words that are not
// allowed, TTLs that are off, hard quotas.
func TestStrictnessIsThatOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	s, err := zkserver.New(zkserver.Config{Version: "3.8.0", EnforceQuotas: true, NoTTL: true, Words: []string{"srvr", "mntr"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	ours, err := s.Front(0).Listen(context.Background(), "127.0.0.1:0")
	require.NoError(t, err)
	real := ensemble.Start(t, 1, ensemble.WithConfig("4lw.commands.whitelist", "srvr, mntr"), ensemble.WithConfig("extendedTypesEnabled", "false"),
		ensemble.WithJVM("-Dzookeeper.enforceQuota=true")).Servers()
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
		n, exceeded := 0, 0
		do := func(q jute.Request) {
			q.ACL, q.Xid = jute.OpenACL(), int32(n)
			if q.Op != jute.OpCreateTTL {
				q.TTL = -1
			}
			p, err := c.do(q)
			if p.Err == jute.QuotaExceeded {
				exceeded++
			}
			var results []jute.Code
			for _, r := range p.Results {
				results = append(results, r.Err)
			}
			say("%d: %v %v %v", n, p.Err, results, err)
			n++
		}
		do(jute.Request{Op: jute.OpCreateTTL, Path: "/ttl", Flags: jute.FlagPersistentTTL, TTL: 1000})
		limits := "count=-1,bytes=-1=;byteHardLimit=10;countHardLimit=3"
		for _, z := range [][2]string{
			{"/q", ""}, {"/zookeeper/quota/q", ""}, {"/zookeeper/quota/q/zookeeper_limits", limits}, {"/zookeeper/quota/q/zookeeper_stats", "count=1,bytes=0"},
		} {
			do(jute.Request{Op: jute.OpCreate, Path: z[0], Data: []byte(z[1])})
		}
		for _, data := range []string{"12345678901", "1234567890", "123", "12345678901"} {
			do(jute.Request{Op: jute.OpSetData, Path: "/q", Data: []byte(data), Version: -1})
			do(jute.Request{Op: jute.OpSetData, Path: "/q", Data: []byte(data), Version: 99})
		}
		for i := range 4 {
			do(jute.Request{Op: jute.OpCreate, Path: fmt.Sprintf("/q/%d", i), Data: []byte("12")})
		}
		do(jute.Request{Op: jute.OpCreate, Path: "/q/0", Data: []byte("12")})
		do(jute.Request{Op: jute.OpSetData, Path: "/q/0", Data: []byte("123456789"), Version: -1})
		do(jute.Request{Op: jute.OpMulti, Ops: []jute.Request{
			{Op: jute.OpDelete, Path: "/q/0", Version: -1}, {Op: jute.OpCreate, Path: "/q/x", Data: []byte("1234567"), ACL: jute.OpenACL(), TTL: -1},
		}})
		do(jute.Request{Op: jute.OpDelete, Path: "/q/0", Version: -1})
		do(jute.Request{Op: jute.OpCreate, Path: "/q/y"})
		do(jute.Request{Op: jute.OpSetData, Path: "/nowhere", Version: -1})
		require.Greater(t, exceeded, 5)
	})
}
