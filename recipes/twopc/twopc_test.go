package twopc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// forms are the two of ZooKeeper's recipe page.
var forms = map[string][]twopc.Option{"coordinator decides": nil, "peers decide": {twopc.WithPeerDecision()}}

func inBothForms(t *testing.T, f func(w *world, form []twopc.Option)) {
	t.Helper()
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { f(w, form) })
		})
	}
}

func TestAllVoteToCommit(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), form...)
		a, b := w.site(w.Host("a"), "a"), w.site(w.Host("b"), "b")
		tx, err := c.Begin(w.Context(), "t1", []byte("pay"), "a", "b")
		require.NoError(w, err)
		require.Equal(w, twopc.Undecided, tx.Outcome())
		pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		require.Equal(w, "t1", pa.ID())
		require.Equal(w, []byte("pay"), pb.Payload())
		require.Equal(w, twopc.Undecided, pa.Voted())
		require.NoError(w, pa.Commit(w.Context()))
		require.Equal(w, twopc.Committed, pa.Voted())
		bubble.Never(w, tx.Decided(), "decided without b")
		require.ErrorIs(w, pa.Ack(w.Context()), twopc.ErrUndecided)
		require.NoError(w, pb.Commit(w.Context()))
		bubble.Within(w, time.Second, tx.Decided())
		votes := slices.Collect(received(tx.Votes()))
		require.Equal(w, []twopc.Vote{{Site: "a", Commit: true}, {Site: "b", Commit: true}}[:len(votes)], votes)
		if form == nil { // a decision of the peers may come before the last vote is seen
			require.Len(w, votes, 2)
		}
		bubble.Within(w, time.Second, pa.Decided())
		bubble.Within(w, time.Second, pb.Decided())
		require.Equal(w, twopc.Committed, tx.Outcome())
		require.Equal(w, twopc.Committed, pa.Outcome())
		require.Equal(w, twopc.Committed, pb.Outcome())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.ErrorIs(w, tx.Abort(w.Context(), "late"), twopc.ErrDecided)
		require.NoError(w, pa.Ack(w.Context()))
		require.NotEmpty(w, w.nodes(), "b has not acknowledged")
		require.NoError(w, pb.Ack(w.Context()))
		require.NotEmpty(w, w.nodes(), "the coordinator has not acknowledged")
		require.NoError(w, tx.Ack(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.Empty(w, w.nodes())
	})
}

func TestOneVoteToAbortDecides(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), form...)
		hb := w.Host("b")
		a, b := w.site(w.Host("a"), "a"), w.site(hb, "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		require.NoError(w, pa.Abort(w.Context(), "no money"))
		require.Equal(w, twopc.Aborted, pa.Voted())
		bubble.Within(w, time.Second, pa.Decided())
		bubble.Within(w, time.Second, pb.Decided())
		bubble.Within(w, time.Second, tx.Decided())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.Equal(w, `site "a": no money`, tx.Reason())
		require.Equal(w, "no money", pb.Reason())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.Equal(w, []twopc.Vote{{Site: "a", Reason: "no money"}}, slices.Collect(received(tx.Votes())))
		require.NoError(w, tx.Abort(w.Context(), "too"), "it is aborted")
		require.ErrorIs(w, pb.Commit(w.Context()), twopc.ErrDecided, "a vote after the decision")
		require.NoError(w, pa.Abort(w.Context(), "again"), "the same vote again")
		require.ErrorIs(w, pa.Commit(w.Context()), twopc.ErrVoted)
		require.NoError(w, pa.Ack(w.Context()))
		require.NoError(w, pa.Ack(w.Context()), "again")
		require.ErrorIs(w, pa.Err(), session.ErrReleased)
		require.ErrorIs(w, pa.Commit(w.Context()), twopc.ErrDecided)
		require.NoError(w, tx.Ack(w.Context()), "before b")
		require.NoError(w, tx.Ack(w.Context()), "again")
		require.NotEmpty(w, w.nodes(), "b has not acknowledged")
		require.NoError(w, pb.Ack(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.Empty(w, w.nodes())
	})
}

// received yields what a channel gives until it closes.
func received[T any](c <-chan T) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for v := range c {
			if !yield(v) {
				return
			}
		}
	}
}

// The vote timeout counts from the beginning, to the millisecond.
func TestTheTimeForTheVotes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), append([]twopc.Option{twopc.WithVoteTimeout(7 * time.Second)}, form...)...)
		a := w.site(w.Host("a"), "a")
		w.site(w.Host("b"), "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		began := time.Now()
		pa := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, pa.Commit(w.Context()))
		time.Sleep(7*time.Second - time.Nanosecond)
		bubble.Never(w, tx.Decided(), "too early")
		bubble.Within(w, time.Second, tx.Decided())
		require.Equal(w, 7*time.Second, time.Since(began))
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.Equal(w, `no vote in time from "b"`, tx.Reason())
		bubble.Within(w, time.Second, pa.Decided())
		require.Equal(w, twopc.Aborted, pa.Outcome())
	})
}

// A site that dies before it has voted is not waited for: the transaction is aborted when its
// session expires.
func TestASiteThatDiesBeforeItVoted(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, hb := w.site(w.Host("a"), "a"), w.Host("b")
		w.site(hb, "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		require.NoError(w, bubble.Within(w, time.Second, a.Proposals()).Commit(w.Context()))
		hb.Machine.Partition()
		died := time.Now()
		info, ok := w.Server.Session(hb.Status().SessionID)
		require.True(w, ok)
		bubble.Within(w, time.Minute, tx.Decided())
		require.Equal(w, info.Expires, time.Now(), "at the instant of the expiry")
		require.Greater(w, time.Since(died), 5*time.Second)
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.Equal(w, `site "b" died before it voted`, tx.Reason())
	})
}

// One that has voted may die.
func TestASiteThatDiesAfterItVoted(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, hb := w.site(w.Host("a"), "a"), w.Host("b")
		b := w.site(hb, "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		require.NoError(w, bubble.Within(w, time.Second, b.Proposals()).Commit(w.Context()))
		hb.Die()
		time.Sleep(time.Minute)
		bubble.Never(w, tx.Decided(), "it has promised")
		require.NoError(w, bubble.Within(w, time.Second, a.Proposals()).Commit(w.Context()))
		bubble.Within(w, time.Second, tx.Decided())
		require.Equal(w, twopc.Committed, tx.Outcome())
		again := w.site(w.Host("b again"), "b")
		p := bubble.Within(w, time.Second, again.Proposals())
		require.Equal(w, twopc.Committed, p.Voted())
		bubble.Within(w, time.Second, p.Decided())
		require.Equal(w, twopc.Committed, p.Outcome())
	})
}

// A coordinator that dies leaves nobody in doubt: the sites decide when its session expires. In the
// form with peers, what all agreed to is committed.
func TestACoordinatorThatDies(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.Host("c")
		c := w.coordinator(hc, append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, b := w.site(w.Host("a"), "a"), w.site(w.Host("b"), "b")
		_, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		hc.Die()
		require.NoError(w, pa.Commit(w.Context()))
		if form != nil {
			require.NoError(w, pb.Commit(w.Context()))
		}
		bubble.Within(w, 10*time.Second, pa.Decided())
		bubble.Within(w, 10*time.Second, pb.Decided())
		want := twopc.Aborted
		if form != nil {
			want = twopc.Committed
		}
		require.Equal(w, want, pa.Outcome())
		require.Equal(w, want, pb.Outcome())
		require.NoError(w, pa.Ack(w.Context()))
		require.NoError(w, pb.Ack(w.Context()))
		again := w.coordinator(w.Host("c again"))
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, want, taken[0].Outcome())
		require.NoError(w, taken[0].Ack(w.Context()))
		require.NoError(w, again.Close(w.Context()))
		require.Empty(w, w.nodes())
	})
}

// A coordinator that starts again before its predecessor's session has expired waits, takes over,
// and decides on its own time.
func TestRecoverUndecided(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc := w.Host("c")
		c := w.coordinator(hc)
		site := w.site(w.Host("a"), "a")
		_, err := c.Begin(w.Context(), "t1", nil, "a")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, site.Proposals())
		// the site is cut off, so that it can't be the quicker
		heal := w.Server.Host("a").Partition()
		hc.Die()
		again := w.coordinator(w.Host("c again"), twopc.WithVoteTimeout(time.Hour))
		live := w.coordinator(w.Host("other"))
		other, err := live.Begin(w.Context(), "t2", nil, "nobody")
		require.NoError(w, err)
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1, "what is led by one who lives is left to him")
		require.Equal(w, "t1", taken[0].ID())
		heal()
		require.NoError(w, p.Commit(w.Context()))
		bubble.Within(w, time.Minute, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		require.Equal(w, []twopc.Vote{{Site: "a", Commit: true}}, slices.Collect(received(taken[0].Votes())))
		require.NoError(w, other.Abort(w.Context(), "enough"))
		none, err := w.coordinator(w.Host("third")).Recover(w.Context())
		require.NoError(w, err)
		require.Empty(w, none)
	})
}

// While it can't be told whether a coordinator lives, Recover waits, as long as it may.
func TestRecoverWaitsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc := w.Host("c")
		_, err := w.coordinator(hc).Begin(w.Context(), "t1", nil, "a")
		require.NoError(w, err)
		hc.Die()
		again := w.coordinator(w.Host("c again"))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err = again.Recover(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		require.NoError(w, again.Close(w.Context()))
		require.ErrorIs(w, taken[0].Err(), twopc.ErrDecided)
		_, err = again.Recover(w.Context())
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

// A site that voted to commit and finds the transaction gone says so, and never that it was
// aborted.
func TestATransactionThatIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		c, a := w.coordinator(w.Host("c")), w.site(h, "a")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.Commit(w.Context()))
		require.NoError(w, h.DeleteAll(w.Context(), path+"/tx/t1"))
		bubble.Within(w, time.Minute, p.Done())
		require.ErrorIs(w, p.Err(), twopc.ErrGone)
		require.Equal(w, twopc.Undecided, p.Outcome())
		bubble.Never(w, p.Decided(), "nobody knows")
		bubble.Within(w, time.Minute, tx.Done())
		require.ErrorIs(w, tx.Err(), twopc.ErrGone)
		require.Equal(w, twopc.Undecided, tx.Outcome())
		require.ErrorIs(w, tx.Abort(w.Context(), "late"), twopc.ErrGone)
		require.ErrorIs(w, p.Abort(w.Context(), "then not"), twopc.ErrGone)
		require.NoError(w, a.Close(w.Context()))
		again := w.site(w.Host("a again"), "a")
		p = bubble.Within(w, time.Second, again.Proposals())
		require.Equal(w, "t1", p.ID())
		bubble.Within(w, time.Second, p.Done())
		require.ErrorIs(w, p.Err(), twopc.ErrGone)
		require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
		require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
		synctest.Wait()
		require.Len(w, w.nodes(), 1, "b's entry in its inbox")
	})
}

// Nobody is asked to agree to what nobody knows any more.
func TestAPayloadThatIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("all")
		c := w.coordinator(h, twopc.WithVoteTimeout(time.Minute))
		tx, err := c.Begin(w.Context(), "t1", []byte("pay"), "a")
		require.NoError(w, err)
		for _, node := range w.nodes() {
			if strings.HasSuffix(node, "-payload") {
				require.NoError(w, h.Delete(w.Context(), node, -1))
			}
		}
		p := bubble.Within(w, time.Second, w.site(h, "a").Proposals())
		bubble.Within(w, time.Second, p.Done())
		require.ErrorIs(w, p.Err(), twopc.ErrGone)
		require.ErrorIs(w, p.Commit(w.Context()), twopc.ErrGone)
		bubble.Within(w, 2*time.Minute, tx.Decided())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
	})
}

// Many at once, from several coordinators, each to its own sites; a site hears of its own alone,
// oldest first.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, hc := w.Host("sites"), w.Host("c")
		c, d := w.coordinator(hc), w.coordinator(hc)
		a, b := w.site(h, "a"), w.site(h, "b")
		var txs []*twopc.Tx
		for i := range 100 {
			coordinator, sites := c, []string{"a"}
			if i%2 == 1 {
				coordinator, sites = d, both
			}
			tx, err := coordinator.Begin(w.Context(), fmt.Sprint("t", i), nil, sites...)
			require.NoError(w, err)
			txs = append(txs, tx)
		}
		for i := range 100 {
			p := bubble.Within(w, time.Second, a.Proposals())
			require.Equal(w, fmt.Sprint("t", i), p.ID())
			require.NoError(w, p.Commit(w.Context()))
			if i%2 == 1 {
				p := bubble.Within(w, time.Second, b.Proposals())
				require.Equal(w, fmt.Sprint("t", i), p.ID())
				require.NoError(w, p.Commit(w.Context()))
			}
		}
		bubble.Never(w, b.Proposals(), "not its own")
		for _, tx := range txs {
			bubble.Within(w, time.Second, tx.Decided())
			require.Equal(w, twopc.Committed, tx.Outcome())
		}
	})
}

// The reply to a vote is lost while the site closes. Close confirms the vote.
func TestCloseConfirmsAVoteWhoseReplyWasLost(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"carried out": zktest.CutAfter, "not carried out": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				c, h := w.coordinator(w.Host("c")), w.Host("a")
				a := w.site(h, "a")
				_, err := c.Begin(w.Context(), "t", nil, "a")
				require.NoError(w, err)
				p := bubble.Within(w, time.Second, a.Proposals())
				synctest.Wait()
				w.strike(h, 1, func(*zktest.Request) zktest.Verdict { return fate })
				vote := bubble.Begin(func() error { return p.Commit(w.Context()) })
				synctest.Wait()
				require.NoError(w, a.Close(w.Context()))
				require.NoError(w, bubble.Within(w, time.Minute, vote))
			})
		})
	}
}
