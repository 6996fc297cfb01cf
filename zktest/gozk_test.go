package zktest_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func inMemory(s *zktest.Server) zk.Dialer { return dialWith(s.Dialer()) }

func dialWith(dial func(ctx context.Context, network, addr string) (net.Conn, error)) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// story drives go-zookeeper through every request that it can make.
func story(t *testing.T, c *zk.Conn) {
	t.Helper()
	acl := zk.WorldACL(zk.PermAll)
	path, err := c.Create("/a", []byte("one"), 0, acl)
	require.NoError(t, err)
	require.Equal(t, "/a", path)
	_, err = c.Create("/a", nil, 0, acl)
	require.ErrorIs(t, err, zk.ErrNodeExists)

	data, stat, events, err := c.GetW("/a")
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	require.EqualValues(t, 3, stat.DataLength)
	_, err = c.Set("/a", []byte("two"), 0)
	require.NoError(t, err)
	require.Equal(t, zk.EventNodeDataChanged, (<-events).Type)
	_, err = c.Set("/a", []byte("three"), 0)
	require.ErrorIs(t, err, zk.ErrBadVersion)

	_, _, children, err := c.ChildrenW("/a")
	require.NoError(t, err)
	seq, err := c.Create("/a/s-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
	require.NoError(t, err)
	require.Equal(t, "/a/s-0000000000", seq)
	require.Equal(t, zk.EventNodeChildrenChanged, (<-children).Type)
	protected, err := c.CreateProtectedEphemeralSequential("/a/p-", nil, acl)
	require.NoError(t, err)
	require.Contains(t, protected, "p-0000000001")
	_, err = c.CreateContainer("/c", nil, zk.FlagTTL, acl)
	require.Error(t, err)
	_, err = c.CreateContainer("/c", nil, 4, acl)
	require.NoError(t, err)
	_, err = c.CreateTTL("/ttl", nil, zk.FlagTTL|1, acl, time.Hour)
	require.NoError(t, err)

	_, _, gone, err := c.ExistsW("/a/s-0000000000")
	require.NoError(t, err)
	results, err := c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 1}, &zk.DeleteRequest{Path: seq, Version: -1},
		&zk.CreateRequest{Path: "/a/m", Acl: acl}, &zk.SetDataRequest{Path: "/a", Data: []byte("x"), Version: -1})
	require.NoError(t, err)
	require.Equal(t, "/a/m", results[2].String)
	require.EqualValues(t, 2, results[3].Stat.Version)
	require.Equal(t, zk.EventNodeDeleted, (<-gone).Type)

	require.NoError(t, c.AddAuth("digest", []byte("u:p")))
	_, err = c.SetACL("/a/m", zk.AuthACL(zk.PermAll), 0)
	require.NoError(t, err)
	got, _, err := c.GetACL("/a/m")
	require.NoError(t, err)
	require.Equal(t, zk.DigestACL(zk.PermAll, "u", "p"), got)
	synced, err := c.Sync("/a")
	require.NoError(t, err)
	require.Equal(t, "/a", synced)
}

func TestGoZookeeperOverTCP(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	c, _, err := zk.Connect(s.Servers(), 10*time.Second, zk.WithLogger(quiet{}))
	require.NoError(t, err)
	defer c.Close()
	story(t, c)
}

func TestGoZookeeperInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t)
		c, _, err := zk.Connect(s.Hosts(), 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(inMemory(s)))
		require.NoError(t, err)
		story(t, c)
		time.Sleep(time.Hour) // pings keep it alive
		require.Equal(t, zk.StateHasSession, c.State())
		c.Close()
		synctest.Wait()
	})
}
