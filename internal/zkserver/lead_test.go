package zkserver_test

import (
	"io"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/zkserver"
)

var modeLine = regexp.MustCompile(`Mode: ([a-z]+)\n`)

// modes are what all fronts say that they are: the first letter, or - for one that says nothing.
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
// killed, stopped or cut off from the others, who is cut off goes on saying what it said, and
// whoever comes back follows.
func TestOneOfSeveralLeads(t *testing.T) {
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

// What a leader says of its followers is true at that time.
func TestALeaderCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{Fronts: 3})
		leader := func() string {
			conn, err := s.Dial(t.Context(), "tcp", s.Front(2).Name())
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, "mntr")
			require.NoError(t, err)
			said, err := io.ReadAll(conn)
			require.NoError(t, err)
			return string(said)
		}
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
