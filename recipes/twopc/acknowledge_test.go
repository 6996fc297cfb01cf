package twopc_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// loseTheNext cuts a host off at its session's next transaction that writes, which is carried out
// and not answered.
func (w *world) loseTheNext(h *bubble.Host) (heal func()) {
	w.Helper()
	id, done := h.Status().SessionID, new(atomic.Bool)
	partition := make(chan func(), 1)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != id || r.Op != zktest.OpMulti || r.Ops[0].Op == jute.OpCheck && len(r.Ops) == 1 || !done.CompareAndSwap(false, true) {
			return zktest.Pass
		}
		go func() { partition <- h.Machine.Partition() }()
		return zktest.DropReply
	}))
	return func() {
		if !done.CompareAndSwap(false, true) { // else it has not come to that
			(<-partition)()
		}
	}
}

// all that a site is asked is agreed to, and acknowledged. It counts how often each transaction was
// committed and aborted there.
func (w *world) agreeable(s *twopc.Site) func() string {
	w.Helper()
	var mu sync.Mutex
	var seen []string
	go func() { // ends with the site
		for p := range s.Proposals() {
			_ = p.Commit(w.Context())
			select {
			case <-p.Decided():
			case <-p.Done():
				continue
			}
			mu.Lock()
			seen = append(seen, p.ID()+" "+p.Outcome().String())
			mu.Unlock()
			_ = p.Ack(w.Context())
		}
	}()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(seen, ", ")
	}
}

// The answer to a Begin is lost, and its session expires. The sites abort, everybody acknowledges,
// another coordinator recovers what is left and acknowledges, and nothing of it stands any more
// when the first one can look. It can't know, says so, and does not begin again.
func TestALostBeginIsNotBegunASecondTime(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.Host("c")
		c, d := w.coordinator(hc, form...), w.coordinator(w.Host("d"), form...)
		a := w.site(w.Host("a"), "a")
		seen := w.agreeable(a)
		b := w.site(w.Host("b"), "b")
		warm, err := c.Begin(w.Context(), "warm", nil, "a") // all that is around a transaction stands
		require.NoError(w, err)
		bubble.Within(w, time.Second, warm.Decided())
		require.NoError(w, warm.Ack(w.Context()))

		heal := w.loseTheNext(hc)
		type begun struct {
			tx  *twopc.Tx
			err error
		}
		answer := make(chan begun, 1)
		go func() {
			tx, err := c.Begin(w.Context(), "t", nil, "a", "b")
			answer <- begun{tx, err}
		}()
		pb := bubble.Within(w, time.Second, b.Proposals())
		recovered := make(chan []*twopc.Tx, 1)
		go func() {
			taken, err := d.Recover(w.Context())
			if err != nil {
				w.Error(err)
			}
			recovered <- taken
		}()
		bubble.Within(w, time.Minute, pb.Decided())
		require.Equal(w, twopc.Aborted, pb.Outcome(), "the sites see the coordinator gone")
		require.NoError(w, pb.Ack(w.Context()))
		taken := bubble.Within(w, time.Minute, recovered)
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Aborted, taken[0].Outcome())
		require.NoError(w, taken[0].Ack(w.Context()))
		synctest.Wait()
		require.Empty(w, w.nodes(), "nothing is left of it")

		heal()
		first := bubble.Within(w, time.Minute, answer)
		require.ErrorIs(w, first.err, session.ErrUnknownOutcome)
		require.ErrorIs(w, first.err, twopc.ErrGone)
		bubble.Within(w, time.Minute, first.tx.Done())
		require.Equal(w, twopc.Undecided, first.tx.Outcome())
		require.ErrorIs(w, first.tx.Ack(w.Context()), twopc.ErrGone)
		bubble.Never(w, b.Proposals(), "a second time")
		require.Equal(w, "warm committed, t aborted", seen())
		require.Empty(w, w.nodes())
	})
}

// The coordinator's process is killed when its machine knows the outcome and the application has
// not noted it. The one that starts again is told the outcome, however late, and can't carry the
// transaction out a second time by beginning it again.
func TestKilledBeforeTheOutcomeIsNoted(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.Host("c")
		c := w.coordinator(hc, form...)
		seen := w.agreeable(w.site(w.Host("a"), "a"))
		tx, err := c.Begin(w.Context(), "t", []byte("pay"), "a")
		require.NoError(w, err)
		bubble.Within(w, time.Second, tx.Decided())
		synctest.Wait() // the machine knows, the site has acknowledged
		hc.Die()
		time.Sleep(10 * time.Minute)

		again := w.coordinator(w.Host("c again"), form...)
		_, err = again.Begin(w.Context(), "t", []byte("pay"), "a")
		require.ErrorIs(w, err, twopc.ErrFinished)
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		require.Equal(w, "t", taken[0].ID())
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		taken, err = again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1, "until it is acknowledged, also at the coordinator that has it")
		bubble.Within(w, time.Second, taken[0].Decided())
		require.NoError(w, taken[0].Ack(w.Context()))
		require.Empty(w, w.nodes())
		taken, err = again.Recover(w.Context())
		require.NoError(w, err)
		require.Empty(w, taken)
		tx, err = again.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err, "the application says that it is another one")
		bubble.Within(w, time.Second, tx.Decided())
		synctest.Wait()
		require.Equal(w, "t committed, t committed", seen())
	})
}

// A process is killed with a Begin under way that a server carries out only seconds later. The one
// that starts again finds nothing of it, and would begin the same id: Recover returns when nothing
// of the other can come any more.
func TestRecoverWaitsForWhatADeadCoordinatorHasSent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc := w.Host("c")
		c := w.coordinator(hc)
		seen := w.agreeable(w.site(w.Host("a"), "a"))
		warm, err := c.Begin(w.Context(), "warm", nil, "a")
		require.NoError(w, err)
		bubble.Within(w, time.Second, warm.Decided())
		require.NoError(w, warm.Ack(w.Context()))
		synctest.Wait() // else the strike may hit a request of the warm one
		w.strike(hc, 1, func(*zktest.Request) zktest.Verdict { return zktest.Delay(3 * time.Second) })
		go func() { _, _ = c.Begin(w.Context(), "t", nil, "a") }()
		synctest.Wait()
		hc.Die()

		again := w.coordinator(w.Host("c again"))
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		for _, tx := range taken {
			bubble.Within(w, time.Minute, tx.Decided())
			require.NoError(w, tx.Ack(w.Context()))
		}
		synctest.Wait() // the site may hear of the decision after the coordinator
		before := seen()
		if len(taken) == 0 { // it was never carried out
			tx, err := again.Begin(w.Context(), "t", nil, "a")
			require.NoError(w, err)
			bubble.Within(w, time.Minute, tx.Decided())
			require.NoError(w, tx.Ack(w.Context()))
			synctest.Wait()
			before = seen()
		}
		time.Sleep(time.Minute)
		require.Equal(w, before, seen(), "nothing comes later")
		require.Equal(w, 1, strings.Count(before, "t "), before)
	})
}
