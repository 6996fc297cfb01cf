// Begin and Recover, with a lost answer or a context that ends before the answer. Helpers:
// world_test.go; model: history_test.go.

package twopc_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// giveUp begins a transaction with a site, and waits for a second.
func giveUp(w *bubble.World, c *twopc.Coordinator, site string) (*twopc.Tx, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	began := time.Now()
	tx, err := c.Begin(ctx, "t", nil, site)
	require.ErrorIs(w, err, context.DeadlineExceeded)
	require.Equal(w, time.Second, time.Since(began), "it answers at once")
	return tx, err
}

// The answer to a Begin is lost, and its context ends. The coordinator aborts and acknowledges the
// transaction, unless another coordinator has taken it over and committed it. Then the Tx learns
// that.
func TestABeginGivenUpAndCarriedOut(t *testing.T) {
	t.Parallel()
	for _, quicker := range []bool{false, true} {
		inBothForms(t, func(w *bubble.World, form []twopc.Option) {
			hc, ha := w.Host("c"), w.Host("a", session.WithTimeout(time.Minute))
			c, a := newCoordinator(w, hc, form...), newSite(w, ha, "a")
			warm(w, c, a)
			heal := loseNextReply(w, hc)
			tx, err := giveUp(w, c, "a")
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
			p := bubble.Within(w, time.Second, a.Proposals())
			outcome, taken := twopc.Aborted, []*twopc.Tx(nil)
			if quicker {
				outcome = twopc.Committed
				reach := ha.Machine.Partition() // so that the site does not decide first
				w.Server.Expire(hc.Status().SessionID)
				taken = must(newCoordinator(w, w.Host("d"), form...).Recover(w.Context()))
				require.Len(w, taken, 1)
				reach()
				require.NoError(w, p.VoteCommit(w.Context()))
				bubble.Within(w, time.Minute, taken[0].Decided())
				require.Equal(w, outcome, taken[0].Outcome())
				bubble.Within(w, time.Minute, p.Decided())
				require.NoError(w, p.Ack(w.Context()))
			}
			heal()
			bubble.Within(w, time.Minute, tx.Done())
			require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
			require.Equal(w, outcome, tx.Outcome())
			bubble.Within(w, time.Minute, p.Decided())
			require.Equal(w, outcome, p.Outcome())
			require.NoError(w, p.Ack(w.Context()))
			synctest.Wait()
			require.Equal(w, quicker, len(nodes(w)) > 0, "one that is aborted needs no Ack")
			for _, t := range append(taken, tx) {
				require.NoError(w, t.Ack(w.Context()))
			}
			require.Empty(w, nodes(w))
		})
	}
}

// A Begin that is given up before it was sent has not begun, and never will.
func TestABeginGivenUpBeforeItIsSent(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		hc := w.Host("c")
		c, a := newCoordinator(w, hc, form...), newSite(w, w.Host("a"), "a")
		for range 2 { // the second time the coordinator is registered, and has noticed that it is cut off
			heal := hc.Machine.Partition()
			time.Sleep(5 * time.Second)
			tx, err := giveUp(w, c, "a")
			require.NotErrorIs(w, err, session.ErrUnknownOutcome)
			require.Nil(w, tx)
			heal()
			time.Sleep(time.Minute)
			require.Empty(w, nodes(w))
			warm(w, c, a)
		}
	})
}

// The request of a Begin that is given up was lost: it has not begun, and its Tx is aborted.
func TestABeginGivenUpAndNotCarriedOut(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		hc := w.Host("c")
		c, a := newCoordinator(w, hc, form...), newSite(w, w.Host("a"), "a")
		warm(w, c, a)
		w.Kth(hc.Session, 1, zktest.DropRequest, zktest.OpCloseSession)
		tx, err := giveUp(w, c, "a")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		bubble.Within(w, time.Minute, tx.Done())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.NoError(w, tx.Abort(w.Context(), "indeed"))
		require.NoError(w, tx.Ack(w.Context()))
		bubble.Never(w, a.Proposals(), "it never begins")
		require.Empty(w, nodes(w))
	})
}

// The coordinator ends while the answer to a Begin is lost. Its sites may commit it.
func TestABeginWhoseCoordinatorEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		hc := w.Host("c")
		c, a := newCoordinator(w, hc, twopc.WithPeerDecision()), newSite(w, w.Host("a"), "a")
		warm(w, c, a)
		loseNextReply(w, hc)
		answer := bubble.Begin(func() error { _, err := c.Begin(w.Context(), "t", nil, "a"); return err })
		p := bubble.Within(w, time.Second, a.Proposals())
		hc.Die()
		err := bubble.Within(w, time.Minute, answer)
		require.ErrorIs(w, err, session.ErrClosed)
		require.NoError(w, p.VoteCommit(w.Context()))
		bubble.Within(w, time.Minute, p.Decided())
		require.Equal(w, twopc.Committed, p.Outcome())
		require.ErrorIs(w, err, session.ErrUnknownOutcome, "it is committed")

		_, err = c.Begin(w.Context(), "u", nil, "a")
		require.ErrorIs(w, err, session.ErrClosed)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
	})
}

// The answer to a takeover is lost, and Recover is given up. The coordinator aborts the
// transaction; the next Recover returns it.
func TestARecoverGivenUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		hc, hd, ha := w.Host("c"), w.Host("d"), w.Host("a", session.WithTimeout(time.Minute))
		c, d, a := newCoordinator(w, hc), newCoordinator(w, hd), newSite(w, ha, "a")
		warm(w, d, a)
		must(c.Begin(w.Context(), "t", nil, "a"))
		ha.Machine.Partition() // so that the site does not decide first
		hc.Machine.Partition()
		w.Server.Expire(hc.Status().SessionID)
		heal := loseNextReply(w, hd)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		taken, err := d.Recover(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Empty(w, taken)
		heal()
		time.Sleep(time.Minute)
		taken = must(d.Recover(w.Context()))
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Aborted, taken[0].Outcome())
	})
}

// The answer to a Begin is lost, and its session expires. The sites abort and acknowledge, another
// coordinator recovers the transaction and acknowledges, and nothing of it is left when the first
// one is connected again. Begin returns ErrGone, and does not begin again.
func TestALostBeginIsNotBegunASecondTime(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		hc := w.Host("c")
		c, d := newCoordinator(w, hc, form...), newCoordinator(w, w.Host("d"), form...)
		l := newModel()
		l.serve(new(sync.WaitGroup), "a", newSite(w, w.Host("a"), "a"), []string{"a"}, func(string) bool { return true })
		b := newSite(w, w.Host("b"), "b")
		warm, err := c.Begin(w.Context(), "warm", nil, "a") // the parents of the transaction's znodes exist
		require.NoError(w, err)
		bubble.Within(w, time.Second, warm.Decided())
		require.NoError(w, warm.Ack(w.Context()))

		heal := loseNextReply(w, hc)
		var tx *twopc.Tx
		answer := bubble.Begin(func() (err error) { tx, err = c.Begin(w.Context(), "t", nil, "a", "b"); return err })
		pb := bubble.Within(w, time.Second, b.Proposals())
		var taken []*twopc.Tx
		recovered := bubble.Begin(func() (err error) { taken, err = d.Recover(w.Context()); return err })
		bubble.Within(w, time.Minute, pb.Decided())
		require.Equal(w, twopc.Aborted, pb.Outcome(), "the sites see the coordinator gone")
		require.NoError(w, pb.Ack(w.Context()))
		require.NoError(w, bubble.Within(w, time.Minute, recovered))
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Aborted, taken[0].Outcome())
		require.NoError(w, taken[0].Ack(w.Context()))
		synctest.Wait()
		require.Empty(w, nodes(w), "nothing is left of it")

		heal()
		err = bubble.Within(w, time.Minute, answer)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, twopc.ErrGone)
		bubble.Within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Undecided, tx.Outcome())
		require.ErrorIs(w, tx.Ack(w.Context()), twopc.ErrGone)
		bubble.Never(w, b.Proposals(), "a second time")
		require.Equal(w, []fact{{agreeing, "warm", "a"}, {agreed, "warm", "a"}, {committed, "warm", "a"}, {agreeing, "t", "a"}, {agreed, "t", "a"}, {aborted, "t", "a"}}, l.facts)
		require.Empty(w, nodes(w))
	})
}
