// The helpers of this package's tests.

package lock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
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

// inBubble runs a test in virtual time, beside others.
func inBubble(t *testing.T, test func(w *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, test, bubble.Brisk(opts...)...)
}

// eachRow is inBubble for each row of a table.
func eachRow[R any](t *testing.T, rows map[string]R, test func(w *bubble.World, row R), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.EachRow(t, rows, test, bubble.Brisk(opts...)...)
}

// must is for a call in the test's own goroutine that has to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// errOf is the error of a call whose value is not wanted.
func errOf[T any](_ T, err error) error { return err }

// builder makes a lock of some kind.
type builder func(h *bubble.Host, opts ...lock.Option) *lock.Lock

func lockAt(h *bubble.Host, path string, opts ...lock.Option) *lock.Lock {
	return must(lock.New(h.Session, path, opts...))
}

func newLock(h *bubble.Host, opts ...lock.Option) *lock.Lock { return lockAt(h, path, opts...) }

func delayed(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	return newLock(h, append(opts, lock.WithDelay(lockDelay))...)
}

func simple(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	return lockAt(h, controller, append(opts, lock.WithLayout(lock.Simple))...)
}

func reader(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	return must(lock.NewRead(h.Session, path, opts...))
}

func writer(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	return must(lock.NewWrite(h.Session, path, opts...))
}

func semaphore(h *bubble.Host, permits int, opts ...lock.Option) *lock.Lock {
	return must(lock.NewSemaphore(h.Session, path, permits, opts...))
}

// permits makes a semaphore of three permits, with a weight.
func permits(weight int) builder {
	return func(h *bubble.Host, opts ...lock.Option) *lock.Lock {
		return semaphore(h, 3, append(opts, lock.WithWeight(weight))...)
	}
}

// multi makes locks on paths, and a Multi of them all.
func multi(h *bubble.Host, paths ...string) (*lock.Multi, []*lock.Lock) {
	var locks []*lock.Lock
	for _, path := range paths {
		locks = append(locks, lockAt(h, path))
	}
	return must(lock.NewMulti(locks...)), locks
}

// by is a lock at the path, for a client that only asks and takes away.
func by(s *session.Session) *lock.Lock { return must(lock.New(s, path)) }

// of is the holder of a grant, as others see it.
func of(g *lock.Grant) lock.Contender { return lock.Contender{Path: g.Path(), Token: g.Token()} }

// setLimit sets the limit of the semaphore at the path.
func setLimit(w *bubble.World, s *session.Session, n int) {
	w.Helper()
	require.NoError(w, must(lock.NewSemaphore(s, path, 1)).SetLimit(w.Context(), n))
}

// held waits for the lock.
func held(w *bubble.World, l *lock.Lock) *lock.Grant {
	w.Helper()
	g, err := l.Lock(w.Context())
	require.NoError(w, err)
	return g
}

// queued states the intent. The lock is in the queue when it returns, or held.
func queued(l *lock.Lock) *lock.Lock {
	l.Acquire()
	synctest.Wait()
	return l
}

// granted states the intent and receives its grant. Unlike the request of held, the intent goes on.
func granted(w *bubble.World, l *lock.Lock) *lock.Grant {
	w.Helper()
	l.Acquire()
	return bubble.Within(w, time.Second, l.Acquired())
}

// gaveUp is the error of a wait for the lock that ends after a time.
func gaveUp(w *bubble.World, l *lock.Lock, d time.Duration) error {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	_, err := l.Lock(ctx)
	require.ErrorIs(w, err, context.DeadlineExceeded)
	return err
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// nodes counts the contenders below a path.
func nodes(w *bubble.World, below string) (n int) {
	for line := range strings.Lines(w.Server.Dump()) {
		if strings.HasPrefix(line, below+"/") && strings.Contains(line, "/_c_") {
			n++
		}
	}
	return n
}

// content is the data of a znode.
func content(w *bubble.World, path string) string {
	w.Helper()
	return string(must(w.Server.Znodes(w).Get(path)))
}

// kept is what the server keeps for a session.
func kept(w *bubble.World, h *bubble.Host) zktest.Session {
	w.Helper()
	synctest.Wait()
	info, found := w.Server.Session(h.Status().SessionID)
	require.True(w, found)
	return info
}

// cost counts requests since the journal was cleared, pings aside.
type cost struct {
	syncs, checks, others int      // checks are transactions that only check
	reads                 []string // requests among the others that read and set no watch
	events                int      // of watches
}

// costOf counts the requests of a session; nil: of all sessions.
func costOf(w *bubble.World, h *bubble.Host) (c cost) {
	synctest.Wait()
	for _, r := range w.Server.Journal() {
		c.events += r.Fired
		switch {
		case h != nil && r.SessionID != h.Status().SessionID || r.Op == zktest.OpPing || r.Op == zktest.OpConnect:
		case r.Op == zktest.OpSync:
			c.syncs++
		case r.Op == zktest.OpMulti && len(r.Ops) == 1 && !changes(&r):
			c.checks++
		case !r.Watch && (r.Op == zktest.OpGetData || r.Op == zktest.OpExists || r.Op == zktest.OpGetChildren || r.Op == zktest.OpGetChildren2):
			c.reads = append(c.reads, r.Op.String()+" "+r.Path)
			fallthrough
		default:
			c.others++
		}
	}
	return c
}

// fate gives the requests of a session that match a fate, until it is told to stop.
func fate(w *bubble.World, h *bubble.Host, fate zktest.Verdict, match func(r *zktest.Request) bool) (stop func()) {
	id := h.Status().SessionID
	return w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && match(r) {
			return fate
		}
		return zktest.Pass
	})
}

// deletes matches deletions, also within a transaction.
func deletes(r *zktest.Request) bool {
	return r.Op == zktest.OpDelete || r.Op == zktest.OpMulti && changes(r)
}

// is matches an operation.
func is(op zktest.Op) func(r *zktest.Request) bool {
	return func(r *zktest.Request) bool { return r.Op == op }
}

// changes is false for a transaction that only checks.
func changes(r *zktest.Request) bool {
	return slices.ContainsFunc(r.Ops, func(part jute.Request) bool { return part.Op != zktest.OpCheck })
}
