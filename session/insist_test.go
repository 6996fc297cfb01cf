package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// refuseAfterLoss loses the answer to the first request that matches, with the connection, and
// refuses the next requests of a kind for a while.
func (w *world) refuseAfterLoss(lose func(r *zktest.Request) bool, op zktest.Op) {
	lost, refused := false, 0
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case !lost && lose(r):
			lost = true
			return zktest.CutAfter
		case lost && r.Op == op && refused < 5:
			refused++
			return zktest.Fail(zktest.ErrSystem)
		}
		return zktest.Pass
	})
}

// The answer to a transaction is lost, and the check that makes its outcome visible is refused.
// That says nothing of the transaction.
func TestALostTransactionWhoseCheckIsRefused(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		w.refuseAfterLoss(func(r *zktest.Request) bool { return r.Op == zktest.OpMulti }, zktest.OpMulti)
		err := wait(w, func(done func(error)) {
			t.Commit(1, []session.Op{session.CreateOp("/a", nil)}, func(_ []session.Result, err error) { done(err) })
		})
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.NotContains(w, err.Error(), "went wrong in the server")
		_, exists, err := s.Exists(w.ctx, "/a")
		require.NoError(w, err)
		require.True(w, exists)
	})
}

// A recovery ends with what stands, or with the epoch, whatever a server says meanwhile: whoever
// asked for it can do nothing before.
func TestARecoveryIsNotPutOff(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]zktest.Op{"the check": zktest.OpMulti, "the look": zktest.OpExists} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				t := w.client(w.open())
				path := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
				refused := 0
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op != op || refused == 5 {
						return zktest.Pass
					}
					refused++
					return zktest.Fail(zktest.ErrSystem)
				})
				type recovery struct {
					standing []string
					err      error
				}
				r := wait(w, func(done func(recovery)) {
					t.Recover(1, func(standing, _ []string, err error) { done(recovery{standing, err}) })
				})
				require.Equal(w, recovery{standing: []string{path}}, r)
			})
		})
	}
}

// What was replaced is gone, also if that was learnt by looking: the record does not keep it.
func TestAReplacedZnodeIsStruckThoughTheAnswerIsLost(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		first := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
		second := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-", Replace: first.Path})
		require.NoError(w, second.Err)
		require.Equal(w, []string{second.Path}, w.ephemerals(id(s)))
		require.Equal(w, 1, session.LedgerLen(s))
		t.remove(w, 1, second.Path)
		w.requests()
		time.Sleep(time.Minute)
		require.Empty(w, w.requests(), "nothing stands in line, so nothing is asked")
	})
}

// Who has given his client up is told of nothing any more, so he can't have anything that he would
// have to be told of the loss of.
func TestASeatThatWasLeftHoldsNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		t.Leave()
		synctest.Wait()
		_, err := t.Hold(1, j.Path, j.Stat.Czxid, func(error) {})
		require.ErrorIs(w, err, session.ErrReleased)
	})
}
