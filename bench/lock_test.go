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
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// cycles is for what is compared cycle by cycle.
var cycles = share{"op", 1, 20}

// BenchmarkUncontended is a lock taken and released, with nobody else in line.
func BenchmarkUncontended(b *testing.B) {
	e := ensemble.Start(b, 1)
	l, err := lock.New(open(b, e.Servers()), pathFor(b, "troupe"))
	require.NoError(b, err)
	same, least := newRaw(b, e.Servers(), pathFor(b, "same")), newRaw(b, e.Servers(), pathFor(b, "least"))
	ctx := b.Context()
	compare(b, e, cycles,
		&form{name: "troupe", cycle: timed(func() {
			g, err := l.Lock(ctx)
			require.NoError(b, err)
			require.NoError(b, g.Release(ctx))
		})},
		&form{name: "same", cycle: timed(func() { same.same(b) })},
		&form{name: "least", cycle: timed(func() { least.least(b) })},
	)
}

// BenchmarkHandOver is a lock handed from one of 16 sessions to the next, while the one that had it
// goes to the end of the line.
func BenchmarkHandOver(b *testing.B) {
	handedOver(b, true, func(servers []string) contender {
		l, err := lock.New(open(b, servers), pathFor(b, "troupe"))
		require.NoError(b, err)
		return &locker{b: b, l: l}
	})
}

// BenchmarkTakeOver is the time from a leader's resignation to the next one's term, and the least
// is a deletion, a watch event and a listing.
func BenchmarkTakeOver(b *testing.B) {
	handedOver(b, false, func(servers []string) contender {
		e, err := election.New(open(b, servers), pathFor(b, "troupe"))
		require.NoError(b, err)
		return &candidate{b, e}
	})
}

// contender is one of a line, of Troupe's or bare.
type contender interface {
	queue() // takes a place, and returns when it waits there or holds
	won()   // returns when it holds
	leave() // gives up what it holds
}

// handedOver compares lines of 16 sessions. The former holder's way to the end of the line is
// measured too, or not.
func handedOver(b *testing.B, back bool, ours func(servers []string) contender) {
	e := ensemble.Start(b, 1)
	bare := func(form string) func(servers []string) contender {
		return func(servers []string) contender {
			return &waiter{raw: newRaw(b, servers, pathFor(b, form)), b: b, same: form == "same"}
		}
	}
	var forms []*form
	for _, f := range []struct {
		name string
		make func(servers []string) contender
	}{{"troupe", ours}, {"same", bare("same")}, {"least", bare("least")}} {
		var line []contender
		for range 16 {
			c := f.make(e.Servers())
			c.queue()
			line = append(line, c)
		}
		forms = append(forms, &form{name: f.name, cycle: handOver(line, back)})
	}
	compare(b, e, cycles, forms...)
}

func handOver(line []contender, back bool) func() time.Duration {
	at := 0
	line[0].won()
	return func() time.Duration {
		began := time.Now()
		before := line[at]
		before.leave()
		at = (at + 1) % len(line)
		line[at].won()
		took := time.Since(began)
		before.queue()
		if back {
			took = time.Since(began)
		}
		return took
	}
}

// locker is a contender for a lock.
type locker struct {
	b *testing.B
	l *lock.Lock
	g *lock.Grant
}

func (c *locker) queue() {
	c.l.Acquire()
	inLine(c.b, c.l)
}

func (c *locker) won()   { c.g = <-c.l.Acquired() }
func (c *locker) leave() { require.NoError(c.b, c.g.Release(c.b.Context())) }

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

// candidate is a contender in an election.
type candidate struct {
	b *testing.B
	e *election.Election
}

func (c *candidate) queue() {
	c.e.Campaign()
	ctx, cancel := context.WithCancel(c.b.Context())
	defer cancel()
	for s := range c.e.Standing(ctx) {
		if s.Phase == election.Leading || s.Phase == election.Waiting {
			return
		}
	}
}

func (c *candidate) won()   { <-c.e.Leader() }
func (c *candidate) leave() { require.NoError(c.b, c.e.Resign(c.b.Context())) }

// BenchmarkWaitingLock is what a lock costs while it waits: bytes of memory, and goroutines. Ten
// thousand of them wait in one process, a hundred on each of a hundred paths.
func BenchmarkWaitingLock(b *testing.B) {
	s := open(b, ensemble.Start(b, 1).Servers())
	const lines, each = 100, 100
	paths := make([]string, lines)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s/%d", pathFor(b, "waiting"), i)
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
