package link_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session/internal/link"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestRealNetwork(t *testing.T) {
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
	r := open(t, link.Config{Servers: []string{proxy.Addr()}})
	id := next[link.Up](r).SessionID
	for range 20 {
		proxy.Reset()
		next[link.Down](r)
		require.Equal(t, id, next[link.Up](r).SessionID)
		require.NoError(t, r.Sync("/"))
	}
	require.NoError(t, r.Close(within(t, patience)))
}

func expiry(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r := open(t, link.Config{Servers: []string{proxy.Addr()}, Timeout: 600 * time.Millisecond})
	other := open(t, link.Config{Servers: []string{direct}})
	next[link.Up](r)
	next[link.Up](other)
	_, err := r.Create("/mine", nil, link.Ephemeral, 0, world)
	require.NoError(t, err)
	require.NoError(t, other.Sync("/mine"))
	_, exists, err := other.Exists("/mine", true)
	require.NoError(t, err)
	require.True(t, exists)
	proxy.Blackhole()
	require.Equal(t, link.Fired{Type: link.NodeDeleted, Path: "/mine"}, next[link.Fired](other))
	proxy.Heal()
	require.Equal(t, link.ErrExpired, next[link.Ended](r).Cause)
	require.NoError(t, r.Close(within(t, patience)))
}

func blackHole(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r := open(t, link.Config{Servers: []string{proxy.Addr()}})
	next[link.Up](r)
	proxy.Blackhole()
	go func() { _, _ = r.Set("/", make([]byte, 1<<20-100), -1) }() // ends with the connection
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Close(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(begun), 2*time.Second)

	r = open(t, link.Config{Servers: []string{proxy.Addr(), direct}, Timeout: 3 * time.Second})
	next[link.Up](r)
	require.NoError(t, r.Close(within(t, patience)), "over the other way")
}

func unseenChange(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r, other := open(t, link.Config{Servers: []string{proxy.Addr()}}), open(t, link.Config{Servers: []string{direct}})
	next[link.Up](r)
	next[link.Up](other)
	_, err := other.Create("/unseen", nil, link.Persistent, 0, world)
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
	next[link.Down](r)
	_, err = other.Set("/unseen", nil, -1)
	require.NoError(t, err)
	_, err = other.Create("/unseen/kid", nil, link.Persistent, 0, world)
	require.NoError(t, err)
	proxy.Heal()
	next[link.Up](r)
	require.ElementsMatch(t, []link.Fired{
		{Type: link.NodeDataChanged, Path: "/unseen"},
		{Type: link.NodeChildrenChanged, Path: "/unseen"},
		{Type: link.NodeCreated, Path: "/unseen/kid"},
	}, []link.Fired{next[link.Fired](r), next[link.Fired](r), next[link.Fired](r)})
}

func credentials(t *testing.T, direct string, proxy *ensemble.Proxy) {
	auth := []link.Credential{{Scheme: "digest", Secret: []byte("me:secret")}}
	r, other := open(t, link.Config{Servers: []string{proxy.Addr()}, Auth: auth}), open(t, link.Config{Servers: []string{direct}})
	next[link.Up](r)
	next[link.Up](other)
	_, err := r.Create("/private", nil, link.Persistent, 0, []link.ACL{{Perms: link.PermAll, Scheme: "auth"}})
	require.NoError(t, err)
	require.NoError(t, other.Sync("/private"))
	_, _, err = other.Get("/private", false)
	require.ErrorIs(t, err, link.ErrNoAuth)
	proxy.Reset()
	next[link.Down](r)
	next[link.Up](r)
	_, _, err = r.Get("/private", false)
	require.NoError(t, err)

	bad := open(t, link.Config{Servers: []string{direct}, Auth: []link.Credential{{Scheme: "nonsense"}}})
	require.Equal(t, link.ErrAuthFailed, next[link.Ended](bad).Cause)
	require.NoError(t, bad.Close(within(t, patience)), "a real server lets its session be closed all the same")
}

func closedSession(t *testing.T, direct string, proxy *ensemble.Proxy) {
	r, other := open(t, link.Config{Servers: []string{proxy.Addr()}}), open(t, link.Config{Servers: []string{direct}})
	next[link.Up](r)
	next[link.Up](other)
	for _, node := range []string{"/closed", "/closed-while-down"} {
		_, err := r.Create(node, nil, link.Ephemeral, 0, world)
		require.NoError(t, err)
		_, exists, err := other.Exists(node, true)
		require.NoError(t, err)
		require.True(t, exists)
		if node == "/closed" {
			require.NoError(t, r.Close(within(t, patience)))
		} else {
			proxy.Cut()
			next[link.Down](r)
			closing := begin(func() error { return r.Close(within(t, patience)) })
			proxy.Heal()
			require.NoError(t, <-closing)
		}
		require.Equal(t, link.Fired{Type: link.NodeDeleted, Path: node}, next[link.Fired](other))
		r = open(t, link.Config{Servers: []string{proxy.Addr()}})
		next[link.Up](r)
	}
}
