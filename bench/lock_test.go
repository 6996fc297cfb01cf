package bench_test

// Locks and elections, beside bare requests: uncontended, handed over, and waiting.

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// form is one way to do a cycle. It says how long the part took that is measured.
type form struct {
	name  string
	cycle func() time.Duration
	spent time.Duration
}

// whole measures all of a cycle.
func whole(cycle func()) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		cycle()
		return time.Since(began)
	}
}

// compare runs the forms in turn and reports each one's time a cycle, the ratios, and what the
// servers counted.
func compare(b *testing.B, e *ensemble.Ensemble, forms ...*form) {
	b.Helper()
	for _, f := range forms {
		f.cycle() // the first one makes parents and buffers
	}
	n := 0
	for b.Loop() {
		for _, f := range forms {
			f.spent += f.cycle()
		}
		n++
	}
	b.StopTimer()
	for _, f := range forms {
		b.ReportMetric(float64(f.spent.Nanoseconds())/float64(n), f.name+"-ns/op")
		const counted = 20
		c := during(b, e, func() {
			for range counted {
				f.cycle()
			}
		})
		b.ReportMetric(float64(c.requests)/counted, f.name+"-requests/op")
		b.ReportMetric(float64(c.events)/counted, f.name+"-events/op")
	}
	for _, f := range forms[1:] {
		b.ReportMetric(float64(f.spent)/float64(forms[0].spent), f.name+"/troupe")
	}
}

func open(tb testing.TB, servers []string) *session.Session {
	tb.Helper()
	s, err := session.Open(tb.Context(), servers)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(tb, s.Close(ctx))
	})
	return s
}

// BenchmarkUncontended is a lock taken and released, with nobody else in line.
func BenchmarkUncontended(b *testing.B) {
	servers, server := start(b)
	l, err := lock.New(open(b, servers), dirFor(b, "troupe"))
	require.NoError(b, err)
	same, least := newRaw(b, servers, dirFor(b, "same")), newRaw(b, servers, dirFor(b, "least"))
	ctx := b.Context()
	compare(b, server,
		&form{name: "troupe", cycle: whole(func() {
			g, err := l.Lock(ctx)
			require.NoError(b, err)
			require.NoError(b, g.Release(ctx))
		})},
		&form{name: "same", cycle: whole(func() { same.same(b) })},
		&form{name: "least", cycle: whole(func() { least.least(b) })},
	)
}

const lineLength = 16

// BenchmarkHandOver is a lock handed from one of 16 sessions to the next, while the one that had it
// goes to the end of the line.
func BenchmarkHandOver(b *testing.B) {
	servers, server := start(b)
	compare(b, server,
		&form{name: "troupe", cycle: whole(troupeLine(b, servers))},
		&form{name: "same", cycle: whole(rawLine(b, servers, true))},
		&form{name: "least", cycle: whole(rawLine(b, servers, false))},
	)
}

func troupeLine(b *testing.B, servers []string) (handOver func()) {
	ctx := b.Context()
	var line []*lock.Lock
	for range lineLength {
		l, err := lock.New(open(b, servers), dirFor(b, "troupe"))
		require.NoError(b, err)
		l.Acquire()
		inLine(b, l)
		line = append(line, l)
	}
	at := 0
	grant := <-line[0].Acquired()
	return func() {
		require.NoError(b, grant.Release(ctx))
		at = (at + 1) % lineLength
		grant = <-line[at].Acquired()
		inLine(b, line[(at+lineLength-1)%lineLength])
	}
}

// inLine waits until a lock stands in line with somebody ahead, or holds.
func inLine(b *testing.B, l *lock.Lock) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for s := range l.Standing(ctx) {
		if s.Phase == lock.Held || s.Phase == lock.Queued && s.Ahead > 0 {
			return
		}
	}
}

func rawLine(b *testing.B, servers []string, same bool) (handOver func()) {
	line := rawWaiters(b, servers, same)
	at := 0
	return func() {
		before := line[at]
		before.leave(b)
		at = (at + 1) % lineLength
		line[at].won(b)
		before.queue(b, same)
	}
}

func rawWaiters(b *testing.B, servers []string, same bool) []*waiter {
	form := map[bool]string{true: "same", false: "least"}[same]
	var line []*waiter
	for range lineLength {
		w := &waiter{raw: newRaw(b, servers, dirFor(b, form))}
		w.queue(b, same)
		line = append(line, w)
	}
	return line
}

// BenchmarkTakeOver is the time from a leader's resignation to the next one's term, and the least
// is a deletion, a watch event and a listing.
func BenchmarkTakeOver(b *testing.B) {
	servers, server := start(b)
	compare(b, server,
		&form{name: "troupe", cycle: troupeElection(b, servers)},
		&form{name: "same", cycle: rawTakeOver(b, servers, true)},
		&form{name: "least", cycle: rawTakeOver(b, servers, false)},
	)
}

func troupeElection(b *testing.B, servers []string) (takeOver func() time.Duration) {
	ctx := b.Context()
	var candidates []*election.Election
	for range lineLength {
		e, err := election.New(open(b, servers), dirFor(b, "troupe"))
		require.NoError(b, err)
		e.Campaign()
		waiting(b, e)
		candidates = append(candidates, e)
	}
	at := 0
	<-candidates[0].Leader()
	return func() time.Duration {
		before := candidates[at]
		at = (at + 1) % lineLength
		began := time.Now()
		require.NoError(b, before.Resign(ctx))
		<-candidates[at].Leader()
		took := time.Since(began)
		before.Campaign()
		waiting(b, before)
		return took
	}
}

func rawTakeOver(b *testing.B, servers []string, same bool) (takeOver func() time.Duration) {
	line := rawWaiters(b, servers, same)
	at := 0
	return func() time.Duration {
		began := time.Now()
		before := line[at]
		before.leave(b)
		at = (at + 1) % lineLength
		line[at].won(b)
		took := time.Since(began)
		before.queue(b, same)
		return took
	}
}

func waiting(b *testing.B, e *election.Election) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for s := range e.Standing(ctx) {
		if s.Phase == election.Leading || s.Phase == election.Waiting {
			return
		}
	}
}

// BenchmarkWaitingLock is what a lock costs while it waits: bytes of memory, and goroutines. Ten
// thousand of them wait in one process, a hundred on each of a hundred paths.
func BenchmarkWaitingLock(b *testing.B) {
	servers, _ := start(b)
	s := open(b, servers)
	const lines, each = 100, 100
	paths := make([]string, lines)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s/%d", dirFor(b, "waiting"), i)
		holder, err := lock.New(s, paths[i])
		require.NoError(b, err)
		_, err = holder.Lock(b.Context())
		require.NoError(b, err)
	}
	for b.Loop() {
		before, goroutines := heap(), runtime.NumGoroutine()
		var locks []*lock.Lock
		for _, path := range paths {
			for range each {
				l, err := lock.New(s, path)
				require.NoError(b, err)
				l.Acquire()
				locks = append(locks, l)
			}
		}
		for _, l := range locks {
			inLine(b, l)
		}
		for range 1000 { // each trip is behind all that was under way before it
			require.NoError(b, s.Sync(b.Context(), "/"))
			if runtime.NumGoroutine() < goroutines+lines {
				break
			}
		}
		b.ReportMetric(float64(heap()-before)/float64(len(locks)), "bytes/lock")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(len(locks)), "goroutines/lock")
		for _, l := range locks {
			require.NoError(b, l.Close(b.Context()))
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
