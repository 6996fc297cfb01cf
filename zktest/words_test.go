package zktest_test

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
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
	versions    = regexp.MustCompile(`3\.8\.0-.*, built on .* UTC`)
	address     = regexp.MustCompile(`/127\.0\.0\.1:\d+`)
	decimal     = regexp.MustCompile(`\d+`)
	fraction    = regexp.MustCompile(`\d+\.\d+`)
)

// shape is what a word says without what differs from run to run: numbers become N, fractions F, and what both servers list in orders of their own
// is sorted.
func shape(word, text string) []string {
	for _, x := range []struct {
		what *regexp.Regexp
		name string
	}{{versions, "VERSION"}, {address, "ADDRESS"}, {hexadecimal, "HEX"}, {instant, "INSTANT"}, {fraction, "F"}, {decimal, "N"}} {
		text = x.what.ReplaceAllString(text, x.name)
	}
	lines := strings.Split(text, "\n")
	switch word {
	case "envi": // the machine's own; keys alone, but for those that belong to Java or to Go
		for i := range lines {
			lines[i], _, _ = strings.Cut(lines[i], "=")
		}
		lines = slices.DeleteFunc(lines, func(key string) bool {
			return strings.HasPrefix(key, "java.") || key == "go.version" || key == "os.version" || key == "user.name"
		})
	case "conf":
		for i := range lines {
			lines[i] = regexp.MustCompile(`^(data(Log)?Dir)=.*`).ReplaceAllString(lines[i], "$1=")
		}
	case "mntr":
		lines = slices.DeleteFunc(lines, func(key string) bool { return strings.Contains(key, "_per_namespace") })
		fallthrough
	default:
		slices.Sort(lines)
	case "dump": // how many expire together depends on when they were heard of
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasSuffix(line, " expire at INSTANT:") })
		slices.Sort(lines)
	case "srvr", "wchs", "isro", "ruok":
	}
	return lines
}

// Every four-letter word says the same lines as the real server's, and "mntr" all of its keys.
func TestWordsAreThoseOfTheRealServer(t *testing.T) {
	t.Parallel()
	d := newDiffer(t)
	d.do(d.pairs[0], jute.Request{Op: jute.OpCreate, Path: "/e", Data: []byte("x"), ACL: jute.OpenACL(), Flags: jute.FlagEphemeral, TTL: -1})
	d.do(d.pairs[0], jute.Request{Op: jute.OpGetData, Path: "/e", Watch: true})
	d.do(d.pairs[1], jute.Request{Op: jute.OpExists, Path: "/e", Watch: true})
	d.do(d.pairs[1], jute.Request{Op: jute.OpGetChildren, Path: "/", Watch: true})
	for _, word := range []string{"ruok", "isro", "srvr", "stat", "mntr", "cons", "wchs", "wchp", "wchc", "dump", "conf", "envi", "dirs", "crst", "srst"} {
		ours, real := ask(t, d.ours, word), ask(t, d.real, word)
		require.Equal(t, shape(word, real), shape(word, ours), "%s:\nours %s\nreal %s", word, ours, real)
	}
}

// What can be counted alike is: requests, znodes, bytes, watches that fired.
func TestCountersAreThoseOfTheRealServer(t *testing.T) {
	t.Parallel()
	d := newDiffer(t)
	ask(t, d.ours, "srst")
	ask(t, d.real, "srst")
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
		"cnt_updatelatency", "cnt_readlatency", "cnt_request_throttle_queue_time_ms", "prep_processor_request_queued", "connection_request_count",
		"last_client_response_size", "min_client_response_size", "max_client_response_size", "bytes_received_count",
	}
	for _, kind := range []string{"created", "deleted", "changed", "children"} {
		for _, part := range []string{"cnt", "sum", "min", "max", "avg"} {
			keys = append(keys, part+"_node_"+kind+"_watch_count")
		}
	}
	ours, real := counters(ask(t, d.ours, "mntr")), counters(ask(t, d.real, "mntr"))
	for _, key := range keys {
		require.NotEmpty(t, real["zk_"+key], key)
		require.Equal(t, real["zk_"+key], ours["zk_"+key], key)
	}
}

func counters(text string) map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[key] = value
	}
	return all
}
