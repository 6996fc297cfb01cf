// Several locks as one: their order, all or none, and the effect of a lost part on the others.

package lock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Locks of two sessions are taken in the order of their whole paths. The loss of one ends the
// whole, and releases the others.
func TestMultiTakesAllInOneOrder(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		a, b := w.Host("a"), w.Host("b", session.WithNamespace("/m"))
		locks := []*lock.Lock{lockAt(b, "/b"), lockAt(a, "/m/c"), lockAt(a, "/m/a")}
		m := must(lock.NewMulti(locks...))
		g := must(m.Lock(w.Context()))
		require.True(w, g.Valid())
		require.Len(w, g.Grants(), 3)
		var last int64
		for i, part := range g.Grants() {
			require.True(w, strings.HasPrefix(part.Sequencer().Path, []string{"/m/a/", "/m/b/", "/m/c/"}[i]))
			require.Greater(w, part.Token(), last, "taken in this order")
			last = part.Token()
			require.True(w, part.Valid())
		}
		require.Equal(w, g.Grants()[0].Path(), g.Path())
		require.Equal(w, g.Grants()[0].Token(), g.Token())
		require.ErrorIs(w, errOf(g.Commit(w.Context(), session.CreateOp("/done", nil))), session.ErrUnsupported, "two sessions")
		for _, l := range locks {
			require.ErrorIs(w, errOf(l.TryLock(w.Context())), lock.ErrHeld)
		}
		began := time.Now()
		require.NoError(w, g.Release(w.Context()))
		require.Zero(w, time.Since(began))
		require.ErrorIs(w, g.Err(), session.ErrReleased)
		require.Zero(w, nodes(w, "/m"))
		for _, part := range g.Grants() {
			require.ErrorIs(w, part.Err(), session.ErrReleased)
		}
		require.NoError(w, g.Release(w.Context()), "it is idempotent")

		g = must(m.Lock(w.Context()))
		require.NoError(w, w.Server.Znodes(w).Delete(g.Grants()[1].Sequencer().Path))
		bubble.Within(w, time.Second, g.Done())
		synctest.Wait()
		for i, cause := range []error{session.ErrReleased, session.ErrDeleted, session.ErrReleased} {
			require.ErrorIs(w, g.Grants()[i].Err(), cause)
		}
		for _, err := range []error{g.Err(), context.Cause(g.Context()), g.Release(w.Context())} {
			require.ErrorIs(w, err, session.ErrDeleted)
		}
		require.Zero(w, nodes(w, "/m"))
	})
}

func TestMultiIsAllOrNone(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha := w.Host("a")
		m, locks := multi(ha, "/m/a", "/m/b", "/m/c")
		g := held(w, lockAt(w.Host("b"), "/m/c"))
		_, err := m.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		require.Equal(w, 1, nodes(w, "/m"), "a refused try leaves nothing")

		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err = m.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 3*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(w, 1, nodes(w, "/m"), "nor does a call that gave up")

		result := bubble.Begin(func() error { _, err := m.Lock(w.Context()); return err })
		synctest.Wait()
		require.NoError(w, locks[2].Close(w.Context()))
		require.ErrorIs(w, bubble.Within(w, time.Second, result), session.ErrClosed)
		synctest.Wait()
		require.Equal(w, 1, nodes(w, "/m"), "nor one that cannot succeed")

		m, locks = multi(ha, "/m/a", "/m/b", "/m/c")
		require.NoError(w, g.Release(w.Context()))
		all := must(m.TryLock(w.Context()))
		require.Equal(w, 3, nodes(w, "/m"))
		require.NoError(w, m.Close(w.Context()))
		require.ErrorIs(w, all.Err(), session.ErrClosed)
		require.Zero(w, nodes(w, "/m"))
		held(w, locks[0]) // its locks stay open
	})
}

// Locks of all kinds, and of several layouts, together.
func TestMultiOfEveryKind(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		of := func(h *bubble.Host) *lock.Multi {
			return must(lock.NewMulti(
				must(lock.NewSemaphore(h.Session, "/m/lease", 4, lock.WithWeight(3))), must(lock.NewRead(h.Session, "/m/read")), must(lock.NewWrite(h.Session, "/m/write")),
				lockAt(h, "/m/simple", lock.WithLayout(lock.Simple)), lockAt(h, "/m/kazoo", lock.WithLayout(lock.Kazoo)), lockAt(h, "/m/delay", lock.WithDelay(time.Second))))
		}
		ha, hb := w.Host("a"), w.Host("b")
		a, b := of(ha), of(hb)
		g := must(a.Lock(w.Context()))
		require.Len(w, g.Grants(), 6)
		_, err := b.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		must(g.Commit(w.Context(), session.CreateOp("/done", nil))) // checks all of them
		m := must(lock.NewMulti(lockAt(ha, "/m/other"), must(lock.NewWrite(ha.Session, "/m/read"))))
		require.ErrorIs(w, errOf(m.Lock(g.Context())), lock.ErrUpgrade)
		require.NotContains(w, w.Server.Dump(), "/m/other", "before anything is asked for")
		require.NoError(w, g.Release(w.Context()))

		g = must(b.Lock(w.Context()))
		part := g.Grants()[5]
		require.Contains(w, part.Path(), "/m/write/")
		read := must(part.Downgrade(w.Context()))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrReleased, "a part that is exchanged ends the whole")
		synctest.Wait()
		require.True(w, read.Valid())
		require.Equal(w, []string{read.Path()}, kept(w, hb).Ephemeral)
	})
}

// A part that ended with another is to be replaced by a znode for the instance's next request, and
// that is refused. A release still waits until the part's own znode is deleted.
func TestAReleaseWaitsForWhatCouldNotBeReplaced(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, admin := w.Host("a"), w.Host("admin")
		m, locks := multi(h, "/m/a", "/m/b")
		g := must(m.Lock(w.Context()))
		queued(locks[0])
		time.Sleep(unwatched)
		first, refused := g.Grants()[0].Path(), 0
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.Op == zktest.OpMulti && r.Ops[0].Op == zktest.OpDelete && r.Ops[0].Path == first:
				refused++
				return zktest.Fail(zktest.ErrNoAuth)
			case r.Op == zktest.OpDelete && r.Path == first:
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})()
		require.NoError(w, admin.Delete(w.Context(), g.Grants()[1].Path(), -1))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Release(w.Context()), session.ErrDeleted)
		require.NotContains(w, w.Server.Dump(), first)
		require.Equal(w, 1, refused)
	})
}

// If a part is lost while Lock waits for the next one, it is taken again.
func TestMultiTakesALostPartAgain(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha, hb, hc := w.Host("a"), w.Host("b"), w.Host("c")
		m := must(lock.NewMulti(lockAt(ha, "/m/a"), lockAt(hc, "/m/b"), lockAt(ha, "/m/c")))
		last := held(w, lockAt(hb, "/m/c"))
		var g *lock.MultiGrant
		got := bubble.Begin(func() (err error) { g, err = m.Lock(w.Context()); return err })
		synctest.Wait()
		require.Equal(w, 4, nodes(w, "/m"))
		before := append(kept(w, ha).Ephemeral, kept(w, hc).Ephemeral...)
		w.Server.Expire(hc.Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, 4, nodes(w, "/m"), "queued again")
		require.NoError(w, last.Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Minute, got))
		require.True(w, g.Valid())
		require.Contains(w, before, g.Grants()[0].Path(), "kept")
		require.NotContains(w, before, g.Grants()[1].Path(), "taken again")
		require.NoError(w, g.Release(w.Context()))
		require.Zero(w, nodes(w, "/m"))
	})
}
