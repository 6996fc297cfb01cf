// The tests of package zkserver_test tell what the embedded server does on its own account: limits,
// versions, words, files. Its answers to each request, and the effects of faults, are tested by
// package zktest. This file has the shared helpers: a server in virtual time, and a client that
// sends exactly what it is told to.
package zkserver_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func TestMain(m *testing.M) { tier.Main(m) }

// inBubble runs a test with a server in virtual time.
func inBubble(t *testing.T, cfg zkserver.Config, test func(t *testing.T, s *zkserver.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, start(t, cfg)) })
}

// everyVersion runs a test as each version, in virtual time.
func everyVersion(t *testing.T, test func(t *testing.T, version string, s *zkserver.Server)) {
	t.Helper()
	t.Parallel()
	for _, version := range zkserver.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, zkserver.Config{Version: version, Super: zkserver.Digest("super:root")}, func(t *testing.T, s *zkserver.Server) { test(t, version, s) })
		})
	}
}

func start(t *testing.T, cfg zkserver.Config) *zkserver.Server {
	t.Helper()
	s, err := zkserver.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// dial connects to a front: the first, if no other is named.
func dial(t *testing.T, s *zkserver.Server, front ...int) net.Conn {
	t.Helper()
	i := 0
	if len(front) > 0 {
		i = front[0]
	}
	conn, err := s.Dial(context.Background(), "tcp", s.Front(i).Name())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ask says a four-letter word to a front.
func ask(t *testing.T, s *zkserver.Server, word string, front ...int) string {
	t.Helper()
	return said(t, dial(t, s, front...), word)
}

func said(t *testing.T, conn net.Conn, word string) string {
	t.Helper()
	defer conn.Close()
	_, err := io.WriteString(conn, word)
	require.NoError(t, err)
	conn.SetReadDeadline(time.Now().Add(time.Second))
	got, err := io.ReadAll(conn)
	require.NoError(t, err, "it hangs up after the answer")
	return string(got)
}

// written are the lines of a tree without blanks.
func written(t *testing.T, s *zkserver.Server) []string {
	t.Helper()
	text, err := s.Tree()
	require.NoError(t, err)
	return strings.Fields(text)
}

// heap is the memory that the process uses.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func frame(encode func(*jute.Writer)) []byte {
	var w jute.Writer
	w.Begin()
	encode(&w)
	w.End()
	return w.Bytes()
}

func hello() []byte {
	return frame((&jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)}).Encode)
}

func request(q jute.Request) []byte { return frame(q.Encode) }

// client makes one request after the other.
type client struct {
	t        *testing.T
	conn     net.Conn
	xid      int32
	id       int64
	password []byte
	events   []string // as "NodeCreated /a"
	zxids    []int64  // of all events so far
}

// join opens a session.
func join(t *testing.T, s *zkserver.Server) *client {
	t.Helper()
	c, p := shake(t, s, &jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)})
	require.NotZero(t, p.SessionID)
	return c
}

// shake makes a handshake.
func shake(t *testing.T, s *zkserver.Server, q *jute.ConnectRequest) (*client, jute.ConnectResponse) {
	t.Helper()
	c := &client{t: t, conn: dial(t, s)}
	_, err := c.conn.Write(frame(q.Encode))
	require.NoError(t, err)
	var p jute.ConnectResponse
	require.NoError(t, p.Decode(jute.NewReader(c.frame())))
	c.id, c.password = p.SessionID, p.Password
	return c, p
}

func (c *client) frame() []byte {
	c.t.Helper()
	var head [4]byte
	c.conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := io.ReadFull(c.conn, head[:])
	require.NoError(c.t, err)
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err = io.ReadFull(c.conn, frame)
	require.NoError(c.t, err)
	return frame
}

// do sends a request and waits for its answer; the events before it are kept.
func (c *client) do(q jute.Request) (p jute.Reply) {
	c.t.Helper()
	if q.Xid == 0 {
		c.xid++
		q.Xid = c.xid
	}
	_, err := c.conn.Write(request(q))
	require.NoError(c.t, err)
	for {
		r := jute.NewReader(c.frame())
		require.NoError(c.t, p.DecodeHeader(r))
		if p.Xid == jute.XidEvent {
			var e jute.Event
			e.Decode(r)
			c.zxids = append(c.zxids, p.Zxid)
			c.events = append(c.events, e.Type.String()+" "+e.Path)
			continue
		}
		require.Equal(c.t, q.Xid, p.Xid)
		require.NoError(c.t, p.DecodeBody(r, q.Op))
		require.Zero(c.t, r.Len())
		return p
	}
}

// must is do for what has to succeed.
func (c *client) must(q jute.Request) jute.Reply {
	c.t.Helper()
	p := c.do(q)
	require.Equal(c.t, jute.OK, p.Err, "%v %s", q.Op, q.Path)
	return p
}

func (c *client) create(path string, flags int32) jute.Reply { return c.must(create(path, flags)) }

func (c *client) auth(scheme, credentials string) jute.Code {
	c.t.Helper()
	return c.do(jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: scheme, Data: []byte(credentials)}).Err
}

// told is what the client was told of since it was asked last.
func (c *client) told() []string {
	c.t.Helper()
	c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	all := c.events
	c.events = nil
	return all
}

// over asserts that the server has hung up.
func (c *client) over() {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(time.Second))
	_, err := c.conn.Read(make([]byte, 1))
	require.ErrorIs(c.t, err, io.EOF)
}

func create(path string, flags int32) jute.Request {
	return jute.Request{Op: jute.OpCreate, Path: path, Data: []byte("data"), ACL: jute.OpenACL(), Flags: flags}
}

// as is a create by another operation, with a TTL where that has one.
func as(op jute.Op, q jute.Request) jute.Request {
	q.Op = op
	if op == jute.OpCreateTTL {
		q.Flags, q.TTL = jute.FlagPersistentTTL, 1000
	}
	return q
}

// guarded is a create of a znode that gives these permissions to every client.
func guarded(path string, perms int32) jute.Request {
	q := create(path, 0)
	q.ACL = []jute.ACL{{Perms: perms, Scheme: "world", ID: "anyone"}}
	return q
}

func set(path, data string) jute.Request {
	return jute.Request{Op: jute.OpSetData, Path: path, Data: []byte(data), Version: -1}
}

func remove(path string) jute.Request {
	return jute.Request{Op: jute.OpDelete, Path: path, Version: -1}
}

func multi(ops ...jute.Request) jute.Request { return jute.Request{Op: jute.OpMulti, Ops: ops} }

// addWatch's modes.
const (
	persistent = 0
	recursive  = 1
)

func watch(path string, mode int32) jute.Request {
	return jute.Request{Op: jute.OpAddWatch, Path: path, Flags: mode}
}

// readAndWatch leaves a watch that fires once.
func readAndWatch(op jute.Op, path string) jute.Request {
	return jute.Request{Op: op, Path: path, Watch: true}
}

// The kinds that checkWatches and removeWatches name.
const (
	ofChildren = 1 + iota
	ofData
	ofAny
	ofPersistent
	ofRecursive
)

func check(path string, kind int32) jute.Request {
	return jute.Request{Op: jute.OpCheckWatches, Path: path, Kind: kind}
}

func unwatch(path string, kind int32) jute.Request {
	return jute.Request{Op: jute.OpRemoveWatches, Path: path, Kind: kind}
}

// missed is what a client sends that has come back: the watches that it had, and what it has seen.
func missed(seen int64, data, exist, child []string) jute.Request {
	return jute.Request{Op: jute.OpSetWatches, Xid: jute.XidSetWatches, Zxid: seen, DataW: data, ExistW: exist, ChildW: child}
}
