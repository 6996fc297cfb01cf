package lock_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/locks/orders"

// world is a bubble with locks in it.
type world struct{ *bubble.World }

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w}) }, bubble.Brisk(opts...)...)
}

func inEachFate(t *testing.T, test func(w *world, k int, strike func(s *session.Session))) {
	t.Helper()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) { test(&world{w}, k, strike) }, bubble.Brisk()...)
}

func (w *world) lock(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.New(h.Session, path, opts...)
	require.NoError(w, err)
	return l
}

// held takes the lock, which must be free.
func (w *world) held(l *lock.Lock) *lock.Grant {
	w.Helper()
	g, err := l.Lock(w.Context())
	require.NoError(w, err)
	return g
}

// queued states the intent and sees to it that it stands in line.
func (w *world) queued(l *lock.Lock) *lock.Lock {
	w.Helper()
	l.Acquire()
	synctest.Wait()
	return l
}

// granted states the intent and receives what comes of it at once. The intent goes on standing,
// which one of held does not.
func (w *world) granted(l *lock.Lock) *lock.Grant {
	w.Helper()
	l.Acquire()
	return bubble.Within(w, time.Second, l.Acquired())
}

// nodes counts the contenders in the tree.
func (w *world) nodes() int {
	n := 0
	for line := range strings.Lines(w.Server.Dump()) {
		if strings.HasPrefix(line, path+"/_c_") {
			n++
		}
	}
	return n
}

// traffic counts requests, and watch events, since the journal was cleared.
func (w *world) traffic() (requests, events int) {
	for _, r := range w.Server.Journal() {
		if r.Op != zktest.OpPing && r.Op != zktest.OpSync {
			requests++
		}
		events += r.Fired
	}
	return requests, events
}
