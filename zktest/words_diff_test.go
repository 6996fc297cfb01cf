package zktest_test

// The four-letter words of our server beside those of a real one: the same lines, and the same
// numbers where both can count.

import (
	"context"
	"fmt"
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

// Each word says the same lines as the real server's, but "mntr" only keys for which there is
// something to count; and what can be counted alike is: requests, znodes, bytes.
func TestWordsAreThoseOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	d := newDiffer(t)
	extra := received(t, d.real) - received(t, d.ours) // the words that were asked until the real server was there
	for range tier.Count(500, 2000) {
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
	d.do(d.pairs[0], jute.Request{Op: jute.OpCreate, Path: "/e", Data: []byte("x"), ACL: jute.OpenACL(), Flags: jute.FlagEphemeral, TTL: -1})
	d.do(d.pairs[1], jute.Request{Op: jute.OpExists, Path: "/e", Watch: true})
	d.do(d.pairs[1], jute.Request{Op: jute.OpGetChildren, Path: "/", Watch: true})
	d.events(false)
	ours, real := counters(t, d.ours), counters(t, d.real)
	for _, key := range []string{
		"ephemerals_count", "num_alive_connections", "znode_count", "global_sessions", "watch_count", "approximate_data_size", "auth_failed_count",
		"cnt_updatelatency", "cnt_readlatency", "connection_request_count",
	} {
		require.NotEmpty(t, real["zk_"+key], key)
		require.Equal(t, real["zk_"+key], ours["zk_"+key], key)
	}
	require.Equal(t, extra, received(t, d.real)-received(t, d.ours))
	for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "conf", "dump", "wchp"} {
		requireSameAnswer(t, word, ask(t, dialTCP(t, d.real), word), ask(t, dialTCP(t, d.ours), word))
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

// Of three servers one says that it leads and the others that they follow, in the lines of the real
// ones.
func TestWordsOfServersWithPeersAreThoseOfTheRealOnes(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	e := ensemble.Start(t, 3)
	ours, real, leader := zktest.Start(t, zktest.WithServers(3), asVersionOf(t, e)).Servers(), e.Servers(), leaderOf(t, e)
	for _, pair := range [][2]string{{ours[2], real[leader]}, {ours[0], real[(leader+1)%3]}} { // ours leads last
		var session int64 // the real server's
		for _, address := range pair {
			c, _ := hello(t, address, jute.ConnectRequest{Timeout: 30000})
			session = c.session
			c.must(t, create("/e-", jute.FlagEphemeralSequential))
			c.exists(t, "/none")
		}
		for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "dump", "wchp"} {
			requireSameAnswer(t, word, askUntorn(t, pair[1], word, session), ask(t, dialTCP(t, pair[0]), word))
		}
	}
	for _, key := range []string{"quorum_size", "learners", "synced_followers"} {
		require.Equal(t, counters(t, real[leader])["zk_"+key], counters(t, ours[2])["zk_"+key], key)
	}
}

// askUntorn says a four-letter word to a real server at which a session is. While a leader writes
// down its sets of sessions for "dump", the followers' signs of life move sessions from one set to
// another: a list that has missed the session that way is asked for again.
func askUntorn(t *testing.T, address, word string, session int64) (text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		text = ask(t, dialTCP(t, address), word)
		if word != "dump" || !strings.Contains(text, "Session Sets") || strings.Contains(text, fmt.Sprintf("\t0x%x\n", session)) {
			break
		}
	}
	return text
}

// received is how many bytes a server says that it has received.
func received(t *testing.T, address string) int {
	t.Helper()
	n, err := strconv.Atoi(counters(t, address)["zk_bytes_received_count"])
	require.NoError(t, err)
	return n
}

// counters are the lines of "mntr".
func counters(t *testing.T, address string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for line := range strings.Lines(ask(t, dialTCP(t, address), "mntr")) {
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
