package zkserver_test

// Bytes that are no requests, and clients that mean no good: they cost a connection, and no memory.

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// answers is everything that the server says to some bytes before it hangs up or falls silent.
func answers(t *testing.T, s *zkserver.Server, sent []byte) (got []byte, closed bool) {
	t.Helper()
	conn := dial(t, s)
	_, _ = conn.Write(sent) // it fails where the server hangs up before it has read all
	conn.SetReadDeadline(time.Now().Add(time.Second))
	got, err := io.ReadAll(conn)
	conn.Close()
	return got, err == nil
}

func TestHostileBytesAreRefusedOrEndTheConnection(t *testing.T) {
	t.Parallel()
	welcome := 4 + 4 + 4 + 8 + 4 + 16 + 1 // length; protocol, timeout, session, password, read-only
	exists := request(jute.Request{Xid: 1, Op: jute.OpExists, Path: "/"})
	refused := 4 + 16                // length; a header: xid, zxid, error
	sized := func(size int) []byte { // a create whose frame is so long
		q := jute.Request{Xid: 1, Op: jute.OpCreate, Path: "/a", ACL: jute.OpenACL(), Data: []byte{}}
		q.Data = make([]byte, size+4-len(request(q)))
		return append(hello(), request(q)...)
	}
	for _, c := range []struct {
		name   string
		sent   []byte
		size   int // of the answer
		closed bool
	}{
		{"nothing", nil, 0, false},
		{"three bytes", []byte{0, 0, 0}, 0, false},
		{"text", []byte("GET / HTTP/1.1\r\n\r\n"), 0, true},
		{"a negative length", []byte{0xff, 0xff, 0xff, 0xff}, 0, true},
		{"a length over the limit", []byte{0, 0x10, 0, 0}, 0, true},
		{"an empty handshake", []byte{0, 0, 0, 0}, 0, true},
		{"a handshake that ends too early", []byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}, 0, true},
		{"a password of absurd length", append(frame(func(w *jute.Writer) {
			w.Int(0)
			w.Long(0)
			w.Int(0)
			w.Long(0)
			w.Int(1 << 30)
		}), 1, 2, 3), 0, true},
		{"a handshake", hello(), welcome, false},
		{"half a frame", append(hello(), exists[:6]...), welcome, false},
		{"an empty frame", append(hello(), 0, 0, 0, 0), welcome, true},
		{"half a header", append(hello(), 0, 0, 0, 4, 0, 0, 0, 1), welcome, true},
		{"a frame at the limit", sized(jute.DefaultMaxPacket), welcome + refused + 4 + len("/a"), false},
		{"a frame of one byte more", sized(jute.DefaultMaxPacket + 1), welcome, true},
		{"a frame far over the limit", append(hello(), 0x7f, 0xff, 0xff, 0xff), welcome, true},
		{"an unknown operation", append(hello(), request(jute.Request{Xid: 1, Op: 99})...), welcome + refused, true},
		{"a header alone", append(hello(), frame(func(w *jute.Writer) { w.Int(1); w.Int(int32(jute.OpCreate)) })...), welcome + refused, false},
		{"an endless vector", append(hello(), frame(func(w *jute.Writer) {
			w.Int(1)
			w.Int(int32(jute.OpSetWatches))
			w.Long(0)
			w.Int(1<<31 - 1)
		})...), welcome + refused, false},
		{"an unknown scheme", append(hello(), request(jute.Request{Xid: 1, Op: jute.OpSetAuth, Scheme: "x"})...), welcome + refused, true},
		{"a second handshake", append(hello(), hello()...), welcome + refused, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
				got, closed := answers(t, s, c.sent)
				require.Len(t, got, c.size)
				require.Equal(t, c.closed, closed)
			})
		})
	}
}

// A claim of a length costs nothing until the bytes arrive.
func TestAClaimOfALengthCostsNoMemory(t *testing.T) {
	s := start(t, zkserver.Config{})
	before := heap()
	for range 300 {
		conn := dial(t, s)
		claim := binary.BigEndian.AppendUint32(hello(), jute.DefaultMaxPacket)
		_, err := conn.Write(append(claim, 0))
		require.NoError(t, err)
	}
	for range 100 { // let the server read
		runtime.Gosched()
	}
	require.Less(t, heap()-before, int64(300*150_000), "of 300 MB that were claimed")
}

// A client that asks and never reads is not read from, or dropped, before its answers fill the
// memory. Not parallel, like the test above: it measures the process.
func TestAClientThatNeverReadsFillsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{Backlog: 1 << 20})
		reader, silent := dial(t, s), dial(t, s)
		data := make([]byte, 100_000)
		_, err := reader.Write(append(hello(), request(jute.Request{Xid: 1, Op: jute.OpCreate, Path: "/a", Data: data, ACL: jute.OpenACL()})...))
		require.NoError(t, err)
		synctest.Wait()
		_, err = silent.Write(hello())
		require.NoError(t, err)
		read := request(jute.Request{Xid: 1, Op: jute.OpGetData, Path: "/a"})
		silent.SetWriteDeadline(time.Now().Add(time.Second))
		for range 1000 { // a hundred megabytes of answers
			if _, err = silent.Write(bytes.Repeat(read, 100)); err != nil {
				break
			}
		}
		synctest.Wait()
		// Either its requests are not read any more, as its answers are not, or it was dropped.
		require.Less(t, heap(), int64(64<<20))
	})
}

// A client that asks for more than it has read yet is slowed down, however much it asks for at
// once: it is not cut off, and its answers fill no memory. Not parallel, as above.
func TestAClientThatPipelinesReadsGetsAllAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		writer := join(t, s)
		large := create("/a", 0)
		large.Data = make([]byte, 100_000)
		writer.must(large)
		c := join(t, s)
		const reads = 2000
		sent := make(chan error, 1)
		go func() { // ends when all is sent, which takes as long as the answers are read
			_, err := c.conn.Write(bytes.Repeat(request(jute.Request{Xid: 1, Op: jute.OpGetData, Path: "/a"}), reads))
			sent <- err
		}()
		before := heap()
		synctest.Wait()
		require.Less(t, heap()-before, int64(8<<20))
		writer.must(create("/b", 0))
		for range reads {
			require.Greater(t, len(c.frame()), 100_000)
		}
		require.NoError(t, <-sent)
		c.must(create("/c", 0))
	})
}

// A partition that holds answers back holds the requests back, too; the end of the session ends
// both.
func TestAPipelineWaitsOutAPartition(t *testing.T) {
	t.Parallel()
	for name, heals := range map[string]bool{"that heals": true, "for longer than the session lives": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
				writer, c := join(t, s), join(t, s)
				large := create("/a", 0)
				large.Data = make([]byte, 100_000)
				writer.must(large)
				heal := s.Partition(c.id, zkserver.FromServer)
				_, err := c.conn.Write(bytes.Repeat(request(jute.Request{Xid: 1, Op: jute.OpGetData, Path: "/a"}), 1000))
				require.NoError(t, err)
				synctest.Wait()
				if heals {
					heal()
					for range 1000 {
						c.frame()
					}
					return
				}
				time.Sleep(time.Minute)
				require.Empty(t, s.Sessions())
			})
		})
	}
}

// A multiRead that asks for more than sixteen times the largest packet is hung up on. Not
// parallel, since others would take memory meanwhile.
func TestAMultiReadHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		c := join(t, s)
		large := create("/a", 0)
		large.Data = make([]byte, 900_000)
		c.must(large)
		reads := func(n int) jute.Request {
			q := jute.Request{Op: jute.OpMultiRead}
			for range n {
				q.Ops = append(q.Ops, readAndWatch(jute.OpGetData, "/a"))
			}
			return q
		}
		require.Len(t, c.must(reads(18)).Results, 18)
		before := heap()
		_, err := c.conn.Write(request(reads(2000)))
		require.NoError(t, err)
		c.over()
		synctest.Wait() // what it has made of the request goes after the connection
		require.Less(t, heap()-before, int64(32<<20))
	})
}

func FuzzServer(f *testing.F) {
	f.Add(hello())
	for _, q := range []jute.Request{
		{Xid: 1, Op: jute.OpCreate, Path: "/a", ACL: jute.OpenACL(), Flags: 3},
		{Xid: 2, Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpDelete, Path: "/a"}, {Op: jute.OpCreate, Path: "/b", ACL: jute.OpenACL()}}},
		{Xid: 3, Op: jute.OpSetWatches, DataW: []string{"/a"}, ExistW: []string{"/b"}, ChildW: []string{"/"}},
		{Xid: 4, Op: jute.OpGetChildren2, Path: "/", Watch: true},
		{Xid: 5, Op: jute.OpSetACL, Path: "/", ACL: []jute.ACL{{Perms: 31, Scheme: "auth"}}},
		{Xid: 6, Op: jute.OpCloseSession},
	} {
		f.Add(append(hello(), request(q)...))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, zkserver.Config{Journal: 10})
			watcher, hostile, other := join(t, s), dial(t, s), join(t, s)
			watcher.must(watch("/", recursive))
			hostile.Write(sent)
			synctest.Wait() // all of it is served
			require.Contains(t, []jute.Code{jute.OK, jute.NodeExists, jute.NoAuth}, other.do(create("/other", 0)).Err, "others are served")
			require.NotPanics(t, func() { _ = s.Dump() })
			require.NotEmpty(t, ask(t, s, "mntr"))
			_, err := s.Tree()
			require.NoError(t, err)
			hostile.Close()
		})
	})
}
