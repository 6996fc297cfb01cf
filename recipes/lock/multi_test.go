package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func (w *world) at(h *bubble.Host, path string) *lock.Lock {
	w.Helper()
	l, err := lock.New(h.Session, path)
	require.NoError(w, err)
	return l
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

// standing counts all contenders in the tree.
func (w *world) standing() int {
	n := 0
	for line := range strings.Lines(w.Server.Dump()) {
		if strings.HasPrefix(line, "/m/") && strings.Contains(line, "/_c_") {
			n++
		}
	}
	return n
}

func TestMultiTakesAllInOneOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		m, locks := w.multi(h, "/m/c", "/m/a", "/m/b")
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		require.True(w, g.Valid())
		require.Len(w, g.Grants(), 3)
		var last int64
		for i, part := range g.Grants() {
			require.Contains(w, part.Path(), []string{"/m/a/", "/m/b/", "/m/c/"}[i])
			require.Greater(w, part.Token(), last, "taken in this order")
			last = part.Token()
			require.True(w, part.Valid())
		}
		require.Equal(w, g.Grants()[0].Path(), g.Path())
		require.Equal(w, g.Grants()[0].Token(), g.Token())
		_, err = g.Commit(w.Context(), session.CreateOp("/done", nil))
		require.NoError(w, err)
		for _, l := range locks {
			_, err := l.TryLock(w.Context())
			require.ErrorIs(w, err, lock.ErrHeld)
		}
		began := time.Now()
		require.NoError(w, g.Release(w.Context()))
		require.Zero(w, time.Since(began))
		require.ErrorIs(w, g.Err(), session.ErrReleased)
		require.Zero(w, w.standing())
		for _, part := range g.Grants() {
			require.ErrorIs(w, part.Err(), session.ErrReleased)
		}
		require.NoError(w, g.Release(w.Context()), "it is idempotent")
	})
}

// The order of acquisition is the canonical one on the wire, whatever order the caller names.
func TestMultiAsksInCanonicalOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.Host("a"), w.Host("b", session.WithNamespace("/m"))
		inNamespace := w.at(b, "/b")
		m, err := lock.NewMulti(inNamespace, w.at(a, "/m/c"), w.at(a, "/m/a"))
		require.NoError(w, err)
		w.Server.ClearJournal()
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		var lines []string
		for _, r := range w.Server.Journal() {
			if strings.HasPrefix(r.Op.String(), "create") && strings.Contains(r.Path, "lock-") {
				if line := r.Path[:len("/m/a")]; len(lines) == 0 || lines[len(lines)-1] != line {
					lines = append(lines, line)
				}
			}
		}
		require.Equal(w, []string{"/m/a", "/m/b", "/m/c"}, lines)
		_, err = g.Commit(w.Context(), session.CreateOp("/done", nil))
		require.ErrorIs(w, err, session.ErrUnsupported, "two sessions")
		require.NoError(w, g.Release(w.Context()))
	})
}

func TestMultiIsAllOrNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		m, locks := w.multi(ha, "/m/a", "/m/b", "/m/c")
		other := w.at(hb, "/m/c")
		held := w.held(other)

		_, err := m.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		require.Equal(w, 1, w.standing(), "a refused try leaves nothing")

		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err = m.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 3*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(w, 1, w.standing(), "nor does one that has given up")

		result := make(chan error, 1)
		go func() { _, err := m.Lock(w.Context()); result <- err }()
		synctest.Wait()
		require.NoError(w, locks[2].Close(w.Context()))
		require.ErrorIs(w, bubble.Within(w, time.Second, result), session.ErrClosed)
		synctest.Wait()
		require.Equal(w, 1, w.standing(), "nor one that cannot succeed")

		m, _ = w.multi(ha, "/m/a", "/m/b", "/m/c")
		require.NoError(w, held.Release(w.Context()))
		g, err := m.TryLock(w.Context())
		require.NoError(w, err)
		require.Equal(w, 3, w.standing())
		require.NoError(w, g.Release(w.Context()))
	})
}

func TestMultiDo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		m, locks := w.multi(h, "/m/a", "/m/b")
		boom := errors.New("boom")
		err := m.Do(w.Context(), func(ctx context.Context, g *lock.MultiGrant) error {
			require.NoError(w, ctx.Err())
			for _, l := range locks {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock)
				_, err = l.TryLock(g.Context())
				require.ErrorIs(w, err, lock.ErrDeadlock)
			}
			overlapping, _ := w.multi(h, "/m/0", "/m/b")
			_, err := overlapping.Lock(ctx)
			require.ErrorIs(w, err, lock.ErrDeadlock)
			require.NotContains(w, w.Server.Dump(), "/m/0", "refused before anything is asked for")
			return boom
		})
		require.ErrorIs(w, err, boom)
		require.Zero(w, w.standing())

		require.NoError(w, m.Do(w.Context(), func(ctx context.Context, g *lock.MultiGrant) error { return g.Release(ctx) }))
		require.PanicsWithValue(w, "f's own", func() {
			_ = m.Do(w.Context(), func(context.Context, *lock.MultiGrant) error { panic("f's own") })
		})
		require.Zero(w, w.standing(), "a panic of the function releases too")
		err = m.Do(w.Context(), func(ctx context.Context, g *lock.MultiGrant) error {
			require.NoError(w, h.Delete(w.Context(), g.Grants()[1].Path(), -1))
			bubble.Within(w, time.Second, ctx.Done())
			require.ErrorIs(w, context.Cause(ctx), session.ErrDeleted)
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorContains(w, m.Do(w.Context(), nil), "f: nil")
	})
}

func TestMultiRefusesBadInput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, inside := w.Host("a"), w.Host("b", session.WithNamespace("/m"))
		_, err := lock.NewMulti()
		require.ErrorContains(w, err, "locks")
		_, err = lock.NewMulti(w.at(h, "/m/a"), nil)
		require.ErrorContains(w, err, "locks[1]: nil")
		a := w.at(h, "/m/a")
		_, err = lock.NewMulti(a, w.at(h, "/m/b"), a)
		require.ErrorContains(w, err, "locks[2]: same path as locks[0]")
		_, err = lock.NewMulti(a, w.at(inside, "/a"))
		require.ErrorContains(w, err, "locks[1]: same path as locks[0]", "with the namespace")
		_, err = lock.NewMulti(w.at(h, "/a"), w.at(inside, "/a"))
		require.NoError(w, err)
		require.NotContains(w, w.Server.Dump(), "/m/")
	})
}

// Locks of every kind and layout, together.
func TestMultiOfEveryKind(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		of := func(h *bubble.Host) *lock.Multi {
			var locks []*lock.Lock
			for _, construct := range []func() (*lock.Lock, error){
				func() (*lock.Lock, error) { return lock.NewSemaphore(h.Session, "/m/lease", 4, lock.WithWeight(3)) },
				func() (*lock.Lock, error) { return lock.NewRead(h.Session, "/m/read") },
				func() (*lock.Lock, error) { return lock.NewWrite(h.Session, "/m/write") },
				func() (*lock.Lock, error) { return lock.New(h.Session, "/m/simple", lock.WithLayout(lock.Simple)) },
				func() (*lock.Lock, error) { return lock.New(h.Session, "/m/kazoo", lock.WithLayout(lock.Kazoo)) },
				func() (*lock.Lock, error) { return lock.New(h.Session, "/m/delay", lock.WithDelay(time.Second)) },
			} {
				l, err := construct()
				require.NoError(w, err)
				locks = append(locks, l)
			}
			m, err := lock.NewMulti(locks...)
			require.NoError(w, err)
			return m
		}
		ha, hb := w.Host("a"), w.Host("b")
		a, b := of(ha), of(hb)
		g, err := a.Lock(w.Context())
		require.NoError(w, err)
		require.Len(w, g.Grants(), 6)
		_, err = b.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		_, err = g.Commit(w.Context(), session.CreateOp("/done", nil))
		require.NoError(w, err, "all of them are checked")
		writer, err := lock.NewWrite(ha.Session, "/m/read")
		require.NoError(w, err)
		m, err := lock.NewMulti(w.at(ha, "/m/other"), writer)
		require.NoError(w, err)
		_, err = m.Lock(g.Context())
		require.ErrorIs(w, err, lock.ErrUpgrade)
		require.NotContains(w, w.Server.Dump(), "/m/other", "before anything is asked for")
		require.NoError(w, g.Release(w.Context()))
		g, err = b.Lock(w.Context())
		require.NoError(w, err)

		part := g.Grants()[5]
		require.Contains(w, part.Path(), "/m/write/")
		read, err := part.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrReleased, "a part that is exchanged ends the whole")
		synctest.Wait()
		require.True(w, read.Valid())
		require.Equal(w, []string{read.Path()}, ephemerals(w, hb))
	})
}
