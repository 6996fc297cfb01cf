// The helpers of this package's tests: locks in a bubble, and locks on real servers.

package lock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const (
	path       = "/locks/orders"
	controller = "/controller"
	lockDelay  = 15 * time.Second

	unwatched = 5 * time.Millisecond // from a grant to the first read of its znode
)

// world is a bubble with locks in it.
type world struct{ *bubble.World }

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w}) }, bubble.Brisk(opts...)...)
}

// builder makes a lock of some kind.
type builder func(w *world, h *bubble.Host, opts ...lock.Option) *lock.Lock

func (w *world) made(l *lock.Lock, err error) *lock.Lock {
	w.Helper()
	require.NoError(w, err)
	return l
}

func (w *world) at(h *bubble.Host, path string, opts ...lock.Option) *lock.Lock {
	w.Helper()
	return w.made(lock.New(h.Session, path, opts...))
}

func (w *world) lock(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	return w.at(h, path, opts...)
}

func (w *world) delayed(h *bubble.Host) *lock.Lock {
	w.Helper()
	return w.lock(h, lock.WithDelay(lockDelay))
}

func (w *world) simple(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	return w.at(h, controller, append(opts, lock.WithLayout(lock.Simple))...)
}

func (w *world) reader(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	return w.made(lock.NewRead(h.Session, path, opts...))
}

func (w *world) writer(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	return w.made(lock.NewWrite(h.Session, path, opts...))
}

func (w *world) semaphore(h *bubble.Host, permits int, opts ...lock.Option) *lock.Lock {
	w.Helper()
	return w.made(lock.NewSemaphore(h.Session, path, permits, opts...))
}

// multi makes locks on paths, and one of them all.
func (w *world) multi(h *bubble.Host, paths ...string) (*lock.Multi, []*lock.Lock) {
	w.Helper()
	var locks []*lock.Lock
	for _, path := range paths {
		locks = append(locks, w.at(h, path))
	}
	m, err := lock.NewMulti(locks...)
	require.NoError(w, err)
	return m, locks
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

// ended is a context that has.
func (w *world) ended() context.Context {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	return ctx
}

// nodes counts the contenders in the tree.
func (w *world) nodes() int { return w.contenders(path + "/") }

// standing counts the contenders of all parts of a Multi.
func (w *world) standing() int { return w.contenders("/m/") }

func (w *world) contenders(below string) (n int) {
	for line := range strings.Lines(w.Server.Dump()) {
		if strings.HasPrefix(line, below) && strings.Contains(line, "/_c_") {
			n++
		}
	}
	return n
}

// kept is what the server keeps for a host.
func (w *world) kept(h *bubble.Host) zktest.Session {
	synctest.Wait()
	info, found := w.Server.Session(h.Status().SessionID)
	require.True(w, found)
	return info
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

// deaf lets a session's deletions fail, or take their time, until it is told to stop.
func (w *world) deaf(h *bubble.Host, fate zktest.Verdict) (hear func()) {
	id := h.Status().SessionID
	return w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && (r.Op == zktest.OpDelete || r.Op == zktest.OpMulti && changes(r)) {
			return fate
		}
		return zktest.Pass
	})
}

// changes tells a transaction from one that only checks.
func changes(r *zktest.Request) bool {
	for _, part := range r.Ops {
		if part.Op != zktest.OpCheck {
			return true
		}
	}
	return false
}

// patience bounds what happens on real servers and a busy machine.
const patience = time.Minute

// newLock is an exclusive lock on real servers.
func newLock(t *testing.T, s *session.Session, path string) *lock.Lock {
	t.Helper()
	l, err := lock.New(s, path)
	require.NoError(t, err)
	return l
}

// inLine states the intent and waits until it stands in line, or holds.
func inLine(t testing.TB, l *lock.Lock, err error) *lock.Lock {
	t.Helper()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l.Acquire()
	for s := range l.Standing(ctx) {
		if s.Phase == lock.Held || s.Ahead > 0 {
			return l
		}
	}
	t.Fatal("never in line")
	return nil
}
