//go:build unix

package main

// The flags: that they reach the server.

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
)

// said returns the answer to a four-letter word.
func said(t *testing.T, address, word string) string {
	t.Helper()
	conn := must(net.Dial("tcp", address))
	defer conn.Close()
	must(conn.Write([]byte(word)))
	return string(must(io.ReadAll(conn)))
}

// Three servers share one tree, at addresses of their own on both loopbacks, as the flags say.
func TestTheFlagsAreHeard(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	p := started(t, program(t), "--listen", "localhost:0", "--servers", "3", "--super", "secret", "--max-packet", "1000", "--no-ttl", "--max-connections", "5",
		"--words", "ruok,conf,srvr", "--container-check", "1s", "--version", "3.8.0")
	servers := strings.Split(p.address, ",")
	require.Len(t, servers, 3)
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // this machine has IPv6
		l.Close()
		six := strings.Split(strings.TrimPrefix(p.line(t, "and on "), "and on "), ",")
		require.Len(t, six, 3)
		require.Equal(t, "imok", said(t, six[2], "ruok"))
		_, port, err := net.SplitHostPort(servers[2])
		require.NoError(t, err)
		require.Equal(t, "[::1]:"+port, six[2])
	}
	require.Contains(t, said(t, servers[1], "conf"), "maxClientCnxns=5\n")
	require.Contains(t, said(t, servers[0], "srvr"), "3.8.0")
	require.Contains(t, said(t, servers[0], "mntr"), "not in the whitelist")
	ctx := bubble.Minute(t)
	c, other := client(t, servers[0], session.WithAuth("digest", []byte("super:secret"))), client(t, servers[2])
	_, err := c.SetACL(ctx, "/zookeeper/config", session.AnyoneACL(session.PermAll), -1)
	require.NoError(t, err, "super may")
	_, err = c.Create(ctx, "/ttl", nil, session.TTL(time.Second))
	require.ErrorIs(t, err, session.ErrUnsupported)
	must(c.Create(ctx, "/shared", nil))
	require.NoError(t, other.Sync(ctx, "/shared"))
	_, found, err := other.Exists(ctx, "/shared")
	require.NoError(t, err)
	require.True(t, found)
	_, err = c.Create(ctx, "/large", make([]byte, 1000))
	require.ErrorIs(t, err, session.ErrUnknownOutcome, "hung up on")
	require.NoError(t, c.Close(ctx))
	require.NoError(t, other.Close(ctx))
	p.end(t, syscall.SIGTERM)
}
