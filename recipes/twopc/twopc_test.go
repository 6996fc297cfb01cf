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

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
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
		c := w.coordinator(w.host("c"), form...)
		a, b := w.site(w.host("a"), "a"), w.site(w.host("b"), "b")
		tx, err := c.Begin(w.Context(), "t1", []byte("pay"), "a", "b")
		require.NoError(w, err)
		require.Equal(w, twopc.Undecided, tx.Outcome())
		pa, pb := within(w, time.Second, a.Proposals()), within(w, time.Second, b.Proposals())
		require.Equal(w, "t1", pa.ID())
		require.Equal(w, []byte("pay"), pb.Payload())
		require.Equal(w, twopc.Undecided, pa.Voted())
		require.NoError(w, pa.Commit(w.Context()))
		require.Equal(w, twopc.Committed, pa.Voted())
		never(w, tx.Decided(), "decided without b")
		require.ErrorIs(w, pa.Ack(w.Context()), twopc.ErrUndecided)
		require.NoError(w, pb.Commit(w.Context()))
		within(w, time.Second, tx.Decided())
		within(w, time.Second, pa.Decided())
		within(w, time.Second, pb.Decided())
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
		c := w.coordinator(w.host("c"), form...)
		hb := w.host("b")
		a, b := w.site(w.host("a"), "a"), w.site(hb, "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		pa, pb := within(w, time.Second, a.Proposals()), within(w, time.Second, b.Proposals())
		require.NoError(w, pa.Abort(w.Context(), "no money"))
		require.Equal(w, twopc.Aborted, pa.Voted())
		within(w, time.Second, pa.Decided())
		within(w, time.Second, pb.Decided())
		within(w, time.Second, tx.Decided())
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

func TestVotesAreSeen(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.host("c"), form...)
		h := w.host("sites")
		for _, name := range both {
			site := w.site(h, name)
			go func() { // ends with the site
				for p := range site.Proposals() {
					if err := p.Commit(context.Background()); err != nil {
						w.Error(err)
					}
				}
			}()
		}
		tx, err := c.Begin(w.Context(), "t1", nil, both...)
		require.NoError(w, err)
		within(w, time.Second, tx.Done())
		votes := slices.SortedFunc(received(tx.Votes()), func(a, b twopc.Vote) int { return strings.Compare(a.Site, b.Site) })
		if form == nil {
			require.Equal(w, []twopc.Vote{{Site: "a", Commit: true}, {Site: "b", Commit: true}}, votes)
		}
	})
}

// The vote timeout counts from the beginning, to the millisecond.
func TestTheTimeForTheVotes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.host("c"), append([]twopc.Option{twopc.WithVoteTimeout(7 * time.Second)}, form...)...)
		a := w.site(w.host("a"), "a")
		w.site(w.host("b"), "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		began := time.Now()
		pa := within(w, time.Second, a.Proposals())
		require.NoError(w, pa.Commit(w.Context()))
		time.Sleep(7*time.Second - time.Nanosecond)
		never(w, tx.Decided(), "too early")
		within(w, time.Second, tx.Decided())
		require.Equal(w, 7*time.Second, time.Since(began))
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.Equal(w, `no vote in time from "b"`, tx.Reason())
		within(w, time.Second, pa.Decided())
		require.Equal(w, twopc.Aborted, pa.Outcome())
	})
}

// A site that dies before it has voted is not waited for: the transaction is aborted when its
// session expires.
func TestASiteThatDiesBeforeItVoted(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.host("c"), append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, hb := w.site(w.host("a"), "a"), w.host("b")
		w.site(hb, "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		require.NoError(w, within(w, time.Second, a.Proposals()).Commit(w.Context()))
		hb.machine.Partition()
		died := time.Now()
		info, ok := w.server.Session(hb.Status().SessionID)
		require.True(w, ok)
		within(w, time.Minute, tx.Decided())
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
		c := w.coordinator(w.host("c"), append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, hb := w.site(w.host("a"), "a"), w.host("b")
		b := w.site(hb, "b")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		require.NoError(w, within(w, time.Second, b.Proposals()).Commit(w.Context()))
		hb.die()
		time.Sleep(time.Minute)
		never(w, tx.Decided(), "it has promised")
		require.NoError(w, within(w, time.Second, a.Proposals()).Commit(w.Context()))
		within(w, time.Second, tx.Decided())
		require.Equal(w, twopc.Committed, tx.Outcome())
		again := w.site(w.host("b again"), "b")
		p := within(w, time.Second, again.Proposals())
		require.Equal(w, twopc.Committed, p.Voted())
		within(w, time.Second, p.Decided())
		require.Equal(w, twopc.Committed, p.Outcome())
	})
}

// A coordinator that dies leaves nobody in doubt: the sites decide when its session expires. In the
// form with peers, what all agreed to is committed.
func TestACoordinatorThatDies(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc := w.host("c")
		c := w.coordinator(hc, append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, b := w.site(w.host("a"), "a"), w.site(w.host("b"), "b")
		_, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		pa, pb := within(w, time.Second, a.Proposals()), within(w, time.Second, b.Proposals())
		hc.die()
		require.NoError(w, pa.Commit(w.Context()))
		if form != nil {
			require.NoError(w, pb.Commit(w.Context()))
		}
		within(w, 10*time.Second, pa.Decided())
		within(w, 10*time.Second, pb.Decided())
		want := twopc.Aborted
		if form != nil {
			want = twopc.Committed
		}
		require.Equal(w, want, pa.Outcome())
		require.Equal(w, want, pb.Outcome())
		require.NoError(w, pa.Ack(w.Context()))
		require.NoError(w, pb.Ack(w.Context()))
		again := w.coordinator(w.host("c again"))
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		within(w, time.Second, taken[0].Decided())
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
		hc := w.host("c")
		c := w.coordinator(hc)
		site := w.site(w.host("a"), "a")
		_, err := c.Begin(w.Context(), "t1", nil, "a")
		require.NoError(w, err)
		p := within(w, time.Second, site.Proposals())
		// the site is cut off, so that it can't be the quicker
		heal := w.server.Host("a").Partition()
		hc.die()
		again := w.coordinator(w.host("c again"), twopc.WithVoteTimeout(time.Hour))
		live := w.coordinator(w.host("other"))
		other, err := live.Begin(w.Context(), "t2", nil, "nobody")
		require.NoError(w, err)
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1, "what is led by one who lives is left to him")
		require.Equal(w, "t1", taken[0].ID())
		heal()
		require.NoError(w, p.Commit(w.Context()))
		within(w, time.Minute, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		require.Equal(w, []twopc.Vote{{Site: "a", Commit: true}}, slices.Collect(received(taken[0].Votes())))
		require.NoError(w, other.Abort(w.Context(), "enough"))
		none, err := w.coordinator(w.host("third")).Recover(w.Context())
		require.NoError(w, err)
		require.Empty(w, none)
	})
}

// While it can't be told whether a coordinator lives, Recover waits, as long as it may.
func TestRecoverWaitsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc := w.host("c")
		_, err := w.coordinator(hc).Begin(w.Context(), "t1", nil, "a")
		require.NoError(w, err)
		hc.die()
		again := w.coordinator(w.host("c again"))
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
		h := w.host("a")
		c, a := w.coordinator(w.host("c")), w.site(h, "a")
		tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		p := within(w, time.Second, a.Proposals())
		require.NoError(w, p.Commit(w.Context()))
		require.NoError(w, h.DeleteAll(w.Context(), path+"/tx/t1"))
		within(w, time.Minute, p.Done())
		require.ErrorIs(w, p.Err(), twopc.ErrGone)
		require.Equal(w, twopc.Undecided, p.Outcome())
		never(w, p.Decided(), "nobody knows")
		within(w, time.Minute, tx.Done())
		require.ErrorIs(w, tx.Err(), twopc.ErrGone)
		require.Equal(w, twopc.Undecided, tx.Outcome())
		require.ErrorIs(w, tx.Abort(w.Context(), "late"), twopc.ErrGone)
		require.ErrorIs(w, p.Abort(w.Context(), "then not"), twopc.ErrGone)
		require.NoError(w, a.Close(w.Context()))
		again := w.site(w.host("a again"), "a")
		p = within(w, time.Second, again.Proposals())
		require.Equal(w, "t1", p.ID())
		within(w, time.Second, p.Done())
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
		h := w.host("all")
		c := w.coordinator(h, twopc.WithVoteTimeout(time.Minute))
		tx, err := c.Begin(w.Context(), "t1", []byte("pay"), "a")
		require.NoError(w, err)
		for _, node := range w.nodes() {
			if strings.HasSuffix(node, "-payload") {
				require.NoError(w, h.Delete(w.Context(), node, -1))
			}
		}
		p := within(w, time.Second, w.site(h, "a").Proposals())
		within(w, time.Second, p.Done())
		require.ErrorIs(w, p.Err(), twopc.ErrGone)
		require.ErrorIs(w, p.Commit(w.Context()), twopc.ErrGone)
		within(w, 2*time.Minute, tx.Decided())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
	})
}

// Many at once, from several coordinators, each to its own sites; a site hears of its own alone,
// oldest first.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, hc := w.host("sites"), w.host("c")
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
			p := within(w, time.Second, a.Proposals())
			require.Equal(w, fmt.Sprint("t", i), p.ID())
			require.NoError(w, p.Commit(w.Context()))
			if i%2 == 1 {
				p := within(w, time.Second, b.Proposals())
				require.Equal(w, fmt.Sprint("t", i), p.ID())
				require.NoError(w, p.Commit(w.Context()))
			}
		}
		never(w, b.Proposals(), "not its own")
		for _, tx := range txs {
			within(w, time.Second, tx.Decided())
			require.Equal(w, twopc.Committed, tx.Outcome())
		}
	})
}
