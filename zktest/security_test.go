package zktest_test

// Clients that have to show who they are, and TLS.

import (
	"crypto/tls"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// login is the request of a client that shows who it is.
func login(credential string) jute.Request {
	return jute.Request{Op: jute.OpSetAuth, Xid: jute.XidAuth, Scheme: "digest", Data: []byte(credential)}
}

// refusals tells what becomes of a client's first request in a session of its own, and of the
// session after.
func refusals(t *testing.T, dial func() net.Conn) (all []string) {
	t.Helper()
	greeted := func(q jute.ConnectRequest) *raw {
		c, err := greet(dial(), q)
		require.NoError(t, err)
		return c
	}
	for _, q := range []jute.Request{
		{Op: jute.OpPing, Xid: jute.XidPing},
		{Op: jute.OpExists, Path: "/"},
		{Op: jute.OpSync, Path: "/"},
		create("/a", 0),
		{Op: jute.OpMulti},
		{Op: jute.OpSetWatches, Xid: jute.XidSetWatches},
		{Op: jute.OpWhoAmI},
		{Op: jute.OpCloseSession},
		{Op: 99},
	} {
		c := greeted(jute.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)})
		p, err := c.do(q)
		require.NoError(t, err)
		_, err = c.do(q)
		again := greeted(jute.ConnectRequest{Timeout: 10_000, SessionID: c.session, Password: c.password})
		again.must(t, login("any:body"))
		again.must(t, jute.Request{Op: jute.OpExists, Path: "/"})
		all = append(all, fmt.Sprintf("%v: xid %d, zxid %d, code %d; then %v; the session stays: %t", q.Op, p.Xid, p.Zxid, p.Err, ending(err), again.session == c.session))
	}
	return all
}

var refused = []string{
	"ping: xid -2, zxid 0, code -124; then closed; the session stays: true",
	"exists: xid 1, zxid 0, code -124; then closed; the session stays: true",
	"sync: xid 1, zxid 0, code -124; then closed; the session stays: true",
	"create: xid 1, zxid 0, code -124; then closed; the session stays: true",
	"multi: xid 1, zxid 0, code -124; then closed; the session stays: true",
	"setWatches: xid -8, zxid 0, code -124; then closed; the session stays: true",
	"whoAmI: xid 1, zxid 0, code -124; then closed; the session stays: true",
	"closeSession: xid 1, zxid 0, code -124; then closed; the session stays: true",
	"op99: xid 1, zxid 0, code -124; then closed; the session stays: true",
}

func TestClientsWithoutAnIdentityAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.RequireAuth("digest", "")
		require.Equal(t, refused, refusals(t, func() net.Conn {
			conn, err := s.DialTimeout("tcp", s.Hosts()[0], time.Second)
			require.NoError(t, err)
			return conn
		}))
		s.Znodes(t).CheckAbsent("/a")
	})
}

func TestARealServerRefusesTheSame(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	real := ensemble.Start(t, 1, ensemble.WithJVM("-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=digest"))
	require.Equal(t, refused, refusals(t, func() net.Conn { return dialTCP(t, real.Servers()[0]) }))
}

func TestWhichIdentityIsAsked(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		scheme, id, credential string
		served                 bool
	}{
		"the right one":           {"digest", "orders:secret", "orders:secret", true},
		"another one":             {"digest", "orders:secret", "orders:guess", false},
		"none":                    {"digest", "orders:secret", "", false},
		"an address":              {"ip", "127.0.0.1", "", true},
		"another address":         {"ip", "10.0.0.1", "orders:secret", false},
		"any address":             {"ip", "", "", true},
		"nothing is asked for":    {"", "", "", true},
		"the superuser's is none": {"digest", "orders:secret", "super:root", false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				c := client(t, s, 10*time.Second)
				s.RequireAuth("digest", "somebody:else") // also of those that are connected; the last call counts
				s.RequireAuth(row.scheme, row.id)
				if row.credential != "" {
					c.must(t, login(row.credential))
				}
				p, err := c.do(create("/a", 0))
				require.NoError(t, err)
				require.Equal(t, row.served, p.Err == jute.OK)
				require.Equal(t, row.served, s.Znodes(t).Exists("/a"))
				if !row.served {
					require.Equal(t, zktest.ErrAuthRequired, p.Err)
				}
			}, zktest.WithSuper("root"))
		})
	}
}

// What is refused is refused at once, also where it would wait for the leader; it keeps no session
// alive; and no verdict of an interceptor has it carried out.
func TestWhatIsRefusedDoesNothing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		verdict zktest.Verdict
		says    string
	}{
		"passed":      {zktest.Pass, "answered fine, then closed"},
		"delayed":     {zktest.Delay(time.Second), "answered fine, then closed"},
		"failed":      {zktest.Fail(zktest.ErrThrottled), "answered fine, then closed"},
		"dropped":     {zktest.DropRequest, "answered silence, then fine"}, // the next one is refused
		"no reply":    {zktest.DropReply, "answered closed, then closed"},
		"cut off":     {zktest.CutAfter, "answered closed, then closed"},
		"not arrived": {zktest.CutBefore, "answered closed, then closed"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				c := client(t, s, 40*time.Second)
				before, _ := s.Session(c.session)
				s.HoldUp(0)
				s.RequireAuth("digest", "")
				s.Intercept(func(q *zktest.Request) zktest.Verdict {
					if q.K == 2 {
						return row.verdict
					}
					return zktest.Pass
				})
				time.Sleep(7 * time.Second)
				_, err := c.do(create("/a", 0))
				says := "answered " + ending(err)
				_, err = c.do(create("/a", 0))
				if row.verdict == zktest.Fail(zktest.ErrThrottled) { // the first one was not refused
					_, err = c.do(create("/a", 0))
				}
				require.Equal(t, row.says, says+", then "+ending(err))
				time.Sleep(time.Until(before.Expires) - 1)
				require.Len(t, s.Sessions(), 1)
				time.Sleep(1)
				synctest.Wait()
				require.Empty(t, s.Sessions())
				s.Znodes(t).CheckAbsent("/a")
			})
		})
	}
}

func TestRequireAuthRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{{"sasl", ""}, {"world", "anyone"}, {"digest", "secret"}, {"", "orders:secret"}} {
		var r recorder
		r.run(func() { zktest.Start(&r).RequireAuth(row[0], row[1]) })
		require.Contains(t, r.failed, `zktest: RequireAuth: it takes "digest" and "user:password", or "ip"`)
		require.NotContains(t, r.failed, "secret", "it may be a password")
	}
}

// A server that has lost its leader refuses a write at once, which would wait else.
func TestAnIsolatedServerRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		s.RequireAuth("digest", "")
		defer s.Isolate()()
		p, err := c.do(create("/a", 0))
		require.NoError(t, err)
		require.Equal(t, zktest.ErrAuthRequired, p.Err)
	}, zktest.WithServers(3))
}

// Both clients connect to a server that speaks TLS and insists on an identity, in memory and
// through sockets.
func TestClientsWithTLSAndAnIdentity(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, hosts func(*zktest.Server) []string) {
		s := zktest.Start(t)
		s.RequireAuth("digest", "orders:secret")
		config := s.StartTLS()
		sess, err := session.Open(t.Context(), hosts(s), session.WithTLS(config), session.WithAuth("digest", []byte("orders:secret")), session.WithDialer(s.Dialer()))
		require.NoError(t, err)
		_, err = sess.Create(t.Context(), "/a", []byte("x"))
		require.NoError(t, err)
		s.Disconnect(sess.Status().SessionID)
		_, _, err = sess.Get(t.Context(), "/a")
		require.NoError(t, err, "it comes back")
		require.NoError(t, session.CloseWithin(sess, time.Minute))

		conn, _, err := zk.Connect(hosts(s), 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := s.DialTimeout(network, address, timeout)
			if err != nil {
				return nil, err
			}
			return tls.Client(conn, config), nil
		}))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.AddAuth("digest", []byte("orders:secret")))
		data, _, err := conn.Get("/a")
		require.NoError(t, err)
		require.Equal(t, "x", string(data))
	}
	t.Run("in a bubble", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, (*zktest.Server).Hosts) })
	})
	t.Run("in real time", func(t *testing.T) { t.Parallel(); test(t, (*zktest.Server).Hosts) })
	t.Run("sockets", func(t *testing.T) { t.Parallel(); test(t, (*zktest.Server).Servers) })
}

func TestWhoSpeaksTLS(t *testing.T) {
	t.Parallel()
	outside := zktest.Start(t) // its certificate is of another time than that of the bubble
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t)
		plain := client(t, s, 10*time.Second)
		config := s.StartTLS()
		plain.must(t, create("/a", 0))
		_, err := resume(s, newcomer(10*time.Second), 0)
		require.Equal(t, "closed", ending(err), "a new one without TLS")
		again := s.StartTLS()
		require.True(t, again.RootCAs.Equal(config.RootCAs), "it is the same certificate")
		conn, err := s.DialTimeout("tcp", s.Hosts()[0], time.Second)
		require.NoError(t, err)
		require.ErrorContains(t, tls.Client(conn, outside.StartTLS()).Handshake(), "certificate", "another server's configuration")
		zksession.Open(t, s, session.WithTLS(config))

		defer s.Host("a").Slow(time.Second)()
		began := time.Now()
		zksession.Open(t, s, session.WithTLS(config), session.WithDialer(s.Host("a").Dialer()))
		require.GreaterOrEqual(t, time.Since(began), 4*time.Second, "two round trips")
		s.Host("a").Partition()
		time.Sleep(time.Minute)
		require.Len(t, s.Sessions(), 1)
	})
}
