package zkserver_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
)

var scaleZnodes = flag.Int("scale.znodes", 100_000, "znodes of the test of a large tree; make soak runs it with a million")

// answer reads one reply.
func answer(t *testing.T, conn net.Conn, op jute.Op) (p jute.Reply) {
	t.Helper()
	var head [4]byte
	_, err := io.ReadFull(conn, head[:])
	require.NoError(t, err)
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err = io.ReadFull(conn, frame)
	require.NoError(t, err)
	r := jute.NewReader(frame)
	require.NoError(t, p.DecodeHeader(r))
	require.NoError(t, p.DecodeBody(r, op))
	return p
}

func ready(t *testing.T, s *zkserver.Server) net.Conn {
	t.Helper()
	conn := dial(t, s)
	_, err := conn.Write(hello())
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 41))
	require.NoError(t, err)
	return conn
}

// A million znodes are made by a client, counted, read, and deleted again. Not parallel: it
// measures the memory of the process.
func TestAMillionZnodes(t *testing.T) {
	tier.Soak(t)
	before := heap()
	s := start(t, zkserver.Config{})
	conn := ready(t, s)
	xid := int32(0)
	do := func(q jute.Request) jute.Reply {
		xid++
		q.Xid = xid
		_, err := conn.Write(request(q))
		require.NoError(t, err)
		return answer(t, conn, q.Op)
	}
	const each = 1000
	path := func(i int) string { return fmt.Sprintf("/parent-%04d/child-%04d", i/each, i%each) }
	all := func(op func(i int) jute.Request) {
		for i := 0; i < *scaleZnodes; i += each {
			q := jute.Request{Op: jute.OpMulti}
			for j := range each {
				q.Ops = append(q.Ops, op(i+j))
			}
			p := do(q)
			require.Len(t, p.Results, each)
			require.Equal(t, jute.OK, p.Results[each-1].Err)
		}
	}
	for i := 0; i < *scaleZnodes; i += each {
		require.Equal(t, jute.OK, do(jute.Request{Op: jute.OpCreate, Path: fmt.Sprintf("/parent-%04d", i/each), ACL: jute.OpenACL()}).Err)
	}
	all(func(i int) jute.Request {
		return jute.Request{Op: jute.OpCreate, Path: path(i), Data: make([]byte, 100), ACL: jute.OpenACL()}
	})
	perZnode := float64(heap()-before) / float64(*scaleZnodes)
	t.Logf("%d znodes, %.0f bytes each", *scaleZnodes, perZnode)
	require.Less(t, perZnode, 1000.0)
	parents := *scaleZnodes / each
	require.EqualValues(t, *scaleZnodes+parents+3, do(jute.Request{Op: jute.OpCountChildren, Path: "/"}).Count)
	require.Len(t, do(jute.Request{Op: jute.OpGetChildren, Path: "/parent-0007"}).Names, each)
	require.Len(t, do(jute.Request{Op: jute.OpGetData, Path: path(*scaleZnodes - 1)}).Data, 100)
	require.Contains(t, ask(t, s, "srvr"), fmt.Sprintf("Node count: %d\n", *scaleZnodes+parents+5))
	all(func(i int) jute.Request { return jute.Request{Op: jute.OpDelete, Path: path(i), Version: -1} })
	require.EqualValues(t, parents+3, do(jute.Request{Op: jute.OpCountChildren, Path: "/"}).Count)
}

// Ten thousand sessions, each with an ephemeral and a watch, live, hear of a change, and expire
// together, at one instant.
func TestTenThousandSessions(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sessions = 10_000
		s := start(t, zkserver.Config{})
		first := ready(t, s)
		_, err := first.Write(request(jute.Request{Xid: 1, Op: jute.OpCreate, Path: "/bell", ACL: jute.OpenACL()}))
		require.NoError(t, err)
		require.Equal(t, jute.OK, answer(t, first, jute.OpCreate).Err)
		conns := make([]net.Conn, sessions)
		for i := range conns {
			conns[i] = ready(t, s)
			sent := request(jute.Request{Xid: 1, Op: jute.OpCreate, Path: fmt.Sprintf("/e-%05d", i), ACL: jute.OpenACL(), Flags: jute.FlagEphemeral})
			sent = append(sent, request(jute.Request{Xid: 2, Op: jute.OpGetData, Path: "/bell", Watch: true})...)
			_, err := conns[i].Write(sent)
			require.NoError(t, err)
			require.Equal(t, jute.OK, answer(t, conns[i], jute.OpCreate).Err)
			require.Equal(t, jute.OK, answer(t, conns[i], jute.OpGetData).Err)
		}
		require.Len(t, s.Sessions(), sessions+1)
		require.Contains(t, ask(t, s, "mntr"), fmt.Sprintf("zk_watch_count\t%d\n", sessions))

		_, err = first.Write(request(jute.Request{Xid: 2, Op: jute.OpSetData, Path: "/bell", Version: -1}))
		require.NoError(t, err)
		require.Equal(t, jute.OK, answer(t, first, jute.OpSetData).Err)
		for _, conn := range conns {
			require.Equal(t, jute.XidEvent, answer(t, conn, jute.OpPing).Xid)
		}
		expires := s.Sessions()[sessions].Expires
		time.Sleep(time.Until(expires))
		synctest.Wait()
		require.Empty(t, s.Sessions())
		require.Contains(t, ask(t, s, "mntr"), "zk_ephemerals_count\t0\n")
		for _, conn := range conns {
			_, err := conn.Read(make([]byte, 1))
			require.Error(t, err, "hung up on")
		}
	})
}
