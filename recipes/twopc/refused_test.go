package twopc_test

import (
	"context"
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

// The answer to a Begin is lost, and what it began may not be read. Begin says so; and the
// transaction is aborted when it may be, with nobody recovering anything.
func TestABeginThatMayNotBeLookedFor(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		h := w.Host("c")
		c := w.coordinator(h, form...)
		a := w.site(w.Host("a"), "a")
		warm, err := c.Begin(w.Context(), "warm", nil, "a", "b")
		require.NoError(w, err)
		require.NoError(w, warm.Abort(w.Context(), "warm"))
		p := bubble.Within(w, time.Second, a.Proposals())
		bubble.Within(w, time.Second, p.Decided())
		require.NoError(w, p.Ack(w.Context()))

		id, cut := h.Status().SessionID, new(atomic.Bool)
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && begins(r, "t") && cut.CompareAndSwap(false, true) {
				return zktest.CutAfter
			}
			return zktest.Pass
		}))
		allow := w.deny(h, path+"/tx/t", zktest.OpGetData)
		_, err = c.Begin(w.Context(), "t", nil, "a", "b")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, session.ErrNoAuth)
		p = bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.Commit(w.Context()))
		time.Sleep(10 * time.Minute)
		c.Crash("while it is refused")
		time.Sleep(10 * time.Minute)
		allow()
		time.Sleep(time.Minute) // it is asked for after a pause
		bubble.Within(w, time.Second, p.Decided())
		require.Equal(w, twopc.Aborted, p.Outcome())
		require.NoError(w, p.Ack(w.Context()))
		b := w.site(w.Host("b"), "b")
		for range 2 {
			q := bubble.Within(w, time.Second, b.Proposals())
			bubble.Within(w, time.Second, q.Decided())
			require.NoError(w, q.Ack(w.Context()))
		}
		synctest.Wait()
		require.NotContains(w, strings.Join(w.nodes(), " "), "/tx/t", "it was given up: nobody has to acknowledge it")
		taken, err := c.Recover(w.Context())
		require.NoError(w, err)
		require.Empty(w, taken)
	})
}

// A decision that may not be written, or a record that may not be read: the application hears of
// it. When it is allowed, the transaction is aborted, and recovered.
func TestATransactionThatMayNotBeDecided(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]zktest.Op{"written": zktest.OpSetData, "read": zktest.OpGetData} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("c")
				c := w.coordinator(h)
				a := w.site(w.Host("a"), "a")
				allow := w.deny(h, path+"/tx/t", kind)
				tx, err := c.Begin(w.Context(), "t", nil, "a")
				require.NoError(w, err)
				p := bubble.Within(w, time.Second, a.Proposals())
				require.NoError(w, p.Commit(w.Context()))
				bubble.Within(w, time.Minute, tx.Done())
				require.ErrorIs(w, tx.Err(), session.ErrNoAuth)
				bubble.Never(w, p.Decided(), "it may not be")
				time.Sleep(time.Minute)
				allow()
				bubble.Within(w, time.Minute, p.Decided())
				require.Equal(w, twopc.Aborted, p.Outcome())
				require.NoError(w, p.Ack(w.Context()))
				synctest.Wait()
				taken, err := c.Recover(w.Context())
				require.NoError(w, err)
				require.Len(w, taken, 1)
				bubble.Within(w, time.Second, taken[0].Decided())
				require.Equal(w, twopc.Aborted, taken[0].Outcome())
				require.NoError(w, taken[0].Ack(w.Context()))
				require.Empty(w, w.nodes())
			})
		})
	}
}

// One transaction may not be decided. What a dead coordinator has left is recovered all the same;
// the one that was refused is waited for last, and recovered when it may be.
func TestRecoverWhileATransactionIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc, hd := w.Host("c"), w.Host("d")
		c, d, a := w.coordinator(hc), w.coordinator(hd), w.site(w.Host("a"), "a")
		w.warm(c, a)
		_, err := d.Begin(w.Context(), "of-the-dead", nil, "a")
		require.NoError(w, err)
		allow := w.deny(hc, path+"/tx/t", zktest.OpSetData)
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, a.Proposals())
		for p.ID() != "t" {
			p = bubble.Within(w, time.Second, a.Proposals())
		}
		require.NoError(w, p.Commit(w.Context()))
		bubble.Within(w, time.Minute, tx.Done())
		require.ErrorIs(w, tx.Err(), session.ErrNoAuth, "the application knows")
		hd.Die()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		taken, err := c.Recover(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Len(w, taken, 1)
		require.Equal(w, "of-the-dead", taken[0].ID())
		time.AfterFunc(time.Second, allow)
		taken, err = c.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		require.Equal(w, "t", taken[0].ID())
	})
}
