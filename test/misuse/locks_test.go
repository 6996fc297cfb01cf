package misuse_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// forever is as long as a duration can be.
const forever time.Duration = math.MaxInt64

// large is more than a server takes.
var large = make([]byte, 1<<20)

// locks are misuses of package lock.
func locks(w *world) []row {
	with := func(opts ...lock.Option) func() error {
		return func() error { return of(lock.New(w.s, "/a", opts...)) }
	}
	write := func(opts ...lock.Option) func() error {
		return func() error { return of(lock.NewWrite(w.s, "/a", opts...)) }
	}
	permits := func(n int, opts ...lock.Option) func() error {
		return func() error { return of(lock.NewSemaphore(w.s, "/a", n, opts...)) }
	}
	marked := func(data string) lock.Option { return lock.WithData([]byte(data)) }
	at := func(s *session.Session, path string, opts ...lock.Option) *lock.Lock {
		l, err := lock.New(s, path, opts...)
		require.NoError(w, err)
		return l
	}
	closed := at(w.s, "/a")
	require.NoError(w, closed.Close(w.Context()))
	multi := func(locks ...*lock.Lock) func() error { return func() error { return of(lock.NewMulti(locks...)) } }
	below := w.Unconnected(session.WithNamespace("/a"))
	m, err := lock.NewMulti(at(w.s, "/a"))
	require.NoError(w, err)
	limit := func(s *session.Session, path string, n int) func() error {
		return func() error { return lock.SetLimit(w.Context(), s, path, n) }
	}
	revoke := func(s *session.Session, path string) func() error {
		return func() error { return lock.Revoke(w.Context(), s, path) }
	}
	break_ := func(s *session.Session, path string, grace time.Duration) func() error {
		return func() error { return lock.Break(w.Context(), s, path, grace) }
	}
	const contender = "/a/_c_0123456789abcdef0123456789abcdef-lock-0000000001"
	rows := []row{
		{"lock.New: the layout Simple at a namespace's root", func() error {
			return of(lock.New(below, "/", lock.WithLayout(lock.Simple)))
		}, session.ErrInvalidPath, "path: the root"},
		{"lock.WithData: the mark of a revocation", with(marked("unlocked")), nil, "WithData: data"},
		{"lock.WithData: a semaphore's mark", permits(3, marked("held\n")), nil, "data"},
		{"lock.WithData: another one", permits(3, marked("placed 4\nx")), nil, "data"},
		{"lock.WithData: of a shared lock", write(marked("held\n")), nil, "data"},
		{"lock.WithData: too large", func() error {
			return of(at(w.s, "/a", lock.WithData(large)).Lock(w.Context()))
		}, session.ErrTooLarge, "data: "},
		{"lock.WithWarnAfter: negative", with(lock.WithWarnAfter(-1)), nil, "WithWarnAfter: d: negative"},
		{"lock.WithDelay: negative", with(lock.WithDelay(-1)), nil, "WithDelay: d: negative"},
		{"lock.WithDelay: a shared lock", write(lock.WithDelay(1)), session.ErrUnsupported, "WithDelay"},
		{"lock.WithDelay: a semaphore", permits(3, lock.WithDelay(1)), session.ErrUnsupported, "WithDelay"},
		{"lock.WithWeight: a lock", with(lock.WithWeight(1)), nil, "WithWeight"},
		{"lock.WithWeight: a shared lock", write(lock.WithWeight(1)), nil, "WithWeight"},
		{"lock.WithLayout: a semaphore", permits(3, lock.WithLayout(lock.Kazoo)), session.ErrUnsupported, "WithLayout"},
		{"lock.NewSemaphore: none", permits(0), nil, "permits: 0"},
		{"lock.NewSemaphore: negative", permits(-1), nil, "permits: -1"},
		{"lock.SetLimit: no session", limit(nil, "/a", 1), nil, "s: nil session"},
		{"lock.SetLimit: a closed one", limit(w.closed, "/a", 1), session.ErrClosed, "s: the session is"},
		{"lock.SetLimit: no path", limit(w.s, "a", 1), session.ErrInvalidPath, "path: "},
		{"lock.SetLimit: none", limit(w.s, "/a", 0), nil, "n: 0"},
		{"lock.NewMulti: no locks", multi(), nil, "locks: none"},
		{"lock.NewMulti: a nil lock", multi(at(w.s, "/a"), nil), nil, "locks[1]: nil"},
		{"lock.NewMulti: one lock twice", multi(closed, at(w.s, "/b"), closed), nil, "locks[2]: same path as locks[0]"},
		{
			"lock.NewMulti: a path twice, by way of a namespace",
			multi(at(w.s, "/a/b"), at(below, "/b")), nil, "locks[1]: same path as locks[0]",
		},
		{"lock.Lock: a closed lock", func() error { return of(closed.Lock(w.Context())) }, session.ErrClosed, "lock /a: closed"},
		{"lock.Lock.TryLock: a closed lock", func() error { return of(closed.TryLock(w.Context())) }, session.ErrClosed, "lock /a: closed"},
		{"lock.Lock.Do: no function", func() error { return closed.Do(w.Context(), nil) }, nil, "f: nil"},
		{"lock.Multi.Do: no function", func() error { return m.Do(w.Context(), nil) }, nil, "f: nil"},
		{"lock.Revoke: no session", revoke(nil, contender), nil, "s: nil session"},
		{"lock.Revoke: a closed one", revoke(w.closed, contender), session.ErrClosed, contender},
		{"lock.Revoke: no path", revoke(w.s, "a"), session.ErrInvalidPath, "contenderPath: "},
		{"lock.Revoke: the lock's path", revoke(w.s, "/a"), session.ErrInvalidPath, "contenderPath: not the path of"},
		{"lock.Break: no session", break_(nil, contender, 0), nil, "s: nil session"},
		{"lock.Break: a closed one", break_(w.closed, contender, 0), session.ErrClosed, contender},
		{"lock.Break: no path", break_(w.s, "", 0), session.ErrInvalidPath, "contenderPath: "},
		{"lock.Break: the lock's path", break_(w.s, "/a", 0), session.ErrInvalidPath, "contenderPath: not the path of"},
		{"lock.Break: a negative time", break_(w.s, contender, -1), nil, "grace: negative"},
	}
	for _, n := range []int{0, -1, 4, math.MaxInt} {
		call := fmt.Sprintf("lock.WithWeight: %d of 3", n)
		rows = append(rows, row{call, permits(3, lock.WithWeight(n)), nil, "WithWeight: n: "})
	}
	for _, l := range []lock.Layout{-1, 6, 1000} {
		rows = append(rows, row{"lock.WithLayout: " + l.String(), with(lock.WithLayout(l)), nil, "WithLayout: unknown layout"})
	}
	for _, l := range []lock.Layout{lock.Simple, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper} {
		rows = append(rows, row{
			"lock.WithDelay: in the layout " + l.String(), with(lock.WithLayout(l), lock.WithDelay(1)),
			session.ErrUnsupported, "WithDelay",
		})
	}
	return rows
}

// elections are misuses of package election.
func elections(w *world) []row {
	with := func(opts ...election.Option) func() error {
		return func() error { return of(election.New(w.s, "/a", opts...)) }
	}
	lead := func(opt election.Option) func() error {
		return func() error {
			e, err := election.New(w.s, "/a", opt)
			require.NoError(w, err)
			return of(e.Lead(w.Context()))
		}
	}
	e, err := election.New(w.s, "/e")
	require.NoError(w, err)
	term, err := e.Lead(w.Context())
	require.NoError(w, err)
	transfer := func(path string) func() error { return func() error { return term.TransferTo(w.Context(), path) } }
	rows := []row{
		{"election.WithID: empty", with(election.WithID("")), nil, "WithID: empty"},
		{"election.WithID: no UTF-8", with(election.WithID("\xff")), nil, "WithID: not UTF-8"},
		{"election.WithID: too large", lead(election.WithID(string(large))), session.ErrTooLarge, "data: "},
		{"election.WithData: too large", lead(election.WithData(large)), session.ErrTooLarge, "data: "},
		{"election.WithWarnAfter: negative", with(election.WithWarnAfter(-1)), nil, "WithWarnAfter: d: negative"},
		{"election.WithLayout: negative", with(election.WithLayout(-1)), nil, "WithLayout: unknown layout"},
		{"election.WithLayout: unknown", with(election.WithLayout(4)), nil, "WithLayout: unknown layout"},
		{"election.Run: no function", func() error { return e.Run(w.Context(), nil) }, nil, "f: nil"},
		{"election.TransferTo: no path", transfer(""), session.ErrInvalidPath, "candidatePath: "},
		{"election.TransferTo: the election's path", transfer("/e"), session.ErrInvalidPath, "candidatePath: "},
		{"election.TransferTo: itself", transfer(term.Path()), session.ErrInvalidPath, "candidatePath: "},
	}
	for _, l := range []election.Layout{election.Curator, election.Kazoo, election.LeaderElectionSupport} {
		rows = append(rows, row{
			"election.WithData: in the layout " + l.String(),
			with(election.WithLayout(l), election.WithData([]byte("x"))), session.ErrUnsupported, "WithData",
		})
	}
	return rows
}

// barriers are misuses of package barrier.
func barriers(w *world) []row {
	double := func(n int, opts ...barrier.Option) func() error {
		return func() error { return of(barrier.NewDouble(w.s, "/a", n, opts...)) }
	}
	below := w.Unconnected(session.WithNamespace("/a"))
	rows := []row{
		{"barrier.New: a namespace's root", func() error { return of(barrier.New(below, "/")) }, session.ErrInvalidPath, "path: the root"},
		{"barrier.NewDouble: a namespace's root", func() error { return of(barrier.NewDouble(below, "/", 2)) }, session.ErrInvalidPath, "path: the root"},
		{"barrier.UntilExpiry: a barrier without passages", func() error {
			return of(barrier.New(w.s, "/a", barrier.UntilExpiry()))
		}, session.ErrUnsupported, "UntilExpiry"},
		{"barrier.WithWarnAfter: negative", double(2, barrier.WithWarnAfter(-1)), nil, "WithWarnAfter: d: negative"},
	}
	for _, n := range []int{0, -1, 1001, math.MaxInt} {
		rows = append(rows, row{fmt.Sprintf("barrier.NewDouble: %d parties", n), double(n), nil, "parties: "})
	}
	for id, says := range map[string]string{
		"": "id: empty", "a/b": "id: contains a slash", "a\nb": "id: ", "\xff": "id: ",
	} {
		rows = append(rows, row{fmt.Sprintf("barrier.WithID: %.9q", id), double(2, barrier.WithID(id)), nil, says})
	}
	return rows
}

// fences are misuses of package fence.
func fences(w *world) []row {
	s := w.Session(session.WithNamespace("/app"))
	l, err := lock.New(s, "/locks")
	require.NoError(w, err)
	g, err := l.Lock(w.Context())
	require.NoError(w, err)
	q := g.Sequencer()
	outside := q
	outside.Path = "/application" + strings.TrimPrefix(q.Path, "/app")
	rows := make([]row, 0, 8)
	for name, call := range map[string]func(s *session.Session, q fence.Sequencer) error{
		"fence.Check":  func(s *session.Session, q fence.Sequencer) error { return fence.Check(w.Context(), s, q) },
		"fence.Follow": func(s *session.Session, q fence.Sequencer) error { return of(fence.Follow(w.Context(), s, q)) },
	} {
		rows = append(rows,
			row{name + ": no session", func() error { return call(nil, q) }, nil, "s: nil session"},
			row{name + ": a closed session", func() error { return call(w.closed, q) }, session.ErrClosed, "closed"},
			row{name + ": the zero sequencer", func() error { return call(s, fence.Sequencer{}) }, fence.ErrInvalid, `mode ""`},
			row{name + ": outside the namespace", func() error { return call(s, outside) }, session.ErrInvalidPath, "q.Path: "})
	}
	return rows
}
