// Package theirs is go-zookeeper's own tests, copied when the test beside this folder runs. This
// file stands in for what they start servers and connect with.
package theirs

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/gozk"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// TestCluster has one server or several: embedded ones, or real ones with THEIRS=real.
type TestCluster struct {
	addresses []string
	kill      func(i int)
	restart   func(i int) error
	expire    func(c *client)
}

func StartTestCluster(t *testing.T, size int, _, _ io.Writer) (*TestCluster, error) {
	if os.Getenv("THEIRS") == "real" {
		servers := ensemble.Start(t, size)
		return &TestCluster{servers.Servers(), servers.Kill, servers.Restart, func(c *client) { c.net.cutFor(c.sess) }}, nil
	}
	srv := zktest.Start(t, zktest.WithServers(size), zktest.WithTick(200*time.Millisecond))
	return &TestCluster{srv.Servers(), srv.Kill, srv.Restart, func(c *client) { srv.Expire(c.SessionID()) }}, nil
}

func (*TestCluster) Stop() error             { return nil } // at the end of the test
func (tc *TestCluster) address(i int) string { return tc.addresses[i] }

func (tc *TestCluster) StopServer(server string)  { tc.kill(slices.Index(tc.addresses, server)) }
func (tc *TestCluster) StartServer(server string) { _ = tc.restart(slices.Index(tc.addresses, server)) }

func (tc *TestCluster) StopAllServers() error {
	for i := range tc.addresses {
		tc.kill(i)
	}
	return nil
}

func (tc *TestCluster) StartAllServers() error {
	for i := range tc.addresses {
		if err := tc.restart(i); err != nil {
			return err
		}
	}
	return nil
}

func (tc *TestCluster) Connect(i int) (*client, <-chan zk.Event, error) {
	return open(tc, tc.addresses[i:i+1], 15*time.Second)
}

func (tc *TestCluster) ConnectAll() (*client, <-chan zk.Event, error) {
	return open(tc, tc.addresses, 15*time.Second)
}

func (tc *TestCluster) ConnectAllTimeout(d time.Duration) (*client, <-chan zk.Event, error) {
	return open(tc, tc.addresses, d)
}

func (tc *TestCluster) ConnectWithOptions(d time.Duration, callback func(zk.Event)) (*client, <-chan zk.Event, error) {
	c, events, err := open(tc, tc.addresses, d)
	both := make(chan zk.Event, 16)
	go func() {
		defer close(both)
		for e := range events {
			callback(e)
			both <- e
		}
	}()
	return c, both, err
}

func withEventCallback(f func(zk.Event)) func(zk.Event) { return f }

func connect(servers []string, d time.Duration) (*client, <-chan zk.Event, error) {
	return open(nil, servers, d)
}

// client is a view of a session with the few fields of a *zk.Conn that the tests look at.
type client struct {
	gozk.Conn
	sess    *session.Session
	net     *network
	cluster *TestCluster
	servers []string
	timeout time.Duration

	conn             *network
	eventChan        <-chan zk.Event
	reconnectLatch   chan struct{}
	setWatchLimit    int
	setWatchCallback func([]*setWatchesRequest)
}

// setWatchesRequest is nothing here: the test's last part, which looks into requests, is cut off.
type setWatchesRequest struct{}

func open(tc *TestCluster, servers []string, d time.Duration, opts ...session.Option) (*client, <-chan zk.Event, error) {
	c := &client{cluster: tc, servers: servers, timeout: d}
	c.net = &network{client: c}
	c.conn = c.net
	sess, err := session.New(servers, append(opts, session.WithTimeout(d), session.WithDialer(c.net.dial), session.WithMaxPacket(4<<20))...)
	if err != nil {
		return nil, nil, err
	}
	c.sess = sess
	c.Conn, c.eventChan = gozk.On(sess)
	return c, c.eventChan, nil
}

func (c *client) Close() {
	c.Conn.Close()
	_ = session.CloseWithin(c.sess, time.Second)
}

// AddAuth does what the view says when it refuses: it makes the session with the credential.
func (c *client) AddAuth(scheme string, auth []byte) error {
	if err := c.Conn.AddAuth(scheme, auth); err == nil {
		return nil
	}
	c.Close()
	again, _, err := open(c.cluster, c.servers, c.timeout, session.WithAuth(scheme, auth))
	if err == nil {
		c.Conn, c.sess, c.net, c.conn = again.Conn, again.sess, again.net, again.conn
	}
	return err
}

func (c *client) expire() { c.cluster.expire(c) }

// network is the connections of a client, which can be cut.
type network struct {
	client *client
	mu     sync.Mutex
	conn   net.Conn
	down   bool
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	down, again := n.down, n.conn != nil
	n.mu.Unlock()
	if down {
		return nil, context.DeadlineExceeded
	}
	if latch := n.client.reconnectLatch; again && latch != nil {
		<-latch
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		n.mu.Lock()
		n.conn = conn
		n.mu.Unlock()
	}
	return conn, err
}

// Close cuts the connection. The client connects again.
func (n *network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conn.Close()
}

// cutFor keeps a client cut off until its ZooKeeper session has expired, and until it knows.
func (n *network) cutFor(sess *session.Session) {
	set := func(down bool) {
		n.mu.Lock()
		n.down = down
		n.mu.Unlock()
	}
	epoch := sess.Status().Epoch
	set(true)
	_ = n.Close()
	time.Sleep(sess.Status().Timeout + 2*time.Second)
	set(false)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for s := range sess.ObserveStatus(ctx) {
		if s.Epoch > epoch {
			return
		}
	}
}

func requireNoErrorf(t *testing.T, err error, msgAndArgs ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(append([]any{err}, msgAndArgs...)...)
	}
}
