package zktest_test

// The four-letter words of our server beside those of a real one: the same lines, and the same
// numbers where both can count.

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
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
	case "envi": // what the machine and the process are
		for i := range lines[1:] {
			lines[i+1], _, _ = strings.Cut(lines[i+1], "=")
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
	for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "conf", "dump", "wchp", "wchs", "isro", "envi"} {
		want := shape(word, ask(t, dialTCP(t, d.real), word))
		have := shape(word, strings.ReplaceAll(ask(t, dialTCP(t, d.ours), word), "-1/-1/-1", "1/1/1")) // no proposal has a size here
		if word == "mntr" {
			require.Subset(t, want, have)
		} else {
			require.Equal(t, want, have, word)
		}
	}
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
