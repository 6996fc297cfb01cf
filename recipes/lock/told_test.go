package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A grant is given beside the first read of its znode, not behind it. Here that read takes a
// second.
func (w *world) slowFirstRead() *bubble.Host {
	h := w.Host("a")
	id := h.Status().SessionID
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && r.Op == zktest.OpGetData {
			return zktest.Delay(time.Second)
		}
		return zktest.Pass
	}))
	return h
}

func TestAGrantDoesNotWaitForItsFirstRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.slowFirstRead()
		rival := w.Host("b")
		l := w.lock(h)
		for range 3 {
			began := time.Now()
			g := w.held(l)
			require.Zero(w, time.Since(began))
			stat, exists, err := rival.Exists(w.Context(), g.Path())
			require.NoError(w, err)
			require.True(w, exists)
			require.Equal(w, stat.Czxid, g.Token(), "the token is the Czxid")
			require.Equal(w, h.Status().SessionID, stat.EphemeralOwner)
			time.Sleep(500 * time.Millisecond)
			require.NoError(w, g.Release(w.Context()))
			require.LessOrEqual(w, time.Since(began), time.Second, "nor does the release, but for the server, which answers in order")
		}
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}

func TestADeletionBeforeTheFirstReadEndsTheGrant(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.slowFirstRead())
		b := w.Host("b")
		next := w.lock(b)
		began := time.Now()
		g := w.held(l)
		time.Sleep(500 * time.Millisecond)
		require.NoError(w, b.Delete(w.Context(), g.Path(), -1))
		require.NoError(w, g.Err())
		bubble.Within(w, time.Second, g.Done())
		require.Equal(w, time.Second, time.Since(began), "when the read is answered")
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.Greater(w, w.held(next).Token(), g.Token())
	})
}

func TestARevocationBeforeTheFirstReadIsSeenByIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.slowFirstRead())
		b := w.Host("b")
		began := time.Now()
		g := w.held(l)
		require.NoError(w, lock.Revoke(w.Context(), b.Session, g.Path()))
		bubble.Within(w, 2*time.Second, g.Revoked())
		require.Equal(w, time.Second, time.Since(began), "when the read is answered")
		require.NoError(w, g.Err())
	})
}

// Nobody would tell when such a znode goes, so nothing is held by it for longer than that takes to
// find out.
func TestAGrantThatCannotBeReadEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		_, err := w.Host("b").Create(w.Context(), path, nil, session.Parents())
		require.NoError(w, err)
		h := w.Host("a", session.WithACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
		g := w.held(w.lock(h))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrLost)
		require.ErrorIs(w, g.Err(), session.ErrNoAuth)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrNoAuth)

		standing := w.lock(h)
		standing.Acquire()
		bubble.Within(w, time.Second, standing.Done())
		require.ErrorIs(w, standing.Err(), session.ErrNoAuth, "the next one would be no better")
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}

// Servers that can't tell whose a new znode is are asked; those before ZooKeeper 3.5 say so, others
// hang up.
func TestServersWithoutCreate2(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"unimplemented": zktest.Fail(zktest.ErrUnimplemented), "hanging up": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpCreate2 {
						return fate
					}
					return zktest.Pass
				})
				l := w.lock(w.Host("a"))
				first := w.held(l)
				require.NoError(w, first.Release(w.Context()))
				w.Server.ClearJournal()
				second := w.held(l)
				require.Greater(w, second.Token(), first.Token())
				var ops []zktest.Op
				for _, r := range w.Server.Journal() {
					if r.Op != zktest.OpPing && r.Op != zktest.OpSync {
						ops = append(ops, r.Op)
					}
				}
				require.Equal(w, []zktest.Op{zktest.OpCreate, zktest.OpGetChildren2, zktest.OpGetData}, ops, "read before it is granted")
				stat, _, err := w.Host("b").Exists(w.Context(), second.Path())
				require.NoError(w, err)
				require.Equal(w, stat.Czxid, second.Token())
				require.NoError(w, second.Release(w.Context()))
			})
		})
	}
}
