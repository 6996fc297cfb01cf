package zkserver_test

// The four-letter words, and which of several servers they say leads.

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// session opens a session with a few znodes and watches.
func session(t *testing.T, s *zkserver.Server) {
	t.Helper()
	c := join(t, s)
	e, p := create("/e", jute.FlagEphemeral), create("/p", 0)
	e.Data, p.Data = nil, []byte("hello")
	for _, q := range []jute.Request{e, p, readAndWatch(jute.OpGetData, "/p"), readAndWatch(jute.OpExists, "/x"), readAndWatch(jute.OpGetChildren, "/p")} {
		c.do(q)
	}
}

func TestFourLetterWordsSayHowTheServerIs(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		session(t, s)
		id := s.Sessions()[0].ID
		sid := fmt.Sprintf("0x%x", id)
		for _, c := range []struct {
			word string
			want []string
		}{
			{"ruok\n", []string{"imok"}}, // the rest is ignored
			{"srvr", []string{"Zookeeper version: 3.9.6", "Zxid: 0x3", "Node count: 7"}}, // 4 + /e, /p, and the root's second name
			{"stat", []string{"[1](queued=0,recved=6,sent=6)\n"}},                        // the handshake and five requests
			{"mntr", []string{"zk_open_file_descriptor_count\t", "zk_max_file_descriptor_count\t"}},
			{"cons", []string{"sid=" + sid + ",lop=GETC,", "to=10000,lcxid=0x5,lzxid=0x3,", "recved=6,sent=6"}},
			{"wchp", []string{"/p\n\t" + sid + "\n/x\n\t" + sid + "\n"}},
			{"dump", []string{"Session Sets (1)/(1):\n1 expire at Sat Jan 01 00:00:12 UTC 2000:\n\t" + sid + "\n", sid + ":\n\t/e\n", "sessionId: " + sid}},
			{"wchs", []string{"1 connections watching 2 paths\nTotal watches:2\n"}},
			{"envi", []string{"Environment:\nzookeeper.version=3.9.6-troupe", "\njava.version=<NA>\n", "\nos.name=" + runtime.GOOS + "\n"}},
		} {
			got := ask(t, s, c.word)
			for _, part := range c.want {
				require.Contains(t, got, part, c.word)
			}
		}
		require.Empty(t, ask(t, s, "what"))
	})
}

func TestALatencyIsWhatARequestWaited(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		s.Intercept(func(q *zkserver.Request) zkserver.Verdict {
			if q.Op == jute.OpExists {
				return zkserver.Delay(70 * time.Millisecond)
			}
			return zkserver.Pass
		})
		session(t, s)
		time.Sleep(time.Second)
		require.Contains(t, ask(t, s, "srvr"), "Latency min/avg/max: 0/11.6667/70\n") // of six
		require.Contains(t, ask(t, s, "cons"), "minlat=0,avglat=11,maxlat=70")
	})
}

var modeLine = regexp.MustCompile(`Mode: ([a-z]+)\n`)

// modes are what all fronts say that they are, a letter each: (s)tandalone, (l)eader, (f)ollower,
// (n)ot serving, or - for one that says nothing.
func modes(t *testing.T, s *zkserver.Server) (all string) {
	t.Helper()
	for i := range s.Fronts() {
		all += mode(t, s, i)
	}
	return all
}

func mode(t *testing.T, s *zkserver.Server, i int) string {
	t.Helper()
	conn, err := s.Dial(t.Context(), "tcp", s.Front(i).Name())
	if err != nil {
		return "-"
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "srvr")
	require.NoError(t, err)
	conn.SetReadDeadline(time.Now().Add(time.Second))
	said, err := io.ReadAll(conn)
	switch {
	case err != nil:
		return "-"
	case string(said) == "This ZooKeeper instance is not currently serving requests\n":
		return "n"
	}
	return modeLine.FindStringSubmatch(string(said))[1][:1]
}

// One of several servers leads, the last one in the beginning; another does when that one is
// killed, stopped or cut off from the others. One that is cut off goes on saying what it said, and
// one that comes back follows.
func TestOneOfSeveralServersLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, "s", modes(t, start(t, zkserver.Config{})), "alone")
		s := start(t, zkserver.Config{Fronts: 3})
		require.Equal(t, "ffl", modes(t, s))
		s.Front(0).Kill()
		require.Equal(t, "-fl", modes(t, s))
		require.NoError(t, s.Front(0).Restart(t.Context()))
		s.Front(2).Kill()
		require.Equal(t, "fl-", modes(t, s))
		s.Front(0).Kill()
		require.Equal(t, "-n-", modes(t, s), "one of three is no majority")
		require.NoError(t, s.Front(2).Restart(t.Context()))
		require.Equal(t, "-fl", modes(t, s))
		require.NoError(t, s.Front(0).Restart(t.Context()))
		s.Front(2).Kill()
		require.NoError(t, s.Front(2).Restart(t.Context()))
		require.Equal(t, "flf", modes(t, s), "who leads, leads on")
		s.Front(1).Stop()
		require.Equal(t, "f-l", modes(t, s))
		s.Front(1).Continue()
		require.Equal(t, "ffl", modes(t, s))
		heal := s.Front(2).Isolate(0)
		require.Equal(t, "fll", modes(t, s), "it hasn't noticed")
		heal()
		require.Equal(t, "flf", modes(t, s))
		for i := range 3 {
			s.Front(i).Kill()
		}
		require.NoError(t, s.Front(0).Restart(t.Context()))
		require.Equal(t, "n--", modes(t, s))
		require.NoError(t, s.Front(1).Restart(t.Context()))
		require.Equal(t, "fl-", modes(t, s))
		require.NoError(t, s.Front(1).Restart(t.Context()), "which kills it first")
		require.Equal(t, "fl-", modes(t, s))
	})
}

// The number of followers that a leader tells is the present one.
func TestALeaderSaysHowManyFollowNow(t *testing.T) {
	inBubble(t, zkserver.Config{Fronts: 3}, func(t *testing.T, s *zkserver.Server) {
		leader := func() string { return ask(t, s, "mntr", 2) }
		time.Sleep(3 * time.Second)
		require.Contains(t, leader(), "zk_leader_uptime\t3000\n")
		require.Contains(t, leader(), "zk_synced_followers\t2\n")
		s.Front(1).Stop()
		require.Contains(t, leader(), "zk_synced_followers\t1\n")
		s.Front(1).Continue()
		heal := s.Front(2).Isolate(0)
		require.Contains(t, leader(), "zk_server_state\tleader\n")
		require.Contains(t, leader(), "zk_synced_followers\t0\n")
		heal()
		require.Contains(t, leader(), "zk_server_state\tfollower\n")
		require.NotContains(t, leader(), "zk_synced_followers")
	})
}
