package zktest_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// ask says a four-letter word to a server.
func ask(t *testing.T, address, word string) string {
	t.Helper()
	conn := dialTCP(t, address)
	defer conn.Close()
	_, err := io.WriteString(conn, word)
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(got)
}

var (
	hexadecimal = regexp.MustCompile(`0x[0-9a-f]+`)
	instant     = regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d UTC \d{4}`)
	versions    = regexp.MustCompile(`\d+\.\d+\.\d+-.*, built on .* UTC`)
	address     = regexp.MustCompile(`/127\.0\.0\.1:\d+`)
	decimal     = regexp.MustCompile(`\d+`)
	fraction    = regexp.MustCompile(`\d+\.\d+`)
)

// shape is what a word says without what differs from run to run: numbers become N, fractions F,
// and what both servers list in orders of their own is sorted.
func shape(word, text string) []string {
	for _, x := range []struct {
		what *regexp.Regexp
		name string
	}{{versions, "VERSION"}, {address, "ADDRESS"}, {hexadecimal, "HEX"}, {instant, "INSTANT"}, {fraction, "F"}, {decimal, "N"}} {
		text = x.what.ReplaceAllString(text, x.name)
	}
	lines := strings.Split(text, "\n")
	switch word {
	case "conf":
		for i := range lines {
			lines[i] = regexp.MustCompile(`^(data(Log)?Dir)=.*`).ReplaceAllString(lines[i], "$1=")
		}
		return lines
	case "dump": // how many expire together depends on when they were heard of
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasSuffix(line, " expire at INSTANT:") })
	case "srvr", "ruok":
		return lines
	}
	slices.Sort(lines)
	return lines
}

// Each of the four-letter words says the same lines as the real server's, but "mntr" only keys for
// which there is something to count.
func TestWordsAreThoseOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	d := newDiffer(t)
	d.do(d.pairs[0], jute.Request{Op: jute.OpCreate, Path: "/e", Data: []byte("x"), ACL: jute.OpenACL(), Flags: jute.FlagEphemeral, TTL: -1})
	d.do(d.pairs[0], jute.Request{Op: jute.OpGetData, Path: "/e", Watch: true})
	d.do(d.pairs[1], jute.Request{Op: jute.OpExists, Path: "/e", Watch: true})
	d.do(d.pairs[1], jute.Request{Op: jute.OpGetChildren, Path: "/", Watch: true})
	for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "conf", "dump", "wchp"} {
		ours, real := ask(t, d.ours, word), ask(t, d.real, word)
		requireSameAnswer(t, word, real, ours)
	}
}

// requireSameAnswer compares what a word says, but for the sign of the size that no proposal has
// here.
func requireSameAnswer(t *testing.T, word, real, ours string) {
	t.Helper()
	want, have := shape(word, real), shape(word, strings.ReplaceAll(ours, "-1/-1/-1", "1/1/1"))
	if word == "mntr" {
		require.Subset(t, want, have, "ours %s\nreal %s", ours, real)
		return
	}
	require.Equal(t, want, have, "%s:\nours %s\nreal %s", word, ours, real)
}

// What can be counted alike is: requests, znodes, bytes.
func TestCountersAreThoseOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	d := newDiffer(t)
	extra := received(t, d.real) - received(t, d.ours) // the words that were asked until the real server was there
	for d.done < 2000 {
		p := d.pairs[0]
		switch d.rnd.IntN(3) {
		case 0:
			d.do(p, jute.Request{Op: jute.OpCreate, Path: d.path(), Data: d.data(), ACL: jute.OpenACL(), Flags: int32(d.rnd.IntN(4)), TTL: -1})
		case 1:
			d.do(p, jute.Request{Op: jute.OpDelete, Path: d.path(), Version: -1})
		default:
			d.do(p, d.read())
		}
	}
	d.events(false)
	keys := []string{
		"ephemerals_count", "num_alive_connections", "znode_count", "global_sessions", "watch_count", "approximate_data_size", "auth_failed_count",
		"cnt_updatelatency", "cnt_readlatency", "connection_request_count",
	}
	ours, real := counters(ask(t, d.ours, "mntr")), counters(ask(t, d.real, "mntr"))
	for _, key := range keys {
		require.NotEmpty(t, real["zk_"+key], key)
		require.Equal(t, real["zk_"+key], ours["zk_"+key], key)
	}
	require.Equal(t, extra, received(t, d.real)-received(t, d.ours))
}

// received is how many bytes a server says that it has received.
func received(t *testing.T, address string) int {
	t.Helper()
	n, err := strconv.Atoi(counters(ask(t, address, "mntr"))["zk_bytes_received_count"])
	require.NoError(t, err)
	return n
}

// Of several servers one says that it leads and the others that they follow, in the lines of the
// real ones.
func TestWordsOfServersWithPeersAreThoseOfTheRealOnes(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for _, servers := range []int{2, 3, 5} {
		t.Run(strconv.Itoa(servers), func(t *testing.T) {
			t.Parallel()
			zk := ensemble.Start(t, servers)
			ours := zktest.Start(t, zktest.WithServers(servers), asVersionOf(t, zk)).Servers()
			ourLeader, leader := modes(t, ours)["leader"], leaderOf(t, zk)
			require.Equal(t, map[string][]int{"leader": {servers - 1}, "follower": upTo(servers - 1)}, modes(t, ours))
			for _, pair := range [][2]string{{ours[ourLeader[0]], zk.Servers()[leader]}, {ours[0], zk.Servers()[(leader+1)%servers]}} {
				var session int64 // the real server's
				for _, address := range pair {
					c, err := greet(dialTCP(t, address), jute.ConnectRequest{Timeout: 30000, Password: make([]byte, 16)})
					require.NoError(t, err)
					defer c.conn.Close()
					session = c.session
					_, err = c.do(jute.Request{Op: jute.OpCreate, Path: "/e-", ACL: jute.OpenACL(), Flags: jute.FlagEphemeralSequential})
					require.NoError(t, err)
					_, err = c.do(jute.Request{Op: jute.OpExists, Path: "/none", Watch: true})
					require.NoError(t, err)
				}
				for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "dump", "wchp"} {
					ours, real := ask(t, pair[0], word), askUntorn(t, pair[1], word, session)
					requireSameAnswer(t, word, real, ours)
				}
			}
			values := counters(ask(t, ours[ourLeader[0]], "mntr"))
			for key, want := range map[string]int{"quorum_size": servers, "learners": servers - 1, "synced_followers": servers - 1} {
				require.Equal(t, strconv.Itoa(want), values["zk_"+key], key)
				require.Equal(t, values["zk_"+key], counters(ask(t, zk.Servers()[leader], "mntr"))["zk_"+key], key)
			}
		})
	}
}

// askUntorn says a four-letter word to a real server at which a session is. While a leader writes
// down its sets of sessions for "dump", the followers' signs of life move sessions from one set to
// another: a list that has missed the session that way is asked for again.
func askUntorn(t *testing.T, address, word string, session int64) (text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		text = ask(t, address, word)
		if word != "dump" || !strings.Contains(text, "Session Sets") || strings.Contains(text, fmt.Sprintf("\t0x%x\n", session)) {
			break
		}
	}
	return text
}

// modes are the numbers of the servers by what they say that they are.
func modes(t *testing.T, servers []string) map[string][]int {
	t.Helper()
	all := make(map[string][]int)
	for i, address := range servers {
		mode := counters(ask(t, address, "mntr"))["zk_server_state"]
		require.Contains(t, ask(t, address, "srvr"), "Mode: "+mode+"\n")
		all[mode] = append(all[mode], i)
	}
	return all
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func counters(text string) map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[key] = value
	}
	return all
}

// leaderOf waits for a real server that leads.
func leaderOf(t *testing.T, e *ensemble.Ensemble) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leader, err := e.AwaitLeader(ctx)
	require.NoError(t, err)
	return leader
}
