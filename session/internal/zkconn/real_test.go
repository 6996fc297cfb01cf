// A Conn on real servers, straight and through a proxy. Helpers: helper_test.go.

package zkconn_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const patience = 20 * time.Second // how long real servers may take for what they do at once

// live is a Conn on real servers.
type live struct {
	*testing.T
	*zkconn.Conn
	events chan zkconn.Event
}

func open(t *testing.T, cfg zkconn.Config) *live {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	r := &live{T: t, events: make(chan zkconn.Event, 1000)}
	c, err := zkconn.Open(cfg, func(ev zkconn.Event) { r.events <- ev })
	require.NoError(t, err)
	t.Cleanup(c.Abandon)
	r.Conn = c
	return r
}

// next is the next event of its type; others are passed over.
func next[E zkconn.Event](r *live) E {
	r.Helper()
	deadline := time.After(patience)
	for {
		select {
		case ev := <-r.events:
			if e, ok := ev.(E); ok {
				return e
			}
		case <-deadline:
			r.Fatalf("no %T within %v", *new(E), patience)
		}
	}
}

// The size that is compared with MaxPacket is the one that the server compares with its limit.
func TestRealServerTakesTheLargestPacket(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	r := open(t, zkconn.Config{Servers: servers, MaxPacket: 1 << 21}) // does not bind: the server's own limit is half of it
	up := next[zkconn.Up](r)
	require.Equal(t, r.SessionID(), up.SessionID)
	require.Equal(t, 10*time.Second, up.Timeout)
	const limit = 1<<20 - 1
	op := jute.Request{Op: jute.OpCreate, Path: "/a", ACL: world}
	op.Data = bytes.Repeat([]byte{'x'}, limit-zkconn.Size(op))
	require.NoError(t, errOf(r.Create(op.Path, op.Data, jute.FlagPersistent, 0, world)))
	back, _, err := r.Get(op.Path, false)
	require.NoError(t, err)
	require.Equal(t, op.Data, back)

	multi := []jute.Request{{Op: jute.OpDelete, Path: op.Path, Version: -1}, {Op: jute.OpSetData, Path: "/"}}
	multi[1].Data = op.Data[:limit-zkconn.SizeOf(multi...)]
	require.NoError(t, errOf(r.Multi(multi)))

	require.ErrorIs(t, errOf(r.Create(op.Path, append(op.Data, 'x'), jute.FlagPersistent, 0, world)), zkconn.ErrNoReply, "one byte more, and the server drops the connection")
	next[zkconn.Down](r)
	next[zkconn.Up](r)
	require.NoError(t, r.Close(within(t, patience)))
}

func TestRealNetwork(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	for name, test := range map[string]func(*testing.T, string, *ensemble.Proxy){
		"expiry":      expiry,
		"unseen":      unseenChange,
		"credentials": credentials,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, err := ensemble.NewProxy(servers[0])
			require.NoError(t, err)
			t.Cleanup(proxy.Close)
			test(t, servers[0], proxy)
		})
	}
}

func expiry(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r := open(t, zkconn.Config{Servers: []string{proxy.Addr()}, Timeout: 600 * time.Millisecond})
	other := open(t, zkconn.Config{Servers: []string{direct}})
	next[zkconn.Up](r)
	next[zkconn.Up](other)
	require.NoError(t, errOf(r.Create("/mine", nil, jute.FlagEphemeral, 0, world)))
	require.NoError(t, other.Sync("/mine"))
	_, exists, err := other.Exists("/mine", true)
	require.NoError(t, err)
	require.True(t, exists)
	proxy.Blackhole()
	require.Equal(t, zkconn.Fired{Type: jute.NodeDeleted, Path: "/mine"}, next[zkconn.Fired](other))
	proxy.Heal()
	require.Equal(t, zkconn.ErrExpired, next[zkconn.Ended](r).Cause)
	require.NoError(t, r.Close(within(t, patience)))
}

func unseenChange(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r, other := open(t, zkconn.Config{Servers: []string{proxy.Addr()}}), open(t, zkconn.Config{Servers: []string{direct}})
	next[zkconn.Up](r)
	next[zkconn.Up](other)
	require.NoError(t, errOf(other.Create("/unseen", nil, jute.FlagPersistent, 0, world)))
	require.NoError(t, r.Sync("/unseen"))
	require.NoError(t, errOf(r.Get("/unseen", true)))
	require.NoError(t, errOf(r.Children("/unseen", true)))
	_, exists, err := r.Exists("/unseen/kid", true)
	require.NoError(t, err)
	require.False(t, exists)
	proxy.Cut()
	next[zkconn.Down](r)
	require.NoError(t, errOf(other.Set("/unseen", nil, -1)))
	require.NoError(t, errOf(other.Create("/unseen/kid", nil, jute.FlagPersistent, 0, world)))
	proxy.Heal()
	next[zkconn.Up](r)
	require.ElementsMatch(t, []zkconn.Fired{
		{Type: jute.NodeDataChanged, Path: "/unseen"},
		{Type: jute.NodeChildrenChanged, Path: "/unseen"},
		{Type: jute.NodeCreated, Path: "/unseen/kid"},
	}, []zkconn.Fired{next[zkconn.Fired](r), next[zkconn.Fired](r), next[zkconn.Fired](r)})
}

func credentials(t *testing.T, direct string, proxy *ensemble.Proxy) {
	auth := []zkconn.Credential{{Scheme: "digest", Secret: []byte("me:secret")}}
	r, other := open(t, zkconn.Config{Servers: []string{proxy.Addr()}, Auth: auth}), open(t, zkconn.Config{Servers: []string{direct}})
	next[zkconn.Up](r)
	next[zkconn.Up](other)
	require.NoError(t, errOf(r.Create("/private", nil, jute.FlagPersistent, 0, []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}})))
	require.NoError(t, other.Sync("/private"))
	require.ErrorIs(t, errOf(other.Get("/private", false)), zkconn.ErrNoAuth)
	proxy.Reset()
	next[zkconn.Down](r)
	next[zkconn.Up](r)
	require.NoError(t, errOf(r.Get("/private", false)))

	bad := open(t, zkconn.Config{Servers: []string{direct}, Auth: []zkconn.Credential{{Scheme: "nonsense"}}})
	require.Equal(t, zkconn.ErrAuthFailed, next[zkconn.Ended](bad).Cause)
	require.NoError(t, bad.Close(within(t, patience)), "a real server lets its session be closed all the same")
}
