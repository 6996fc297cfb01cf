package twopc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// warm has a coordinator make all that is around a transaction with a site, and waits until nothing
// more comes of it: the next transaction is one request, which is the coordinator's next.
func (w *world) warm(c *twopc.Coordinator, s *twopc.Site) {
	w.Helper()
	tx, err := c.Begin(w.Context(), "warm", nil, "a")
	require.NoError(w, err)
	p := bubble.Within(w, time.Second, s.Proposals())
	require.NoError(w, p.Abort(w.Context(), "warm"))
	bubble.Within(w, time.Second, tx.Decided())
	require.NoError(w, p.Ack(w.Context()))
	require.NoError(w, tx.Ack(w.Context()))
	synctest.Wait()
}

// giveUp begins a transaction with a site, and waits for a second.
func (w *world) giveUp(c *twopc.Coordinator, site string) (*twopc.Tx, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	began := time.Now()
	tx, err := c.Begin(ctx, "t", nil, site)
	require.ErrorIs(w, err, context.DeadlineExceeded)
	require.Equal(w, time.Second, time.Since(began), "it answers at once")
	return tx, err
}

// committed checks that the Tx of a Begin that was given up learns that it is committed, and that
// nothing is left when that is acknowledged.
func (w *world) committed(tx *twopc.Tx, err error) {
	w.Helper()
	require.ErrorIs(w, err, session.ErrUnknownOutcome, "it is committed")
	require.NotNil(w, tx)
	bubble.Within(w, time.Minute, tx.Done())
	require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
	require.Equal(w, twopc.Committed, tx.Outcome())
	require.NoError(w, tx.Ack(w.Context()))
	synctest.Wait()
	require.Empty(w, w.nodes())
}

// The answer to a Begin is lost, its context ends, and the site votes: with peers it commits,
// before the coordinator can abort anything.
func TestABeginGivenUpAndCommittedByItsSites(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc := w.Host("c")
		c, a := w.coordinator(hc, twopc.WithPeerDecision()), w.site(w.Host("a"), "a")
		w.warm(c, a)
		heal := w.loseTheNext(hc)
		tx, err := w.giveUp(c, "a")
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.Commit(w.Context()))
		bubble.Within(w, time.Second, p.Decided())
		require.Equal(w, twopc.Committed, p.Outcome())
		require.NoError(w, p.Ack(w.Context()))
		heal()
		bubble.Within(w, time.Minute, tx.Done())
		taken, e := c.Recover(w.Context())
		require.NoError(w, e)
		require.Len(w, taken, 1, "a caller that has no use for the Tx finds it so")
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		w.committed(tx, err)
	})
}

// The same, and another coordinator takes it over and commits it. That happens in both forms.
func TestABeginGivenUpAndCommittedByAnotherCoordinator(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc, far := w.Host("c"), w.Host("a", session.WithTimeout(time.Minute))
		c, a := w.coordinator(hc, form...), w.site(far, "a")
		w.warm(c, a)
		heal := w.loseTheNext(hc)
		tx, err := w.giveUp(c, "a")
		p := bubble.Within(w, time.Second, a.Proposals())
		reach := far.Machine.Partition() // it shall not be quicker
		w.Server.Expire(hc.Status().SessionID)
		taken, e := w.coordinator(w.Host("d"), form...).Recover(w.Context())
		require.NoError(w, e)
		require.Len(w, taken, 1)
		reach()
		require.NoError(w, p.Commit(w.Context()))
		bubble.Within(w, time.Minute, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		bubble.Within(w, time.Minute, p.Decided())
		require.NoError(w, p.Ack(w.Context()))
		heal()
		w.committed(tx, err)
		require.NoError(w, taken[0].Ack(w.Context()), "it is acknowledged")
	})
}

// Nobody is quicker than the coordinator, which aborts and acknowledges what it has begun.
func TestABeginGivenUpAndCarriedOut(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.Host("c")
		c, a := w.coordinator(hc, form...), w.site(w.Host("a"), "a")
		w.warm(c, a)
		heal := w.loseTheNext(hc)
		tx, err := w.giveUp(c, "a")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		p := bubble.Within(w, time.Second, a.Proposals())
		heal()
		bubble.Within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		bubble.Within(w, time.Minute, p.Decided())
		require.Equal(w, twopc.Aborted, p.Outcome())
		require.NoError(w, p.Ack(w.Context()))
		synctest.Wait()
		require.Empty(w, w.nodes(), "it needs no Ack")
		require.NoError(w, tx.Ack(w.Context()))
	})
}

// A Begin that is given up before it was sent has not begun, and never will.
func TestABeginGivenUpBeforeItIsSent(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.Host("c")
		c, a := w.coordinator(hc, form...), w.site(w.Host("a"), "a")
		for range 2 { // the second time the coordinator is registered, and has noticed that it is cut off
			heal := hc.Machine.Partition()
			time.Sleep(5 * time.Second)
			tx, err := w.giveUp(c, "a")
			require.NotErrorIs(w, err, session.ErrUnknownOutcome)
			require.Nil(w, tx)
			heal()
			time.Sleep(time.Minute)
			require.Empty(w, w.nodes())
			w.warm(c, a)
		}
	})
}

// The request of a Begin that is given up was lost: it has not begun, and its Tx is aborted.
func TestABeginGivenUpAndNotCarriedOut(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.Host("c")
		c, a := w.coordinator(hc, form...), w.site(w.Host("a"), "a")
		w.warm(c, a)
		w.strike(hc, 1, func(*zktest.Request) zktest.Verdict { return zktest.DropRequest })
		tx, err := w.giveUp(c, "a")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		bubble.Within(w, time.Minute, tx.Done())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.NoError(w, tx.Abort(w.Context(), "indeed"))
		require.NoError(w, tx.Ack(w.Context()))
		bubble.Never(w, a.Proposals(), "it never begins")
		require.Empty(w, w.nodes())
	})
}

// The coordinator ends while the answer to a Begin is lost. Its sites may commit it.
func TestABeginWhoseCoordinatorEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc := w.Host("c")
		c, a := w.coordinator(hc, twopc.WithPeerDecision()), w.site(w.Host("a"), "a")
		w.warm(c, a)
		w.loseTheNext(hc)
		answer := make(chan error, 1)
		go func() {
			_, err := c.Begin(w.Context(), "t", nil, "a")
			answer <- err
		}()
		p := bubble.Within(w, time.Second, a.Proposals())
		hc.Die()
		err := bubble.Within(w, time.Minute, answer)
		require.ErrorIs(w, err, session.ErrClosed)
		require.NoError(w, p.Commit(w.Context()))
		bubble.Within(w, time.Minute, p.Decided())
		require.Equal(w, twopc.Committed, p.Outcome())
		require.ErrorIs(w, err, session.ErrUnknownOutcome, "it is committed")

		_, err = c.Begin(w.Context(), "u", nil, "a")
		require.ErrorIs(w, err, session.ErrClosed)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
	})
}

// The answer to a takeover is lost, and Recover is given up. The coordinator aborts what it has
// taken over; the next Recover returns it.
func TestARecoverGivenUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc, hd, far := w.Host("c"), w.Host("d"), w.Host("a", session.WithTimeout(time.Minute))
		c, d, a := w.coordinator(hc), w.coordinator(hd), w.site(far, "a")
		w.warm(d, a)
		_, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		far.Machine.Partition() // a shall not be quicker
		hc.Machine.Partition()
		w.Server.Expire(hc.Status().SessionID)
		heal := w.loseTheNext(hd)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		taken, err := d.Recover(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Empty(w, taken)
		heal()
		time.Sleep(time.Minute)
		taken, err = d.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Aborted, taken[0].Outcome())
	})
}
