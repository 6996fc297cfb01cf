package twopc_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// deny refuses a session's requests of some kinds at a path, until it is called.
func (w *world) deny(h *bubble.Host, at string, kinds ...zktest.Op) (allow func()) {
	w.Helper()
	id, denied := h.Status().SessionID, new(atomic.Bool)
	denied.Store(true)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		meant := r.Path == at && slices.Contains(kinds, r.Op)
		for _, op := range r.Ops {
			meant = meant || op.Path == at && slices.Contains(kinds, op.Op)
		}
		if r.SessionID == id && meant && denied.Load() {
			return zktest.Fail(zktest.ErrNoAuth)
		}
		return zktest.Pass
	}))
	return func() { denied.Store(false) }
}

// The answer to a Begin is lost, and what it began may not be read. Begin says so. Recover returns
// it, also at the same coordinator, and also while it lives.
func TestABeginThatMayNotBeLookedFor(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		h := w.Host("c")
		c, a := w.coordinator(h, form...), w.site(w.Host("a"), "a")
		w.warm(c, a)
		require.NoError(w, h.EnsurePath(w.Context(), path+"/inbox/b"))
		id, cut := h.Status().SessionID, new(atomic.Bool)
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && begins(r, "t") && cut.CompareAndSwap(false, true) {
				return zktest.CutAfter
			}
			return zktest.Pass
		}))
		allow := w.deny(h, path+"/tx/t", zktest.OpGetData)
		tx, err := c.Begin(w.Context(), "t", nil, "a", "b")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, session.ErrNoAuth)
		bubble.Within(w, time.Second, tx.Done())
		require.ErrorIs(w, tx.Err(), session.ErrUnknownOutcome)
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.Commit(w.Context()))
		bubble.Never(w, p.Decided(), "its coordinator lives")
		_, err = c.Recover(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		c.Crash("while it is refused") // the site sees the presence gone
		bubble.Within(w, time.Minute, p.Decided())
		require.Equal(w, twopc.Aborted, p.Outcome())
		require.NoError(w, p.Ack(w.Context()))
		allow()
		taken, err := c.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Aborted, taken[0].Outcome())
	})
}

// A decision that may not be written, or a record that may not be read: the application gets the
// error. What a dead coordinator has left is recovered all the same, and when it is allowed, so is
// the one that was refused, by the same coordinator.
func TestATransactionThatMayNotBeDecided(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]zktest.Op{"written": zktest.OpSetData, "read": zktest.OpGetData} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h, hd := w.Host("c"), w.Host("d")
				c, d, a := w.coordinator(h), w.coordinator(hd), w.site(w.Host("a"), "a")
				_, err := d.Begin(w.Context(), "of-the-dead", nil, "b")
				require.NoError(w, err)
				allow := w.deny(h, path+"/tx/t", kind)
				tx, err := c.Begin(w.Context(), "t", nil, "a")
				require.NoError(w, err)
				p := bubble.Within(w, time.Second, a.Proposals())
				require.NoError(w, p.Commit(w.Context()))
				bubble.Within(w, time.Minute, tx.Done())
				require.ErrorIs(w, tx.Err(), session.ErrNoAuth)
				require.NotErrorIs(w, tx.Err(), session.ErrUnknownOutcome)
				hd.Die()
				taken, err := c.Recover(w.Context())
				require.ErrorIs(w, err, session.ErrNoAuth)
				require.Len(w, taken, 1)
				require.Equal(w, "of-the-dead", taken[0].ID())
				bubble.Never(w, p.Decided(), "its coordinator lives")
				require.NoError(w, taken[0].Abort(w.Context(), "enough"))
				require.NoError(w, taken[0].Ack(w.Context()))
				allow()
				taken, err = c.Recover(w.Context())
				require.NoError(w, err)
				require.Len(w, taken, 1)
				require.Equal(w, "t", taken[0].ID())
				bubble.Within(w, time.Minute, p.Decided())
				require.Equal(w, twopc.Committed, p.Outcome())
				bubble.Within(w, time.Second, taken[0].Decided())
				require.Equal(w, twopc.Committed, taken[0].Outcome())
				require.NoError(w, p.Ack(w.Context()))
				require.NoError(w, taken[0].Ack(w.Context()))
			})
		})
	}
}

// A vote that is cast while an acknowledgement is under way is answered, also if that is refused.
func TestAVoteBesideARefusedAcknowledgement(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		c, h := w.coordinator(w.Host("c")), w.Host("a")
		a := w.site(h, "a")
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, tx.Abort(w.Context(), "no"))
		bubble.Within(w, time.Second, p.Decided())
		synctest.Wait()
		id := h.Status().SessionID
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.SessionID == id && r.Op == zktest.OpMulti:
				return zktest.Fail(zktest.ErrNoAuth)
			case r.SessionID == id && strings.HasPrefix(r.Path, path+"/tx/t"):
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		}))
		ack := bubble.Begin(func() error { return p.Ack(w.Context()) })
		synctest.Wait()
		vote := bubble.Begin(func() error { return p.Commit(w.Context()) })
		require.ErrorIs(w, bubble.Within(w, time.Minute, ack), session.ErrNoAuth)
		require.ErrorIs(w, bubble.Within(w, time.Minute, vote, "the vote"), twopc.ErrDecided)
	})
}
