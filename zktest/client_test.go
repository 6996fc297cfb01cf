// The tests of package zktest_test tell what faults do to a server and to the sessions on it, and
// hold the server against real ones: what it answers to each request is in opinion_test.go. This
// file has what the others share: a client that says exactly what it is told to, over memory or
// TCP.
package zktest_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestMain(m *testing.M) { tier.Main(m) }

// patience bounds what a server does at once, on however busy a machine. In memory, where time is
// virtual, it need not be long.
const patience = time.Minute

func patient(conn net.Conn) time.Time {
	if conn.LocalAddr().Network() == "tcp" {
		return time.Now().Add(patience)
	}
	return time.Now().Add(10 * time.Second)
}

// raw is a client in lock step.
type raw struct {
	conn     net.Conn
	in       *bufio.Reader
	xid      int32
	session  int64
	password []byte
	timeout  int32
	events   []jute.Event
	seen     int64 // the last zxid
}

// greet opens a connection; session 0 asks for a new session.
func greet(conn net.Conn, q jute.ConnectRequest) (*raw, error) {
	c := &raw{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
	conn.SetDeadline(patient(conn))
	w := jute.NewWriter(nil)
	w.Begin()
	q.Encode(w)
	w.End()
	if _, err := conn.Write(w.Bytes()); err != nil {
		return nil, err
	}
	frame, err := c.frame()
	if err != nil {
		return nil, err
	}
	var p jute.ConnectResponse
	if err := p.Decode(jute.NewReader(frame)); err != nil {
		return nil, err
	}
	c.session, c.password, c.timeout = p.SessionID, p.Password, p.Timeout
	return c, nil
}

func (c *raw) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.in, frame)
	return frame, err
}

func (c *raw) send(q jute.Request) error {
	w := jute.NewWriter(nil)
	w.Begin()
	q.Encode(w)
	w.End()
	_, err := c.conn.Write(w.Bytes())
	return err
}

// do sends a request and waits for its reply; the events before it are kept.
func (c *raw) do(q jute.Request) (jute.Reply, error) {
	qs := []jute.Request{q}
	if err := c.post(qs); err != nil {
		return jute.Reply{}, err
	}
	all, err := c.collect(qs)
	var reply jute.Reply
	for _, a := range all {
		if a.isEvent {
			c.events = append(c.events, a.event)
			continue
		}
		reply = a.reply
	}
	return reply, err
}

// post sends requests, all at once, and gives them their xids.
func (c *raw) post(qs []jute.Request) error {
	w := jute.NewWriter(nil)
	for i := range qs {
		if qs[i].Xid == 0 {
			c.xid++
			qs[i].Xid = c.xid
		}
		w.Begin()
		qs[i].Encode(w)
		w.End()
	}
	c.conn.SetDeadline(patient(c.conn))
	_, err := c.conn.Write(w.Bytes())
	return err
}

// arrival is what a server says: a reply, or an event.
type arrival struct {
	isEvent bool
	event   jute.Event
	reply   jute.Reply
}

// collect receives the replies to what was posted, and the events between them.
func (c *raw) collect(qs []jute.Request) (all []arrival, err error) {
	for len(qs) > 0 {
		frame, err := c.frame()
		if err != nil {
			return all, err
		}
		var a arrival
		r := jute.NewReader(frame)
		if err := a.reply.DecodeHeader(r); err != nil {
			return all, err
		}
		if a.isEvent = a.reply.Xid == jute.XidEvent; a.isEvent {
			a.reply = jute.Reply{Zxid: a.reply.Zxid}
			a.event.Decode(r)
			all = append(all, a)
			continue
		}
		q := qs[0]
		qs = qs[1:]
		if a.reply.Xid != q.Xid {
			return all, fmt.Errorf("xid %d instead of %d", a.reply.Xid, q.Xid)
		}
		c.seen = max(c.seen, a.reply.Zxid)
		if err := a.reply.DecodeBody(r, q.Op); err != nil {
			return all, err
		}
		if r.Len() != 0 {
			return all, fmt.Errorf("%d bytes too many in the reply to %v", r.Len(), q.Op)
		}
		all = append(all, a)
	}
	return all, nil
}

// drain has everything delivered that was sent before, and returns the events.
func (c *raw) drain() ([]jute.Event, error) {
	_, err := c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	events := c.events
	c.events = nil
	return events, err
}

// bubble runs a test in virtual time with a server, beside others.
func bubble(t *testing.T, test func(t *testing.T, s *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubbleHere(t, test, opts...)
}

func bubbleHere(t *testing.T, test func(t *testing.T, s *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t, opts...)
		test(t, s)
	})
}

// each runs a test for each row of a table, in virtual time with a server.
func each[R any](t *testing.T, rows map[string]R, test func(t *testing.T, s *zktest.Server, row R), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T, s *zktest.Server) { test(t, s, row) }, opts...) })
	}
}

// client opens a session over memory with a server, the i-th if there are several.
func client(t *testing.T, s *zktest.Server, timeout time.Duration, front ...int) *raw {
	t.Helper()
	i := 0
	if len(front) > 0 {
		i = front[0]
	}
	c, err := resume(s, newcomer(timeout), i)
	require.NoError(t, err)
	require.NotZero(t, c.session)
	return c
}

// dialTCP connects to an address.
func dialTCP(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ask says a four-letter word to a server.
func ask(t *testing.T, conn net.Conn, word string) string {
	t.Helper()
	defer conn.Close()
	_, err := io.WriteString(conn, word)
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(got)
}

// ending names how something went: what counts is whether it did.
func ending(err error) string {
	switch {
	case err == nil:
		return "fine"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "silence"
	}
	return "closed"
}

// alive reports whether a session has not ended, and when it will.
func alive(s *zktest.Server, c *raw) (time.Time, bool) {
	info, ok := s.Session(c.session)
	return info.Expires, ok
}

// resume goes on with a client's session over a new connection.
func resume(s *zktest.Server, old *raw, front int) (*raw, error) {
	return resumeFrom(s.Dialer(), s.Hosts()[front], old)
}

func resumeFrom(dial func(ctx context.Context, network, address string) (net.Conn, error), address string, old *raw) (*raw, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c, err := greet(conn, jute.ConnectRequest{SessionID: old.session, Password: old.password, Timeout: old.timeout, LastZxidSeen: old.seen})
	if err != nil {
		conn.Close()
		return nil, err
	}
	c.xid = old.xid
	return c, nil
}

// newcomer asks for a session.
func newcomer(timeout time.Duration) *raw {
	return &raw{password: make([]byte, 16), timeout: int32(timeout.Milliseconds())}
}

func create(path string, flags int32) jute.Request {
	return jute.Request{Op: jute.OpCreate, Path: path, Data: []byte("data"), ACL: jute.OpenACL(), Flags: flags}
}

// must sends a request that has to succeed.
func (c *raw) must(t *testing.T, q jute.Request) jute.Reply {
	t.Helper()
	p, err := c.do(q)
	require.NoError(t, err)
	require.Equal(t, jute.OK, p.Err, "%v %s", q.Op, q.Path)
	return p
}

func (c *raw) ping(t *testing.T) {
	t.Helper()
	_, err := c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	require.NoError(t, err)
}

func (c *raw) exists(t *testing.T, path string) bool {
	t.Helper()
	p, err := c.do(jute.Request{Op: jute.OpExists, Path: path})
	require.NoError(t, err)
	return p.Err == jute.OK
}

// silent asserts that nothing comes for a while of virtual time.
func (c *raw) silent(t *testing.T, d time.Duration) {
	t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(d))
	var b [1]byte
	n, err := c.in.Read(b[:])
	require.Zero(t, n)
	require.ErrorContains(t, err, "timeout")
}

// quiet is a logger that says nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// asVersionOf has our server answer as the version that the real servers say they are.
func asVersionOf(t *testing.T, real *ensemble.Ensemble) zktest.Option {
	t.Helper()
	version, err := real.Version()
	require.NoError(t, err)
	t.Logf("real servers of version %s, ours as %s", version, nearest(t, version))
	return zktest.WithVersion(nearest(t, version))
}

// nearest is the newest version that our server knows and that is not newer.
func nearest(t *testing.T, version string) string {
	t.Helper()
	known := zktest.Versions()
	nearest := known[0]
	for _, v := range known {
		if slices.Compare(numbers(t, v), numbers(t, version)) <= 0 {
			nearest = v
		}
	}
	return nearest
}

// numbers takes a version apart.
func numbers(t *testing.T, version string) (all []int) {
	t.Helper()
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		require.NoError(t, err, version)
		all = append(all, n)
	}
	return all
}
