package zkserver_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func ask(t *testing.T, s *zkserver.Server, word string) string {
	t.Helper()
	conn := dial(t, s)
	_, err := conn.Write([]byte(word))
	require.NoError(t, err)
	conn.SetReadDeadline(time.Now().Add(time.Second))
	got, err := io.ReadAll(conn)
	require.NoError(t, err, "it hangs up after the answer")
	return string(got)
}

// session opens a session with a few znodes and watches.
func session(t *testing.T, s *zkserver.Server) net.Conn {
	t.Helper()
	conn := dial(t, s)
	sent := hello()
	for _, q := range []jute.Request{
		{Xid: 1, Op: jute.OpCreate, Path: "/e", ACL: jute.OpenACL(), Flags: jute.FlagEphemeral},
		{Xid: 2, Op: jute.OpCreate, Path: "/p", Data: []byte("hello"), ACL: jute.OpenACL()},
		{Xid: 3, Op: jute.OpGetData, Path: "/p", Watch: true},
		{Xid: 4, Op: jute.OpExists, Path: "/x", Watch: true},
		{Xid: 5, Op: jute.OpGetChildren, Path: "/p", Watch: true},
	} {
		sent = append(sent, request(q)...)
	}
	_, err := conn.Write(sent)
	require.NoError(t, err)
	synctest.Wait()
	return conn
}

func TestFourLetterWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		session(t, s)
		id := s.Sessions()[0].ID
		sid := fmt.Sprintf("0x%x", id)
		for _, c := range []struct {
			word string
			want []string
		}{
			{"ruok", []string{"imok"}},
			{"srvr", []string{"Zookeeper version: 3.9.6", "Latency min/avg/max: 0/0.0/0", "Zxid: 0x3", "Mode: standalone", "Node count: 7"}},
			{"stat", []string{"Clients:\n /127.0.0.1:", "[1](queued=0,recved=6,sent=6)\n", "Mode: standalone"}},
			{"mntr", []string{
				"zk_server_state\tstandalone\n", "zk_znode_count\t7\n", "zk_watch_count\t3\n", "zk_ephemerals_count\t1\n",
				"zk_approximate_data_size\t53\n", "zk_global_sessions\t1\n",
			}},
			{"cons", []string{"sid=" + sid + ",lop=GETC,", "to=10000,lcxid=0x5,lzxid=0x3,", "recved=6,sent=6"}},
			{"wchp", []string{"/p\n\t" + sid + "\n/x\n\t" + sid + "\n"}},
			{"dump", []string{"Session Sets (1)/(1):\n1 expire at Sat Jan 01 00:00:12 UTC 2000:\n\t" + sid + "\n", sid + ":\n\t/e\n", "sessionId: " + sid}},
			{"conf", []string{"tickTime=2000\n", "minSessionTimeout=4000\n", "maxSessionTimeout=40000\n"}},
		} {
			got := ask(t, s, c.word)
			for _, part := range c.want {
				require.Contains(t, got, part, c.word)
			}
		}
	})
}

func TestWordsAreNoHandshakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		require.Empty(t, ask(t, s, "what"))
		require.Equal(t, "imok", ask(t, s, "ruok\n"), "the rest is not looked at")
	})
}

func TestALatencyIsWhatARequestWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		s.Intercept(func(q *zkserver.Request) zkserver.Verdict {
			if q.Op == jute.OpExists {
				return zkserver.Delay(70 * time.Millisecond)
			}
			return zkserver.Pass
		})
		session(t, s)
		time.Sleep(time.Second)
		require.Contains(t, ask(t, s, "srvr"), "Latency min/avg/max: 0/11.6667/70\n")
		require.Contains(t, ask(t, s, "cons"), "minlat=0,avglat=11,maxlat=70")
	})
}

func TestWordsOverTCP(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{})
	address, err := s.Front(0).Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("ruok"))
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "imok", string(got))
}
