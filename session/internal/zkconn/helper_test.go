package zkconn_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

const timeout = 6 * time.Second // of the sessions here: a sixth of it is a second

// sink collects what a Conn tells, and fails the test if it is told two things at once.
type sink struct {
	t      testing.TB
	busy   atomic.Bool
	mu     sync.Mutex
	events []zkconn.Event
	times  []time.Time
}

func (s *sink) take(ev zkconn.Event) {
	if !s.busy.CompareAndSwap(false, true) {
		s.t.Error("the sink was called by two goroutines at once")
	}
	defer s.busy.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.times = append(s.events, ev), append(s.times, time.Now())
}

// all is what was told, but for the answers to pings.
func (s *sink) all() []zkconn.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(ev zkconn.Event) bool {
		_, heard := ev.(zkconn.Heard)
		return heard
	})
}

// told are the events of one type with the instants at which they were told.
func told[E zkconn.Event](s *sink) (events []E, at []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, ev := range s.events {
		if e, ok := ev.(E); ok {
			events, at = append(events, e), append(at, s.times[i])
		}
	}
	return events, at
}

func last[E zkconn.Event](s *sink) E {
	events, _ := told[E](s)
	require.NotEmpty(s.t, events, "no %T was told", *new(E))
	return events[len(events)-1]
}

// bench is a Conn on a scripted server, inside a bubble.
type bench struct {
	*testing.T
	*fake
	*zkconn.Conn
	sink *sink
}

// inBubble runs a test with virtual time. The Conn is closed at the end, and everything has to be
// over then.
func inBubble(t *testing.T, test func(b *bench), change ...func(*fake, *zkconn.Config)) {
	t.Helper()
	t.Parallel()
	inOneBubble(t, test, change...)
}

// inOneBubble is inBubble for a test that has several, one after the other.
func inOneBubble(t *testing.T, test func(b *bench), change ...func(*fake, *zkconn.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		s := &sink{t: t}
		cfg := zkconn.Config{Servers: []string{"a:1"}, Timeout: timeout, Dial: f.dial}
		for _, c := range change {
			c(f, &cfg)
		}
		c, err := zkconn.Open(cfg, s.take)
		require.NoError(t, err)
		b := &bench{T: t, fake: f, Conn: c, sink: s}
		defer func() {
			if t.Failed() {
				t.Logf("told: %+v at %v", s.events, s.times)
			}
			c.Abandon()
			for _, v := range f.visits {
				v.hangUp()
			}
			synctest.Wait()
		}()
		test(b)
	})
}

// connected waits for everything that happens without the clock moving, and checks that it leads to
// a connection.
func (b *bench) connected() *visit {
	b.Helper()
	synctest.Wait()
	ups, _ := told[zkconn.Up](b.sink)
	require.NotEmpty(b, ups, "not connected")
	b.fake.mu.Lock()
	defer b.fake.mu.Unlock()
	return b.visits[len(b.visits)-1]
}

// got is what came of a call that must be over by now.
func got[T any](t testing.TB, done <-chan T) T {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-done:
		return v
	default:
		t.Fatal("the call is not over")
		panic("unreachable")
	}
}

// pending checks that a call is not over.
func pending[T any](t testing.TB, done <-chan T) {
	t.Helper()
	synctest.Wait()
	require.Empty(t, done, "the call is over")
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
