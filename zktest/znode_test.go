package zktest_test

import (
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// A test sets its tree up, changes it under a client that watches, and looks at it, without a
// client of its own.
func TestATreeIsSetUpWithoutAClient(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		require.NoError(t, s.Create("/app/config", []byte("1")))
		require.ErrorIs(t, s.Create("/app/config", nil), zktest.ErrNodeExists)
		require.ErrorIs(t, s.Create("app", nil), zktest.ErrBadArguments)
		require.ErrorIs(t, s.Set("/nowhere", nil), zktest.ErrNoNode)
		require.ErrorIs(t, s.Delete("/nowhere"), zktest.ErrNoNode)
		require.ErrorIs(t, s.Delete("/zookeeper"), zktest.ErrBadArguments)
		_, err := s.Get("/nowhere")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		require.ErrorContains(t, err, `"/nowhere"`)
		_, err = s.Children("/nowhere")
		require.ErrorIs(t, err, zktest.ErrNoNode)

		c := client(t, s, 10*time.Second)
		p := c.must(t, jute.Request{Op: jute.OpGetData, Path: "/app/config", Watch: true})
		require.Equal(t, "1", string(p.Data))
		require.NoError(t, s.Set("/app/config", []byte("2")))
		p = c.must(t, jute.Request{Op: jute.OpGetData, Path: "/app/config"})
		require.Equal(t, "2", string(p.Data))
		require.EqualValues(t, 1, p.Stat.Version)
		require.Equal(t, jute.NodeDataChanged, c.events[0].Type)
		c.must(t, create("/app/mine", jute.FlagEphemeral))

		names, err := s.Children("/app")
		require.NoError(t, err)
		require.Equal(t, []string{"config", "mine"}, names)
		before := s.Journal()
		require.NoError(t, s.Delete("/app"))
		require.Len(t, s.Journal(), len(before), "it is no client's request")
		names, err = s.Children("/")
		require.NoError(t, err)
		require.Equal(t, []string{"zookeeper"}, names)
		data, err := s.Get("/")
		require.NoError(t, err)
		require.Empty(t, data)
	})
}

func TestAServerListensAtAFixedAddress(t *testing.T) {
	t.Parallel()
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().String()
	}
	one, two := free(), free()
	s := zktest.Start(t, zktest.WithServers(2), zktest.WithAddress(one, two))
	conn := dialTCP(t, two) // before anybody has asked for the addresses
	defer conn.Close()
	_, err := greet(conn, jute.ConnectRequest{Timeout: 4000, Password: make([]byte, 16)})
	require.NoError(t, err)
	require.Equal(t, []string{one, two}, s.Servers())

	_, err = zktest.New(zktest.WithAddress(one))
	require.ErrorContains(t, err, one, "it is taken")
	_, err = zktest.New(zktest.WithAddress("nowhere"))
	require.Error(t, err)
	_, err = zktest.New(zktest.WithAddress(one, two))
	require.ErrorContains(t, err, "2 addresses for 1 servers")
}

// go-zookeeper dials in memory, from a host that can be cut off.
func TestGoZookeeperDialsInOneCall(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		require.NoError(t, s.Create("/greeting", []byte("hello")))
		for _, dial := range []zk.Dialer{s.DialTimeout, s.Host("a").DialTimeout} {
			c, _, err := zk.Connect(s.Hosts(), 10*time.Second, zk.WithDialer(dial), zk.WithLogger(quiet{}))
			require.NoError(t, err)
			data, _, err := c.Get("/greeting")
			require.NoError(t, err)
			require.Equal(t, "hello", string(data))
			c.Close()
		}
		defer s.Host("a").Partition()()
		began := time.Now()
		_, err := s.Host("a").DialTimeout("tcp", s.Hosts()[0], time.Second)
		require.Error(t, err)
		require.Equal(t, time.Second, time.Since(began))
	})
}
