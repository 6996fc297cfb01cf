// Command way runs a common operation, and writes coverage data of each of its stages into
// directories. test/house prints the map from them:
//
//	make way OP=lock
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// latency is the time of requests and replies, each way.
const latency = 300 * time.Microsecond

// A bubble needs a test. This one is in a program, since the counters of a test binary can't be
// written before its end.
func main() {
	op, into := flag.String("op", "lock", "the operation"), flag.String("into", "", "an empty directory for the stages")
	tier.Fix()
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "way", F: func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { follow(t, *op, *into) })
	}}}, nil, nil)
}

// follow runs the operation twice. The second time counts, without the work of a first time.
func follow(t *testing.T, op, into string) {
	t.Helper()
	prepare := operations[op]
	if prepare == nil {
		t.Fatalf("no operation is called %q", op)
	}
	server := zktest.Start(t)
	machine := server.Host("way")
	w := &way{T: t, into: into, server: server, session: zksession.Open(t, server, session.WithDialer(machine.Dialer()))}
	machine.Slow(latency)
	run := prepare(w)
	run()
	<-time.After(time.Second) // for requests behind the operation, such as those without a waiter
	w.recording = true
	defer server.Intercept(w.asked)()
	run()
	w.stage("")
}

// way is the way of one operation. Frames take some time of the bubble's clock. So when a stage
// begins, the functions of the one before have run, and no other goroutine runs.
type way struct {
	*testing.T
	into    string
	server  *zktest.Server
	session *session.Session

	mu        sync.Mutex
	recording bool
	stages    int
	title     string   // of the present stage
	requests  []string // that the server has received, and whose replies have not arrived
}

// stage begins a stage at a call of the application's.
func (w *way) stage(title string) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(title)
}

// asked begins a stage when the server has received requests, and half a latency later the one in
// which replies and events arrive.
func (w *way) asked(q *zktest.Request) zktest.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		w.begin("")
		time.AfterFunc(latency/2, w.answered)
	}
	w.requests = append(w.requests, name(q))
	slices.Sort(w.requests) // goroutines that send at the same instant do so in any order
	w.title = "→ " + strings.Join(w.requests, ", ")
	return zktest.Pass
}

func (w *way) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	journal, events := w.server.Journal(), 0
	for _, q := range journal[len(journal)-len(w.requests):] {
		events += q.Fired
	}
	w.begin("← " + strings.Join(w.requests, ", ") + strings.Repeat(", an event", events))
	w.requests = nil
}

func name(q *zktest.Request) string {
	if q.Op != zktest.OpMulti {
		return q.Op.String()
	}
	var parts []string
	for _, part := range q.Ops {
		parts = append(parts, part.Op.String())
	}
	return "multi of " + strings.Join(parts, " and ")
}

// begin ends the present stage, which is written, and begins another one.
func (w *way) begin(title string) {
	if !w.recording {
		return
	}
	if w.title != "" {
		dir := filepath.Join(w.into, fmt.Sprintf("%02d", w.stages))
		w.check(os.Mkdir(dir, 0o700))
		w.check(os.WriteFile(filepath.Join(dir, "title"), []byte(w.title), 0o600))
		w.check(coverage.WriteMetaDir(dir))
		w.check(coverage.WriteCountersDir(dir))
		w.stages++
	}
	w.check(coverage.ClearCounters())
	w.title = title
}

func (w *way) check(err error) {
	if err != nil {
		w.Error(err)
	}
}
