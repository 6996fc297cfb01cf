// Several locks as one: the order in which they are taken, all or none, and what the loss of one
// does to the others.

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

// The order is the canonical one of the whole paths, whatever order the caller names.
func TestMultiTakesAllInOneOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.Host("a"), w.Host("b", session.WithNamespace("/m"))
		locks := []*lock.Lock{w.at(b, "/b"), w.at(a, "/m/c"), w.at(a, "/m/a")}
		m, err := lock.NewMulti(locks...)
		require.NoError(w, err)
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
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
		_, err = g.Commit(w.Context(), session.CreateOp("/done", nil))
		require.ErrorIs(w, err, session.ErrUnsupported, "two sessions")
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

		result := bubble.Begin(func() error { _, err := m.Lock(w.Context()); return err })
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
		require.Equal(w, []string{read.Path()}, w.kept(hb).Ephemeral)
	})
}

// The loss of one ends the whole, and the others are given up by themselves. How one is lost: see
// test/losses.
func TestLossOfOneEndsTheMulti(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		m, err := lock.NewMulti(w.at(h, "/m/c"), w.at(w.Host("b"), "/m/b"), w.at(h, "/m/a"))
		require.NoError(w, err)
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		require.NoError(w, h.Delete(w.Context(), g.Grants()[1].Path(), -1))
		bubble.Within(w, time.Second, g.Done())
		synctest.Wait()
		for i, cause := range []error{session.ErrReleased, session.ErrDeleted, session.ErrReleased} {
			require.ErrorIs(w, g.Grants()[i].Err(), cause)
		}
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, context.Cause(g.Context()), session.ErrDeleted)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrDeleted)
		require.Zero(w, w.standing(), "the others are given up")
	})
}

// A part that ended with another is to be replaced by a znode for whoever waits in this process,
// and that is refused. A release waits until the part's own is deleted all the same.
func TestAReleaseWaitsForWhatCouldNotBeReplaced(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, admin := w.Host("a"), w.Host("admin")
		m, locks := w.multi(h, "/m/a", "/m/b")
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		w.queued(locks[0])
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

// A part lost while it waits for the next is taken again, and the caller waits on.
func TestMultiTakesALostPartAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb, hc := w.Host("a"), w.Host("b"), w.Host("c")
		m, err := lock.NewMulti(w.at(ha, "/m/a"), w.at(hc, "/m/b"), w.at(ha, "/m/c"))
		require.NoError(w, err)
		held := w.held(w.at(hb, "/m/c"))
		var g *lock.MultiGrant
		got := bubble.Begin(func() (err error) { g, err = m.Lock(w.Context()); return err })
		synctest.Wait()
		require.Equal(w, 4, w.standing())
		before := w.Server.Dump()
		w.Server.Expire(hc.Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, 4, w.standing(), "in line again")
		require.NotEqual(w, before, w.Server.Dump())
		require.NoError(w, held.Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Minute, got))
		require.True(w, g.Valid())
		require.Greater(w, g.Grants()[1].Token(), held.Token(), "taken anew")
		require.Less(w, g.Grants()[0].Token(), g.Grants()[1].Token(), "kept from before")
		require.NoError(w, g.Release(w.Context()))
		require.Zero(w, w.standing())
	})
}

// Close ends the grant of a Do whose function runs: that is told so, and Do reports it.
func TestCloseOfAMultiEndsWhatDoHolds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		m, _ := w.multi(w.Host("a"), "/m/a", "/m/b")
		other, _ := w.multi(w.Host("b"), "/m/a", "/m/b")
		done := bubble.Begin(func() error {
			return m.Do(w.Context(), func(ctx context.Context, _ *lock.MultiGrant) error {
				<-ctx.Done()
				return nil
			})
		})
		time.Sleep(time.Second)
		require.NoError(w, m.Close(w.Context()))
		require.ErrorIs(w, bubble.Now(w, done), session.ErrLost)
		_, err := other.Lock(w.Context())
		require.NoError(w, err)
		_, err = m.Lock(w.Context())
		require.ErrorIs(w, err, session.ErrClosed)
	})
}
