package zktest_test

// A server in a test: how it starts and ends, where it listens, its options, and its tree without a
// client.

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// recorder is a test that notes what becomes of it.
type recorder struct {
	failed   string
	cleanups []func()
}

func (*recorder) Helper()                             {}
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (r *recorder) run(f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.failed = fmt.Sprint(v)
		}
		for _, cleanup := range r.cleanups {
			cleanup()
		}
	}()
	f()
}

func TestStartFailsTheTestAndCleansUp(t *testing.T) {
	t.Parallel()
	var r recorder
	r.run(func() { zktest.Start(&r, zktest.WithServers(-1)) })
	require.Contains(t, r.failed, "WithServers(-1)")

	r = recorder{}
	var s *zktest.Server
	r.run(func() {
		s = zktest.Start(&r)
		s.Kill(3)
	})
	require.Contains(t, r.failed, "no server 3 among 1")
	_, err := s.Dialer()(t.Context(), "tcp", s.Hosts()[0])
	require.Error(t, err, "it is closed")
	require.Error(t, s.Restart(0))
}

func TestAddressesStayAndAreOfTheLoopback(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.WithServers(2))
	addresses := s.Servers()
	require.Len(t, addresses, 2)
	require.NotEqual(t, addresses[0], addresses[1])
	for _, address := range addresses {
		require.Regexp(t, `^127\.0\.0\.1:\d+$`, address)
	}
	require.Equal(t, addresses, s.Servers())
	s.Kill(1)
	require.NoError(t, s.Restart(1))
	require.Equal(t, addresses, s.Servers())
	dialTCP(t, addresses[1])
	require.Len(t, s.Hosts(), 2)
	_, err := s.Dialer()(t.Context(), "tcp", "elsewhere:2181")
	require.ErrorContains(t, err, "no such server", "with several servers an address must be one of theirs")
	require.Contains(t, s.Dump(), "/zookeeper/quota")
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
	conn := dialTCP(t, two) // before the addresses were asked for
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

// Options and the environment reach the server.
func TestOptionsReachTheServer(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		conf := said(t, s, "conf")
		for _, line := range []string{"tickTime=1000\n", "maxClientCnxns=7\n", "minSessionTimeout=3000\n", "maxSessionTimeout=9000\n"} {
			require.Contains(t, conf, line)
		}
		c := client(t, s, 5*time.Second)
		locked, ttl, large := create("/locked", 0), create("/ttl", jute.FlagPersistentTTL), create("/large", 0)
		locked.ACL, ttl.Op, ttl.TTL, large.Data = []jute.ACL{{Perms: 0, Scheme: "world", ID: "anyone"}}, jute.OpCreateTTL, 1000, make([]byte, 1000)
		c.must(t, locked)
		p, err := c.do(ttl)
		require.NoError(t, err)
		require.Equal(t, jute.Unimplemented, p.Err)
		c.must(t, jute.Request{Op: jute.OpSetAuth, Xid: jute.XidAuth, Scheme: "digest", Data: []byte("super:root")})
		c.must(t, jute.Request{Op: jute.OpGetData, Path: "/locked"})
		require.NoError(t, s.SetSequence("/app", 17))
		require.Error(t, s.SetSequence("/nowhere", 1))
		p = c.must(t, create("/app/", jute.FlagSequential))
		require.Equal(t, "/app/0000000017", p.Path)
		require.NoError(t, s.Load(`{"path": "/app/more"}`))
		require.Error(t, s.Load("more"))
		text, err := s.Tree()
		require.NoError(t, err)
		require.Contains(t, text, `{"path":"/app","data":"hello","sequence":19}`)
		require.Contains(t, text, `{"path":"/app/more"}`)
		_, err = c.do(large)
		require.Error(t, err, "hung up on")
	}, zktest.WithTick(time.Second), zktest.WithSessionTimeouts(3*time.Second, 9*time.Second), zktest.WithMaxConnections(7), zktest.WithMaxPacket(1000),
		zktest.WithoutTTL(), zktest.WithSuper("root"), zktest.WithTree(`{"path": "/app", "data": "hello"}`))
}

// said is what a server answers to a four-letter word.
func said(t *testing.T, s *zktest.Server, word string) string {
	t.Helper()
	conn, err := s.DialTimeout("tcp", s.Hosts()[0], time.Second)
	require.NoError(t, err)
	return ask(t, conn, word)
}

// ZKTEST_VERSION is the version of servers that were not told theirs.
func TestTheEnvironmentSetsTheDefaultVersion(t *testing.T) {
	t.Setenv("ZKTEST_VERSION", "3.8.4")
	require.Contains(t, said(t, zktest.Start(t), "srvr"), "version: 3.8.4")
	require.Contains(t, said(t, zktest.Start(t, zktest.WithVersion("3.8.0")), "srvr"), "version: 3.8.0")
	t.Setenv("ZKTEST_VERSION", "3.7")
	_, err := zktest.New()
	require.ErrorContains(t, err, "ZKTEST_VERSION")
	require.ErrorContains(t, err, "3.8.0, 3.8.4")
	t.Setenv("ZKTEST_VERSION", "")
	require.Contains(t, said(t, zktest.Start(t), "srvr"), "version: 3.9.6")
}

// A test sets its tree up, changes it under a client that watches, and looks at it, without a
// client of its own.
func TestATreeIsSetUpWithoutAClient(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		require.NoError(t, s.Znodes(t).Create("/app/config", []byte("1")))
		require.ErrorIs(t, s.Znodes(t).Create("/app/config", nil), zktest.ErrNodeExists)
		require.ErrorIs(t, s.Znodes(t).Create("app", nil), zktest.ErrBadArguments)
		require.ErrorIs(t, s.Znodes(t).Set("/nowhere", nil), zktest.ErrNoNode)
		require.ErrorIs(t, s.Znodes(t).Delete("/nowhere"), zktest.ErrNoNode)
		require.ErrorIs(t, s.Znodes(t).Delete("/zookeeper"), zktest.ErrBadArguments)
		_, err := s.Znodes(t).Get("/nowhere")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		require.ErrorContains(t, err, `"/nowhere"`)
		_, err = s.Znodes(t).Children("/nowhere")
		require.ErrorIs(t, err, zktest.ErrNoNode)

		c := client(t, s, 10*time.Second)
		p := c.must(t, jute.Request{Op: jute.OpGetData, Path: "/app/config", Watch: true})
		require.Equal(t, "1", string(p.Data))
		require.NoError(t, s.Znodes(t).Set("/app/config", []byte("2")))
		p = c.must(t, jute.Request{Op: jute.OpGetData, Path: "/app/config"})
		require.Equal(t, "2", string(p.Data))
		require.EqualValues(t, 1, p.Stat.Version)
		require.Equal(t, jute.NodeDataChanged, c.events[0].Type)
		c.must(t, create("/app/mine", jute.FlagEphemeral))

		names, err := s.Znodes(t).Children("/app")
		require.NoError(t, err)
		require.Equal(t, []string{"config", "mine"}, names)
		before := s.Journal()
		require.NoError(t, s.Znodes(t).Delete("/app"))
		require.Len(t, s.Journal(), len(before), "it is no client's request")
		names, err = s.Znodes(t).Children("/")
		require.NoError(t, err)
		require.Equal(t, []string{"zookeeper"}, names)
		data, err := s.Znodes(t).Get("/")
		require.NoError(t, err)
		require.Empty(t, data)
	})
}

// go-zookeeper dials in memory, from a host that can be cut off.
func TestGoZookeeperDialsInOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		require.NoError(t, s.Znodes(t).Create("/greeting", []byte("hello")))
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

// A server that is down when its address is first asked for listens there when it is restarted.
func TestAServerThatIsDownHasAnAddress(t *testing.T) {
	t.Parallel()
	s, err := zktest.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.Kill(0)
	address := s.Servers()[0]
	var d net.Dialer
	_, err = d.DialContext(t.Context(), "tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, s.Restart(0))
	conn, err := d.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// In a bubble a socket would wait for ever: who asks for one is told what to use instead.
func TestAServerInABubbleHasNoSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := zktest.New()
		require.NoError(t, err)
		require.PanicsWithValue(t, "zktest: Server.Servers in a testing/synctest bubble, where sockets hang: use Server.Hosts with Server.Dialer, or zksession.Open",
			func() { server.Servers() })
		_, err = zktest.New(zktest.WithAddress("127.0.0.1:0"))
		require.ErrorContains(t, err, "WithAddress in a testing/synctest bubble, where sockets hang: use Server.Hosts with Server.Dialer")
	})
}
