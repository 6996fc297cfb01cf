package zkserver_test

// The costs of a server: memory, goroutines, time, with few znodes and with many; and the bound of
// what it keeps for clients.

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
)

var scaleZnodes = flag.Int("scale.znodes", 100_000, "znodes of the test of a large tree; make soak runs it with a million")

// Not parallel: it counts the goroutines and the memory of the process.
func TestAnIdleServerIsSmall(t *testing.T) {
	goroutines, memory := runtime.NumGoroutine(), heap()
	s := start(t, zkserver.Config{Journal: 1 << 16})
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	_, err := s.Front(0).Listen(context.Background(), "127.0.0.1:0")
	require.NoError(t, err)
	require.LessOrEqual(t, runtime.NumGoroutine()-goroutines, 2)
	require.Less(t, heap()-memory, int64(1<<20))
}

// Large requests push the oldest out before there are many of them: the journal's memory has a
// bound of its own.
func TestTheJournalIsBoundedByBytes(t *testing.T) {
	const kept, size = 1 << 20, 900_000
	inBubble(t, zkserver.Config{Journal: 50, JournalBytes: kept}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		data := make([]byte, size)
		for range 10 {
			c.must(set("/a", string(data)))
		}
		all := s.Journal()
		require.Len(t, all, 1)
		require.Len(t, all[0].Data, size)
		require.EqualValues(t, 12, all[0].K)
		for range 100 {
			c.must(set("/a", "small"))
		}
		total := 0
		for _, rq := range s.Journal() {
			total += len(rq.Data)
		}
		require.Len(t, s.Journal(), 50, "and small ones by their number")
		require.LessOrEqual(t, total, kept)
	})
	t.Run("one that alone is too large", func(t *testing.T) {
		inBubble(t, zkserver.Config{Journal: 10, JournalBytes: 100}, func(t *testing.T, s *zkserver.Server) {
			c := join(t, s)
			c.create("/a", 0)
			require.Len(t, s.Journal(), 1)
			require.Equal(t, "/a", s.Journal()[0].Created)
		})
	})
}

// Answers that were given before a connection ends are delivered to the last byte.
func TestAnswersBeforeTheEndAreDelivered(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{})
	address, err := s.Front(0).Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	const size, reads = 500_000, 20
	sent := append(hello(), request(jute.Request{Xid: 1, Op: jute.OpCreate, Path: "/a", Data: make([]byte, size), ACL: jute.OpenACL()})...)
	for range reads {
		sent = append(sent, request(jute.Request{Xid: 2, Op: jute.OpGetData, Path: "/a"})...)
	}
	sent = append(sent, request(jute.Request{Xid: 3, Op: jute.OpDelete, Path: "/a", Version: -1})...)
	sent = append(sent, request(jute.Request{Xid: 4, Op: jute.OpCloseSession})...)
	const welcome, head, stat = 41, 20, 68 // head: a frame's length and an answer's header
	want := welcome + (head + 4 + len("/a")) + reads*(head+4+size+stat) + head + head
	for name, conn := range map[string]func() net.Conn{
		"in memory": func() net.Conn { return dial(t, s) },
		"over TCP": func() net.Conn {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			return conn
		},
	} {
		for range 5 {
			c := conn()
			_, err := c.Write(sent)
			require.NoError(t, err)
			got, err := io.ReadAll(c)
			require.NoError(t, err, name)
			require.Len(t, got, want, name)
			c.Close()
		}
	}
}

// A client that doesn't take its last answers does not keep the connection for ever.
func TestAConnectionThatIsOverDoesNotLinger(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		conn := dial(t, s)
		sent := append(hello(), request(jute.Request{Xid: 1, Op: jute.OpCreate, Path: "/a", Data: make([]byte, 900_000), ACL: jute.OpenACL()})...)
		for range 5 {
			sent = append(sent, request(jute.Request{Xid: 2, Op: jute.OpGetData, Path: "/a"})...)
		}
		_, err := conn.Write(sent)
		require.NoError(t, err)
		synctest.Wait()
		s.Expire(s.Sessions()[0].ID)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Contains(t, ask(t, s, "srvr"), "Connections: 1\n", "that of the question itself")
	})
}

// A million znodes are made by a client, counted, read, and deleted again. Not parallel: it
// measures the memory of the process.
func TestAMillionZnodes(t *testing.T) {
	tier.Soak(t)
	before := heap()
	s := start(t, zkserver.Config{})
	c := join(t, s)
	const each = 1000
	path := func(i int) string { return fmt.Sprintf("/parent-%04d/child-%04d", i/each, i%each) }
	all := func(op func(i int) jute.Request) {
		for i := 0; i < *scaleZnodes; i += each {
			q := jute.Request{Op: jute.OpMulti}
			for j := range each {
				q.Ops = append(q.Ops, op(i+j))
			}
			p := c.do(q)
			require.Len(t, p.Results, each)
			require.Equal(t, jute.OK, p.Results[each-1].Err)
		}
	}
	for i := 0; i < *scaleZnodes; i += each {
		require.Equal(t, jute.OK, c.do(jute.Request{Op: jute.OpCreate, Path: fmt.Sprintf("/parent-%04d", i/each), ACL: jute.OpenACL()}).Err)
	}
	all(func(i int) jute.Request {
		return jute.Request{Op: jute.OpCreate, Path: path(i), Data: make([]byte, 100), ACL: jute.OpenACL()}
	})
	perZnode := float64(heap()-before) / float64(*scaleZnodes)
	t.Logf("%d znodes, %.0f bytes each", *scaleZnodes, perZnode)
	require.Less(t, perZnode, 1000.0)
	parents := *scaleZnodes / each
	require.EqualValues(t, *scaleZnodes+parents+3, c.do(jute.Request{Op: jute.OpCountChildren, Path: "/"}).Count)
	require.Len(t, c.do(jute.Request{Op: jute.OpGetChildren, Path: "/parent-0007"}).Names, each)
	require.Len(t, c.do(jute.Request{Op: jute.OpGetData, Path: path(*scaleZnodes - 1)}).Data, 100)
	require.Contains(t, ask(t, s, "srvr"), fmt.Sprintf("Node count: %d\n", *scaleZnodes+parents+5))
	all(func(i int) jute.Request { return jute.Request{Op: jute.OpDelete, Path: path(i), Version: -1} })
	require.EqualValues(t, parents+3, c.do(jute.Request{Op: jute.OpCountChildren, Path: "/"}).Count)
}
