package zkserver_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// What was answered before a connection ends is delivered to the last byte.
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
	want := 41 + (20 + 4 + len("/a")) + reads*(20+4+size+68) + 20 + 20
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
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
