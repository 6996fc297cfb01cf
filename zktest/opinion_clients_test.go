package zktest_test

// The two clients of opinion_test.go: our own frames, and go-zookeeper.

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// guid protects a name; go-zookeeper draws another.
const guid = "_c_0123456789abcdef0123456789abcdef-"

// asker is one of the two implementations of the protocol, with a session.
type asker interface {
	// ask sends a request, unless the client refuses to, and says what it can't say about it: the
	// column of a row.
	ask(q jute.Request) (p jute.Reply, asked bool, cannot string)
	// events are those since it was asked last, so many at least.
	events(n int) []jute.Event
	leave()
	comeBack(watches jute.Request) (same bool)
	session() (id int64, password []byte)
}

// plain asks in our own frames.
type plain struct {
	*raw
	t     *testing.T
	dial  func() (net.Conn, error)
	creds []jute.Request
}

func newPlain(t *testing.T, dial func() (net.Conn, error)) *plain {
	t.Helper()
	c := &plain{t: t, dial: dial}
	c.greet(&raw{password: make([]byte, 16)})
	return c
}

func (c *plain) greet(old *raw) {
	c.t.Helper()
	conn, err := c.dial()
	require.NoError(c.t, err)
	c.t.Cleanup(func() { conn.Close() })
	next, err := greet(conn, jute.ConnectRequest{Timeout: int32(unused.Milliseconds()), SessionID: old.session, Password: old.password, LastZxidSeen: old.seen})
	require.NoError(c.t, err)
	next.xid, next.seen, c.raw = old.xid, old.seen, next
}

func (c *plain) ask(q jute.Request) (jute.Reply, bool, string) {
	if q.Op == jute.OpSetAuth {
		q.Xid = jute.XidAuth
	}
	p, err := c.do(q)
	require.NoError(c.t, err, "%v %s", q.Op, q.Path)
	if q.Op == jute.OpSetAuth && p.Err == jute.OK {
		c.creds = append(c.creds, q)
	}
	return p, true, ""
}

func (c *plain) events(int) []jute.Event {
	all, err := c.drain()
	require.NoError(c.t, err)
	return all
}

func (c *plain) leave() { c.conn.Close() }

func (c *plain) comeBack(watches jute.Request) bool {
	_, err := c.frame()
	require.Error(c.t, err, "the connection is over")
	c.greet(c.raw)
	if c.raw.session == 0 {
		c.greet(c.raw)
		return false
	}
	for _, q := range c.creds {
		c.must(c.t, q)
	}
	watches.Op, watches.Xid, watches.Zxid = jute.OpSetWatches, jute.XidSetWatches, c.seen
	if watches.PersistW != nil {
		watches.Op = jute.OpSetWatches2
	}
	c.must(c.t, watches)
	return true
}

func (c *plain) session() (int64, []byte) { return c.raw.session, c.password }

// library asks through go-zookeeper.
type library struct {
	t       *testing.T
	conn    *zk.Conn
	closed  <-chan zk.Event
	door    chan struct{} // what a dial takes and puts back, and leave keeps
	shut    bool          // leave has it
	watches []<-chan zk.Event
	hello   jute.ConnectResponse

	mu    sync.Mutex
	wire  *tap
	heard []zk.Event
	more  chan struct{} // there is more in heard
}

// tap keeps the answer to the handshake, since go-zookeeper shows no password.
type tap struct {
	net.Conn
	hello []byte
}

func (c *tap) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if len(c.hello) < 40 { // it has one byte more in the form of newer clients
		c.hello = append(c.hello, b[:n]...)
	}
	return n, err
}

func newLibrary(t *testing.T, dial func() (net.Conn, error)) *library {
	t.Helper()
	c := &library{t: t, door: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	c.door <- struct{}{}
	anywhere := []string{"127.0.0.1:1", "127.0.0.1:2"} // two, since it pauses for a second when it has tried all
	var err error
	c.conn, c.closed, err = zk.Connect(anywhere, unused, zk.WithLogger(quiet{}), zk.WithEventCallback(c.hear), zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
		<-c.door
		defer func() { c.door <- struct{}{} }()
		conn, err := dial()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wire = &tap{Conn: conn}
		return c.wire, err
	}))
	require.NoError(t, err)
	t.Cleanup(c.close)
	c.greeted()
	return c
}

func (c *library) hear(e zk.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, e)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func ofWatch(e zk.Event) bool { return e.Type != zk.EventSession }

// await takes all events, when there are so many of a kind.
func (c *library) await(n int, kind func(zk.Event) bool) []zk.Event {
	c.t.Helper()
	for deadline := time.After(patience); ; {
		c.mu.Lock()
		all := c.heard
		found := 0
		for _, e := range all {
			if kind(e) {
				found++
			}
		}
		if found >= n {
			c.heard = nil
			c.mu.Unlock()
			return all
		}
		c.mu.Unlock()
		select {
		case <-c.more:
		case <-deadline:
			require.FailNow(c.t, "go-zookeeper is not told", "%d wanted: %+v", n, all)
		}
	}
}

// events also sees to it that all came through the channels of watches, and nothing else did.
func (c *library) events(n int) (told []jute.Event) {
	c.t.Helper()
	all := c.await(n, ofWatch)
	_, _, err := c.conn.Exists("/") // everything that the server said before is heard now
	require.NoError(c.t, err)
	all = slices.DeleteFunc(append(all, c.await(0, ofWatch)...), func(e zk.Event) bool { return !ofWatch(e) })
	var fired []zk.Event
	c.watches = slices.DeleteFunc(c.watches, func(watch <-chan zk.Event) bool {
		select {
		case e := <-watch:
			fired = append(fired, e)
			return true
		default:
			return false
		}
	})
	for _, e := range all {
		require.Contains(c.t, fired, e)
		told = append(told, jute.Event{Type: jute.EventType(e.Type), State: int32(e.State), Path: e.Path})
	}
	require.Subset(c.t, all, fired)
	return told
}

func (c *library) leave() {
	<-c.door
	c.shut = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire.Close()
}

func (c *library) open() {
	if c.shut { // otherwise a dial may have it, and could not put it back
		c.shut = false
		c.door <- struct{}{}
	}
}

func (c *library) close() {
	c.open()
	c.conn.Close()
	for range c.closed { // until its goroutines have ended
	}
}

func (c *library) comeBack(watches jute.Request) bool {
	c.open()
	var unset []string
	all := c.greeted()
	for _, e := range all {
		switch {
		case e.Type > 0: // what it missed: for events to tell
			c.hear(e)
		case e.Type == zk.EventNotWatching:
			require.Equal(c.t, zk.ErrSessionExpired, e.Err)
			unset = append(unset, e.Path)
		}
	}
	if unset == nil {
		return true
	}
	require.ElementsMatch(c.t, slices.Concat(watches.DataW, watches.ExistW, watches.ChildW), unset)
	require.True(c.t, slices.ContainsFunc(all, func(e zk.Event) bool { return e.State == zk.StateExpired }))
	for _, watch := range c.watches {
		require.Equal(c.t, zk.EventNotWatching, (<-watch).Type)
	}
	c.watches = nil
	return false
}

// greeted waits for a session, and returns what came until then.
func (c *library) greeted() []zk.Event {
	c.t.Helper()
	all := c.await(1, func(e zk.Event) bool { return e.State == zk.StateHasSession })
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(c.t, c.hello.Decode(jute.NewReader(c.wire.hello[4:])))
	require.Equal(c.t, c.conn.SessionID(), c.hello.SessionID)
	return all
}

func (c *library) session() (int64, []byte) { return c.hello.SessionID, c.hello.Password }

// codes are the answers for which go-zookeeper has an error value. Others it puts into words.
var codes = map[error]jute.Code{
	nil: jute.OK, zk.ErrAPIError: jute.APIError, zk.ErrNoNode: jute.NoNode, zk.ErrNoAuth: jute.NoAuth, zk.ErrBadVersion: jute.BadVersion,
	zk.ErrNoChildrenForEphemerals: jute.NoChildrenForEphemerals, zk.ErrNodeExists: jute.NodeExists, zk.ErrNotEmpty: jute.NotEmpty,
	zk.ErrInvalidACL: jute.InvalidACL, zk.ErrAuthFailed: jute.AuthFailed, zk.ErrReconfigDisabled: jute.ReconfigDisabled, zk.ErrBadArguments: jute.BadArguments,
}

func (c *library) ask(q jute.Request) (p jute.Reply, asked bool, cannot string) {
	c.t.Helper()
	stat, err := c.call(q, &p)
	var known bool
	if p.Err, known = codes[err]; !known {
		cannot = err.Error()
		_, unknown := fmt.Sscanf(cannot, "unknown error: %d", &p.Err)
		return p, unknown == nil, cannot
	}
	if stat != nil && err == nil {
		p.Stat = jute.Stat(*stat)
	}
	if p.Err == jute.OK && (q.Op == jute.OpCreateContainer || q.Op == jute.OpCreateTTL) {
		cannot = "hides the stat"
	}
	return p, true, cannot
}

// call is the method that sends such a request.
func (c *library) call(q jute.Request, p *jute.Reply) (stat *zk.Stat, err error) {
	var acl []zk.ACL
	for _, a := range q.ACL {
		acl = append(acl, zk.ACL(a))
	}
	switch q.Op {
	case jute.OpCreate:
		if before, after, protected := strings.Cut(q.Path, guid); protected {
			p.Path, err = c.conn.CreateProtectedEphemeralSequential(before+after, q.Data, acl)
		} else {
			p.Path, err = c.conn.Create(q.Path, q.Data, q.Flags, acl)
		}
	case jute.OpCreateContainer:
		p.Path, err = c.conn.CreateContainer(q.Path, q.Data, q.Flags, acl)
	case jute.OpCreateTTL:
		p.Path, err = c.conn.CreateTTL(q.Path, q.Data, q.Flags, acl, time.Duration(q.TTL)*time.Millisecond)
	case jute.OpDelete:
		err = c.conn.Delete(q.Path, q.Version)
	case jute.OpSetData:
		stat, err = c.conn.Set(q.Path, q.Data, q.Version)
	case jute.OpSetACL:
		stat, err = c.conn.SetACL(q.Path, acl, q.Version)
	case jute.OpGetACL:
		var all []zk.ACL
		all, stat, err = c.conn.GetACL(q.Path)
		for _, a := range all {
			p.ACL = append(p.ACL, jute.ACL(a))
		}
	case jute.OpSync:
		p.Path, err = c.conn.Sync(q.Path)
	case jute.OpMulti:
		err = c.multi(q.Ops, p)
	case jute.OpSetAuth:
		err = c.conn.AddAuth(q.Scheme, q.Data)
	case jute.OpReconfig:
		stat, err = c.conn.IncrementalReconfig(q.Names[:1], q.Names[1:2], q.Zxid)
	case jute.OpCloseSession:
		c.close()
	default:
		return c.read(q, p)
	}
	return stat, err
}

func (c *library) read(q jute.Request, p *jute.Reply) (stat *zk.Stat, err error) {
	var watch <-chan zk.Event
	found := true
	switch {
	case q.Op == jute.OpExists && q.Watch:
		found, stat, watch, err = c.conn.ExistsW(q.Path)
	case q.Op == jute.OpExists:
		found, stat, err = c.conn.Exists(q.Path)
	case q.Op == jute.OpGetData && q.Watch:
		p.Data, stat, watch, err = c.conn.GetW(q.Path)
	case q.Op == jute.OpGetData:
		p.Data, stat, err = c.conn.Get(q.Path)
	case q.Op == jute.OpGetChildren2 && q.Watch:
		p.Names, stat, watch, err = c.conn.ChildrenW(q.Path)
	case q.Op == jute.OpGetChildren2:
		p.Names, stat, err = c.conn.Children(q.Path)
	default:
		require.FailNow(c.t, "go-zookeeper has no method for it", "%v", q.Op)
	}
	if watch != nil {
		c.watches = append(c.watches, watch)
	}
	if err == nil && !found {
		err = zk.ErrNoNode
	}
	return stat, err
}

// multi reports what failed where it failed, as the servers do.
func (c *library) multi(ops []jute.Request, p *jute.Reply) error {
	var all []any
	for _, q := range ops {
		switch q.Op {
		case jute.OpCreate:
			r := &zk.CreateRequest{Path: q.Path, Data: q.Data, Flags: q.Flags}
			for _, a := range q.ACL {
				r.Acl = append(r.Acl, zk.ACL(a))
			}
			all = append(all, r)
		case jute.OpSetData:
			all = append(all, &zk.SetDataRequest{Path: q.Path, Data: q.Data, Version: q.Version})
		case jute.OpDelete:
			all = append(all, &zk.DeleteRequest{Path: q.Path, Version: q.Version})
		default:
			all = append(all, &zk.CheckVersionRequest{Path: q.Path, Version: q.Version})
		}
	}
	results, err := c.conn.Multi(all...)
	for i, r := range results {
		part := jute.Result{Op: ops[i].Op, Path: r.String}
		if r.Stat != nil {
			part.Stat = jute.Stat(*r.Stat)
		}
		if r.Error != nil {
			_, _ = fmt.Sscanf(r.Error.Error(), "unknown error: %d", &part.Err)
			part.Err += codes[r.Error]
		}
		p.Results = append(p.Results, part)
	}
	if len(results) > 0 {
		err = nil
	}
	return err
}
