package zkconn_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
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

func TestRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	for name, test := range map[string]func(*testing.T, *live){
		"operations":   operations,
		"kinds":        kindsOfZnodes,
		"transactions": transactions,
		"watches":      watches,
		"largest":      largestPacket,
		"entries":      entries,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, zkconn.Config{Servers: servers, MaxPacket: 1 << 21}) // does not bind: the server's own limit is half of it
			up := next[zkconn.Up](r)
			require.Equal(t, r.SessionID(), up.SessionID)
			require.Equal(t, 10*time.Second, up.Timeout)
			_, err := r.Create("/"+name, nil, jute.FlagPersistent, 0, world)
			require.NoError(t, err)
			test(t, r)
			require.NoError(t, r.Close(within(t, patience)))
		})
	}
}

func operations(t *testing.T, r *live) {
	const node = "/operations/a"
	before := time.Now()
	made, err := r.Create(node, []byte("one"), jute.FlagPersistent, 0, world)
	require.NoError(t, err)
	require.Equal(t, node, made)
	require.WithinRange(t, next[zkconn.Proved](r).Sent, before.Add(-patience), time.Now())
	_, err = r.Create(node, nil, jute.FlagPersistent, 0, world)
	require.ErrorIs(t, err, zkconn.ErrNodeExists)
	_, err = r.Create(node+"/b", nil, jute.FlagPersistent, 0, nil)
	require.ErrorIs(t, err, zkconn.ErrInvalidACL)

	data, stat, err := r.Get(node, false)
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	require.EqualValues(t, 3, stat.DataLength)
	require.WithinDuration(t, time.Now(), stat.Ctime, time.Minute)
	require.Equal(t, stat.Czxid, stat.Mzxid)

	stat, err = r.Set(node, nil, stat.Version)
	require.NoError(t, err)
	require.EqualValues(t, 1, stat.Version)
	require.Greater(t, stat.Mzxid, stat.Czxid)
	_, err = r.Set(node, nil, 0)
	require.ErrorIs(t, err, zkconn.ErrBadVersion)
	data, _, err = r.Get(node, false)
	require.NoError(t, err)
	require.NotNil(t, data, "no data are empty data")

	acl, stat, err := r.GetACL(node)
	require.NoError(t, err)
	require.Equal(t, world, acl)
	readOnly := []jute.ACL{{Perms: jute.PermRead | jute.PermAdmin, Scheme: "world", ID: "anyone"}}
	_, err = r.SetACL(node, readOnly, stat.Aversion)
	require.NoError(t, err)
	_, err = r.Set(node, nil, -1)
	require.ErrorIs(t, err, zkconn.ErrNoAuth)

	_, exists, err := r.Exists("/operations/none", false)
	require.NoError(t, err)
	require.False(t, exists)
	names, stat, err := r.Children("/operations", false)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
	require.EqualValues(t, 1, stat.NumChildren)
	require.NoError(t, r.Sync("/operations"))
	require.ErrorIs(t, r.Delete("/operations", -1), zkconn.ErrNotEmpty)
	require.NoError(t, r.Delete(node, -1))
	require.ErrorIs(t, r.Delete(node, -1), zkconn.ErrNoNode)
}

func kindsOfZnodes(t *testing.T, r *live) {
	for mode, numbered := range map[int32]bool{
		jute.FlagPersistent: false, jute.FlagEphemeral: false, jute.FlagSequential: true, jute.FlagEphemeralSequential: true, jute.FlagContainer: false,
		jute.FlagPersistentTTL: false, jute.FlagPersistentSequentialTTL: true,
	} {
		node := fmt.Sprintf("/kinds/%d-", mode)
		made, err := r.Create(node, nil, mode, time.Hour, world)
		require.NoError(t, err, mode)
		require.Equal(t, numbered, made != node, mode)
		stat, _, err := r.Exists(made, false)
		require.NoError(t, err)
		if mode == jute.FlagEphemeral || mode == jute.FlagEphemeralSequential {
			require.Equal(t, r.SessionID(), stat.EphemeralOwner)
			_, err := r.Create(made+"/child", nil, jute.FlagPersistent, 0, world)
			require.ErrorIs(t, err, zkconn.ErrNoChildrenForEphemerals)
		}
	}
}

func transactions(t *testing.T, r *live) {
	create := func(path string) jute.Request {
		return jute.Request{Op: jute.OpCreate, Path: path, Flags: jute.FlagEphemeralSequential, ACL: world}
	}
	results, err := r.Multi([]jute.Request{
		create("/transactions/a-"), create("/transactions/b-"),
		{Op: jute.OpSetData, Path: "/transactions", Data: []byte("x")},
		{Op: jute.OpCheck, Path: "/transactions", Version: 1},
	})
	require.NoError(t, err)
	require.Len(t, results, 4)
	require.EqualValues(t, 1, results[2].Stat.Version)
	own := results[0].Path

	results, err = r.Multi([]jute.Request{{Op: jute.OpDelete, Path: own, Version: -1}, {Op: jute.OpCheck, Path: "/transactions", Version: 7}, create("/c")})
	require.ErrorIs(t, err, zkconn.ErrBadVersion)
	require.Equal(t, []zkconn.Result{{}, {Err: zkconn.ErrBadVersion}, {Err: zkconn.ErrRolledBack}}, results)
	_, exists, err := r.Exists(own, false)
	require.NoError(t, err)
	require.True(t, exists)
}

func watches(t *testing.T, r *live) {
	_, exists, err := r.Exists("/watches/a", true)
	require.NoError(t, err)
	require.False(t, exists)
	_, _, err = r.Children("/watches", true)
	require.NoError(t, err)
	_, err = r.Create("/watches/a", nil, jute.FlagPersistent, 0, world)
	require.NoError(t, err)
	require.Equal(t, zkconn.Fired{Type: jute.NodeCreated, Path: "/watches/a"}, next[zkconn.Fired](r))
	require.Equal(t, zkconn.Fired{Type: jute.NodeChildrenChanged, Path: "/watches"}, next[zkconn.Fired](r))
	_, _, err = r.Get("/watches/a", true)
	require.NoError(t, err)
	_, err = r.Set("/watches/a", nil, -1)
	require.NoError(t, err)
	require.Equal(t, zkconn.Fired{Type: jute.NodeDataChanged, Path: "/watches/a"}, next[zkconn.Fired](r))
	_, _, err = r.Children("/watches/a", true)
	require.NoError(t, err)
	require.NoError(t, r.Delete("/watches/a", -1))
	require.Equal(t, zkconn.Fired{Type: jute.NodeDeleted, Path: "/watches/a"}, next[zkconn.Fired](r))
}

// The size that is compared with MaxPacket is the one that the server compares with its limit.
func largestPacket(t *testing.T, r *live) {
	const limit = 1<<20 - 1
	op := jute.Request{Op: jute.OpCreate, Path: "/largest/a", ACL: world}
	op.Data = bytes.Repeat([]byte{'x'}, limit-zkconn.Size(op))
	_, err := r.Create(op.Path, op.Data, jute.FlagPersistent, 0, world)
	require.NoError(t, err)
	back, _, err := r.Get(op.Path, false)
	require.NoError(t, err)
	require.Equal(t, op.Data, back)

	multi := []jute.Request{{Op: jute.OpDelete, Path: op.Path, Version: -1}, {Op: jute.OpSetData, Path: "/largest"}}
	multi[1].Data = op.Data[:limit-zkconn.SizeOf(multi...)]
	_, err = r.Multi(multi)
	require.NoError(t, err)

	_, err = r.Create(op.Path, append(op.Data, 'x'), jute.FlagPersistent, 0, world)
	require.ErrorIs(t, err, zkconn.ErrNoReply, "one byte more, and the server drops the connection")
	next[zkconn.Down](r)
	next[zkconn.Up](r)
}

func entries(t *testing.T, r *live) {
	enter := func(e zkconn.Entry) zkconn.Entered {
		e.Path, e.Flags, e.ACL = "/entries/n-", jute.FlagEphemeralSequential, world
		made, err := r.Enter(e)
		require.NoError(t, err)
		require.NoError(t, made.Err)
		stat, exists, err := r.Exists(made.Path, false)
		require.NoError(t, err)
		require.True(t, exists)
		if e.Replace == "" {
			require.Equal(t, stat, made.Stat, "the Stat of the birth is the znode's")
			require.Equal(t, r.SessionID(), made.Stat.EphemeralOwner)
		}
		return made
	}
	before := ""
	for n := range 50 {
		made := enter(zkconn.Entry{Data: []byte("x"), List: "/entries"})
		require.Contains(t, made.Names, made.Path[len("/entries/"):])
		require.Len(t, made.Names, n+1)
		require.EqualValues(t, n+1, made.Line.NumChildren)
		before = made.Path
	}
	made := enter(zkconn.Entry{Replace: before, List: "/entries"})
	require.Len(t, made.Names, 50)
	require.NotContains(t, made.Names, before[len("/entries/"):])
	made = enter(zkconn.Entry{})
	require.Empty(t, made.Names)

	made, err := r.Enter(zkconn.Entry{Path: "/entries/n-", Flags: jute.FlagEphemeralSequential, ACL: world, Replace: before, List: "/entries"})
	require.ErrorIs(t, err, zkconn.ErrNoNode)
	require.True(t, made.Missing)
	made, err = r.Enter(zkconn.Entry{Path: "/nowhere/n-", Flags: jute.FlagEphemeralSequential, ACL: world, Replace: "/entries", List: "/nowhere"})
	require.ErrorIs(t, err, zkconn.ErrNotEmpty)
	require.False(t, made.Missing)
	_, err = r.Enter(zkconn.Entry{Path: "/nowhere/n-", Flags: jute.FlagEphemeralSequential, ACL: world, List: "/nowhere"})
	require.ErrorIs(t, err, zkconn.ErrNoNode)
	names, _, err := r.Children("/entries", false)
	require.NoError(t, err)
	require.Len(t, names, 51)
}
