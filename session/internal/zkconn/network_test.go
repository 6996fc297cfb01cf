package zkconn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestRealNetwork(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	for name, test := range map[string]func(*testing.T, string, *ensemble.Proxy){
		"flap":        flap,
		"expiry":      expiry,
		"black hole":  blackHole,
		"unseen":      unseenChange,
		"credentials": credentials,
		"closed":      closedSession,
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

func flap(t *testing.T, _ string, proxy *ensemble.Proxy) {
	r := open(t, zkconn.Config{Servers: []string{proxy.Addr()}})
	id := next[zkconn.Up](r).SessionID
	for range 20 {
		proxy.Reset()
		next[zkconn.Down](r)
		require.Equal(t, id, next[zkconn.Up](r).SessionID)
		require.NoError(t, r.Sync("/"))
	}
	require.NoError(t, r.Close(within(t, patience)))
}

func expiry(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r := open(t, zkconn.Config{Servers: []string{proxy.Addr()}, Timeout: 600 * time.Millisecond})
	other := open(t, zkconn.Config{Servers: []string{direct}})
	next[zkconn.Up](r)
	next[zkconn.Up](other)
	_, err := r.Create("/mine", nil, jute.FlagEphemeral, 0, world)
	require.NoError(t, err)
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

func blackHole(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r := open(t, zkconn.Config{Servers: []string{proxy.Addr()}})
	next[zkconn.Up](r)
	proxy.Blackhole()
	go func() { _, _ = r.Set("/", make([]byte, 1<<20-100), -1) }() // ends with the connection
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Close(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(begun), 2*time.Second)

	r = open(t, zkconn.Config{Servers: []string{proxy.Addr(), direct}, Timeout: 3 * time.Second})
	next[zkconn.Up](r)
	require.NoError(t, r.Close(within(t, patience)), "over the other way")
}

func unseenChange(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r, other := open(t, zkconn.Config{Servers: []string{proxy.Addr()}}), open(t, zkconn.Config{Servers: []string{direct}})
	next[zkconn.Up](r)
	next[zkconn.Up](other)
	_, err := other.Create("/unseen", nil, jute.FlagPersistent, 0, world)
	require.NoError(t, err)
	require.NoError(t, r.Sync("/unseen"))
	_, _, err = r.Get("/unseen", true)
	require.NoError(t, err)
	_, _, err = r.Children("/unseen", true)
	require.NoError(t, err)
	_, exists, err := r.Exists("/unseen/kid", true)
	require.NoError(t, err)
	require.False(t, exists)
	proxy.Cut()
	next[zkconn.Down](r)
	_, err = other.Set("/unseen", nil, -1)
	require.NoError(t, err)
	_, err = other.Create("/unseen/kid", nil, jute.FlagPersistent, 0, world)
	require.NoError(t, err)
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
	_, err := r.Create("/private", nil, jute.FlagPersistent, 0, []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}})
	require.NoError(t, err)
	require.NoError(t, other.Sync("/private"))
	_, _, err = other.Get("/private", false)
	require.ErrorIs(t, err, zkconn.ErrNoAuth)
	proxy.Reset()
	next[zkconn.Down](r)
	next[zkconn.Up](r)
	_, _, err = r.Get("/private", false)
	require.NoError(t, err)

	bad := open(t, zkconn.Config{Servers: []string{direct}, Auth: []zkconn.Credential{{Scheme: "nonsense"}}})
	require.Equal(t, zkconn.ErrAuthFailed, next[zkconn.Ended](bad).Cause)
	require.NoError(t, bad.Close(within(t, patience)), "a real server lets its session be closed all the same")
}

func closedSession(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r, other := open(t, zkconn.Config{Servers: []string{proxy.Addr()}}), open(t, zkconn.Config{Servers: []string{direct}})
	next[zkconn.Up](r)
	next[zkconn.Up](other)
	for _, node := range []string{"/closed", "/closed-while-down"} {
		_, err := r.Create(node, nil, jute.FlagEphemeral, 0, world)
		require.NoError(t, err)
		_, exists, err := other.Exists(node, true)
		require.NoError(t, err)
		require.True(t, exists)
		if node == "/closed" {
			require.NoError(t, r.Close(within(t, patience)))
		} else {
			proxy.Cut()
			next[zkconn.Down](r)
			closing := bubble.Begin(func() error { return r.Close(within(t, patience)) })
			proxy.Heal()
			require.NoError(t, <-closing)
		}
		require.Equal(t, zkconn.Fired{Type: jute.NodeDeleted, Path: node}, next[zkconn.Fired](other))
		r = open(t, zkconn.Config{Servers: []string{proxy.Addr()}})
		next[zkconn.Up](r)
	}
}
