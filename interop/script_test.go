package interop_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var rewrite = flag.Bool("rewrite", false, "write what a real server answers into testdata/scripts")

// A script is what one client does, and what comes of it. It is played on both servers, which must
// answer alike. Its lines:
//
//	a open curator 30000        target a: open a session of this kind, with this timeout in ms; always through a proxy
//	a VERB ARGS…                a request to the client's driver; operations of a multi are separated by "; "
//	a await KIND                the next event of this kind (state, watch, …) that differs from the one before
//	bg NAME a VERB ARGS…        the request is made in the background, and
//	wait NAME                   its answer is awaited
//	admin VERB PATH DATA        another client, Troupe itself, does it: create, set, delete; or awaits: gone, there, line (n children)
//	reset, cut, heal            the client's connections are broken; broken for good; no longer
//	> what came of the line before
type script struct {
	t       *testing.T
	play    player
	prefix  string // of targets' names: the driver is shared
	client  string // the kind of session
	proxy   *ensemble.Proxy
	admin   *session.Session
	waiting map[string]<-chan reply
	last    map[string]string // events by target and kind
}

// player speaks for a client.
type player interface {
	send(target, verb string, args ...string) <-chan reply
	wait(answer <-chan reply, what string) reply
	feed(target, kind string) chan string
	said() string // what it wrote beside its answers, for a failed test's log
}

var scripts atomic.Int64

func playScript(t *testing.T, d player, client, name, address string) {
	t.Helper()
	file := filepath.Join("testdata", "scripts", name+".txt")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	s := &script{
		t: t, play: d, prefix: fmt.Sprintf("script%d:", scripts.Add(1)), client: client, proxy: through(t, address), admin: open(t, address),
		waiting: map[string]<-chan reply{}, last: map[string]string{},
	}
	var played strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "> ") {
			continue
		}
		fmt.Fprintln(&played, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if answer := s.do(strings.Fields(line)); answer != "" {
			fmt.Fprintln(&played, "> "+plainly(answer))
		}
		if t.Failed() {
			t.Fatalf("played so far:\n%s", played.String())
		}
	}
	switch {
	case !*rewrite:
		compare(t, file, string(text), played.String())
	case strings.HasSuffix(t.Name(), "/real"):
		require.NoError(t, os.WriteFile(file, []byte(played.String()), 0o644))
	}
}

// compare shows the first line that differs and what led to it.
func compare(t *testing.T, file, want, got string) {
	t.Helper()
	wanted, played := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wanted), len(played)) {
		if i < len(wanted) && i < len(played) && wanted[i] == played[i] {
			continue
		}
		from := max(0, i-5)
		t.Fatalf("%s:%d: expected\n%s\nand got\n%s", file, i+1,
			strings.Join(wanted[min(from, len(wanted)):min(i+1, len(wanted))], "\n"), strings.Join(played[min(from, len(played)):min(i+1, len(played))], "\n"))
	}
}

// do carries out one line and says what came of it; nothing if there is nothing to say.
func (s *script) do(words []string) string {
	s.t.Helper()
	switch words[0] {
	case "reset":
		s.proxy.Reset()
	case "cut":
		s.proxy.Cut()
	case "heal":
		s.proxy.Heal()
	case "admin":
		s.administer(words[1], words[2], words[3:]...)
	case "bg":
		s.waiting[words[1]] = s.request(words[2], words[3], words[4:])
	case "wait":
		return s.play.wait(s.waiting[words[1]], strings.Join(words, " ")).String()
	default:
		if words[1] == "await" {
			return s.await(words[0], words[2])
		}
		return s.play.wait(s.request(words[0], words[1], words[2:]), strings.Join(words, " ")).String()
	}
	return ""
}

func (s *script) request(target, verb string, args []string) <-chan reply {
	switch verb {
	case "open":
		args = []string{s.client, s.proxy.Addr(), args[0]}
		s.t.Cleanup(func() { s.play.wait(s.play.send(s.prefix+target, "close"), target+" close") })
	case "new": // kind, session, path
		args = append([]string{args[0], s.prefix + args[1]}, args[2:]...)
	case "multi":
		args = strings.Split(strings.Join(args, " "), "; ")
	}
	return s.play.send(s.prefix+target, verb, args...)
}

func (s *script) await(target, kind string) string {
	s.t.Helper()
	feed, timeout := s.play.feed(s.prefix+target, kind), time.After(patience)
	for {
		select {
		case text := <-feed:
			if key := target + " " + kind; kind != "state" || s.last[key] != text {
				s.last[key] = text
				return text
			}
		case <-timeout:
			s.t.Errorf("%s: no event %s within %v: %s", target, kind, patience, s.play.said())
			return "nothing"
		}
	}
}

// administer changes or awaits something from outside.
func (s *script) administer(verb, path string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var err error
	switch verb {
	case "create":
		_, err = s.admin.Create(ctx, path, []byte(strings.Join(args, " ")))
	case "set":
		_, err = s.admin.Set(ctx, path, []byte(strings.Join(args, " ")), -1)
	case "delete":
		err = s.admin.Delete(ctx, path, -1)
	case "gone", "there":
		err = awaitData(ctx, s.admin, path, verb == "there")
	case "line":
		err = awaitLine(ctx, s.admin, path, args[0])
	default:
		err = fmt.Errorf("no such verb: %s", verb)
	}
	require.NoError(s.t, err, "admin %s %s %v", verb, path, args)
}

func awaitData(ctx context.Context, s *session.Session, path string, exists bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for d := range s.WatchData(ctx, path) {
		if d.Exists == exists && !d.Stale {
			return nil
		}
	}
	return context.Cause(ctx)
}

func awaitLine(ctx context.Context, s *session.Session, path, n string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for c := range s.WatchChildren(ctx, path) {
		if !c.Stale && fmt.Sprint(len(c.Names)) == n {
			return nil
		}
	}
	return context.Cause(ctx)
}

// What differs from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "GUID"},
	{regexp.MustCompile(`[0-9a-f]{32}`), "GUID"},
	{regexp.MustCompile(`\bx--?[0-9]+-`), "x-SESSION-"},
	{regexp.MustCompile(`0x[0-9a-f]{9,16}`), "0xSESSION"},
}

// ZooKeeper lists names in no order: in the answers of drivers they stand between commas, in those
// of zkCli.sh in brackets too.
var listed = regexp.MustCompile(`[^ ,\[\]]+(, ?[^ ,\[\]]+)+`)

// plainly is an answer with what differs from run to run replaced, and lists of names in order.
func plainly(answer string) string {
	for _, v := range volatile {
		answer = v.pattern.ReplaceAllString(answer, v.instead)
	}
	if strings.HasPrefix(answer, "error ") {
		return answer
	}
	return listed.ReplaceAllStringFunc(answer, func(list string) string {
		names := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
		slices.Sort(names)
		return strings.Join(names, ",")
	})
}
