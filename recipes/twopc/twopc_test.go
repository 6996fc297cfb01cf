// Transactions without faults, deaths of a site or the coordinator, takeovers by another
// coordinator, and List. Helpers: world_test.go.

package twopc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAllVoteToCommit(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		c := newCoordinator(w, w.Host("c"), form...)
		a, b := newSite(w, w.Host("a"), "a"), newSite(w, w.Host("b"), "b")
		tx := must(c.Begin(w.Context(), "t1", []byte("pay"), "a", "b"))
		require.Equal(w, twopc.Undecided, tx.Outcome())
		pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		require.Equal(w, "t1", pa.ID())
		require.Equal(w, []byte("pay"), pb.Payload())
		require.Equal(w, twopc.Undecided, pa.Voted())
		require.NoError(w, pa.VoteCommit(w.Context()))
		require.Equal(w, twopc.Committed, pa.Voted())
		bubble.Never(w, tx.Decided(), "decided without b")
		require.ErrorIs(w, pa.Ack(w.Context()), twopc.ErrUndecided)
		require.NoError(w, pb.VoteCommit(w.Context()))
		bubble.Within(w, time.Second, tx.Decided())
		told := votes(tx)
		require.Equal(w, []twopc.Vote{{Site: "a", Outcome: twopc.Committed}, {Site: "b", Outcome: twopc.Committed}}[:len(told)], told)
		if form == nil { // a decision of the peers may come before the last vote is seen
			require.Len(w, told, 2)
		}
		bubble.Within(w, time.Second, pa.Decided())
		bubble.Within(w, time.Second, pb.Decided())
		require.Equal(w, twopc.Committed, tx.Outcome())
		require.Equal(w, twopc.Committed, pa.Outcome())
		require.Equal(w, twopc.Committed, pb.Outcome())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.ErrorIs(w, tx.Abort(w.Context(), "late"), twopc.ErrDecided)
		require.NoError(w, pa.Ack(w.Context()))
		require.NotEmpty(w, nodes(w), "b has not acknowledged")
		require.NoError(w, pb.Ack(w.Context()))
		require.NotEmpty(w, nodes(w), "the coordinator has not acknowledged")
		require.NoError(w, tx.Ack(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.Empty(w, nodes(w))
	})
}

func TestOneVoteToAbortDecides(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		c := newCoordinator(w, w.Host("c"), form...)
		hb := w.Host("b")
		a, b := newSite(w, w.Host("a"), "a"), newSite(w, hb, "b")
		tx := must(c.Begin(w.Context(), "t1", nil, "a", "b"))
		pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		require.NoError(w, pa.VoteAbort(w.Context(), "no money"))
		require.Equal(w, twopc.Aborted, pa.Voted())
		bubble.Within(w, time.Second, pa.Decided())
		bubble.Within(w, time.Second, pb.Decided())
		bubble.Within(w, time.Second, tx.Decided())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.Equal(w, `site "a": no money`, tx.Reason())
		require.Equal(w, "no money", pb.Reason())
		require.ErrorIs(w, tx.Err(), twopc.ErrDecided)
		require.Equal(w, []twopc.Vote{{Site: "a", Outcome: twopc.Aborted, Reason: "no money"}}, votes(tx))
		require.NoError(w, tx.Abort(w.Context(), "too"), "it is aborted")
		require.ErrorIs(w, pb.VoteCommit(w.Context()), twopc.ErrDecided, "a vote after the decision")
		require.NoError(w, pa.VoteAbort(w.Context(), "again"), "the same vote again")
		require.ErrorIs(w, pa.VoteCommit(w.Context()), twopc.ErrVoted)
		require.NoError(w, pa.Ack(w.Context()))
		require.NoError(w, pa.Ack(w.Context()), "again")
		require.ErrorIs(w, pa.Err(), session.ErrReleased)
		require.ErrorIs(w, pa.VoteCommit(w.Context()), twopc.ErrDecided)
		require.NoError(w, tx.Ack(w.Context()), "before b")
		require.NoError(w, tx.Ack(w.Context()), "again")
		require.NotEmpty(w, nodes(w), "b has not acknowledged")
		require.NoError(w, pb.Ack(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.Empty(w, nodes(w))
	})
}

// The vote timeout counts from the beginning, to the millisecond.
func TestTheTimeForTheVotes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		c := newCoordinator(w, w.Host("c"), append([]twopc.Option{twopc.WithVoteTimeout(7 * time.Second)}, form...)...)
		a := newSite(w, w.Host("a"), "a")
		newSite(w, w.Host("b"), "b")
		tx := must(c.Begin(w.Context(), "t1", nil, "a", "b"))
		began := time.Now()
		pa := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, pa.VoteCommit(w.Context()))
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

// If a site dies before it has voted, the transaction is aborted when its session expires. (After
// its vote: the traces. What its successor is offered: ExampleSite_Proposals_restart.)
func TestASiteThatDies(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		c := newCoordinator(w, w.Host("c"), append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, hb := newSite(w, w.Host("a"), "a"), w.Host("b")
		newSite(w, hb, "b")
		tx := must(c.Begin(w.Context(), "t1", nil, "a", "b"))
		require.NoError(w, bubble.Within(w, time.Second, a.Proposals()).VoteCommit(w.Context()))
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

// A coordinator that dies leaves no site in doubt: the sites decide when its session expires. In
// the form with peers they commit if all have agreed. The coordinator that starts again is told the
// outcome, however late, and can't carry the transaction out a second time by beginning it again.
func TestACoordinatorThatDies(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		hc, taken := w.Host("c"), []*twopc.Tx(nil)
		c := newCoordinator(w, hc, append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
		a, b := newSite(w, w.Host("a"), "a"), newSite(w, w.Host("b"), "b")
		_, err := c.Begin(w.Context(), "t1", nil, "a", "b")
		require.NoError(w, err)
		pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		hc.Die()
		require.NoError(w, pa.VoteCommit(w.Context()))
		if form != nil {
			require.NoError(w, pb.VoteCommit(w.Context()))
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
		time.Sleep(10 * time.Minute)
		again := newCoordinator(w, w.Host("c again"), form...)
		_, err = again.Begin(w.Context(), "t1", nil, "a")
		require.ErrorIs(w, err, twopc.ErrFinished)
		for range 2 { // until it is acknowledged, also at the coordinator that has it
			taken = must(again.Recover(w.Context()))
			require.Len(w, taken, 1)
			bubble.Within(w, time.Second, taken[0].Decided())
			require.Equal(w, want, taken[0].Outcome())
		}
		require.NoError(w, taken[0].Ack(w.Context()))
		require.Empty(w, nodes(w))
		taken = must(again.Recover(w.Context()))
		require.Empty(w, taken)
		_, err = again.Begin(w.Context(), "t1", nil, "a")
		require.NoError(w, err, "the application says that it is another one")
	})
}

// A coordinator that starts again before its predecessor's session has expired waits, as long as it
// may, takes over, and decides on its own time.
func TestRecoverUndecided(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		hc := w.Host("c")
		c := newCoordinator(w, hc)
		site := newSite(w, w.Host("a"), "a")
		must(c.Begin(w.Context(), "t1", nil, "a"))
		p := bubble.Within(w, time.Second, site.Proposals())
		// the site is cut off, so that it can't decide first
		heal := w.Server.Host("a").Partition()
		hc.Die()
		again := newCoordinator(w, w.Host("c again"), twopc.WithVoteTimeout(time.Hour))
		live := newCoordinator(w, w.Host("other"))
		other, err := live.Begin(w.Context(), "t2", nil, "nobody")
		require.NoError(w, err)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err = again.Recover(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded, "it can't be told yet")
		taken := must(again.Recover(w.Context()))
		require.Len(w, taken, 1, "what is led by one who lives is left to him")
		require.Equal(w, "t1", taken[0].ID())
		heal()
		require.NoError(w, p.VoteCommit(w.Context()))
		bubble.Within(w, time.Minute, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		require.Equal(w, []twopc.Vote{{Site: "a", Outcome: twopc.Committed}}, votes(taken[0]))
		require.NoError(w, other.Abort(w.Context(), "enough"))
		none, err := newCoordinator(w, w.Host("third")).Recover(w.Context())
		require.NoError(w, err)
		require.Empty(w, none)
		require.NoError(w, again.Close(w.Context()))
		_, err = again.Recover(w.Context())
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

// The reply to a vote is lost while the site closes. Close confirms the vote.
func TestCloseConfirmsAVoteWhoseReplyWasLost(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"carried out": zktest.CutAfter, "not carried out": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *bubble.World) {
				c, h := newCoordinator(w, w.Host("c")), w.Host("a")
				a := newSite(w, h, "a")
				must(c.Begin(w.Context(), "t", nil, "a"))
				p := bubble.Within(w, time.Second, a.Proposals())
				synctest.Wait()
				w.Kth(h.Session, 1, fate, zktest.OpCloseSession)
				vote := bubble.Begin(func() error { return p.VoteCommit(w.Context()) })
				synctest.Wait()
				require.NoError(w, a.Close(w.Context()))
				require.NoError(w, bubble.Within(w, time.Minute, vote))
			})
		})
	}
}

// B75: Recover takes over every transaction that a dead coordinator has begun, also if the server
// lags behind. A leader, which is the second of two here, does not catch up at a sync.
func TestB75_RecoverIsUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *bubble.World) {
				server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
				current, behind := w.HostOn("a", server(1-lagging)), w.HostOn("b", server(lagging))
				next := newCoordinator(w, behind)
				taken, err := next.Recover(w.Context())
				require.NoError(w, err)
				require.Empty(w, taken)
				synctest.Wait()
				w.Server.Lag(lagging, 100)
				must(newCoordinator(w, current).Begin(w.Context(), "t", nil, "x"))
				current.Die()
				w.Server.Expire(current.Status().SessionID)
				taken = must(next.Recover(w.Context()))
				require.Len(w, taken, 1)
			}, zktest.WithServers(2))
		})
	}
}

func TestListTellsVotesAndAcknowledgements(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("c")
		c := newCoordinator(w, h)
		_, err := c.List(w.Context())
		require.ErrorIs(w, err, session.ErrNoNode, "there never was one")
		require.NoError(w, w.Server.Znodes(w).Create(path+"/tx/t", []byte(`{"guid":"../x","state":"undecided","sites":["a","../../b","","c/d"]}`)))
		w.Server.ClearJournal()
		all := must(c.List(w.Context()))
		require.Empty(w, all[0].Votes)
		require.LessOrEqual(w, len(w.Server.Journal()), 4, "a sync, two listings, the record; no vote that does not exist")
		require.NoError(w, w.Server.Znodes(w).Delete(path+"/tx/t"))
		a, b := newSite(w, h, "a"), newSite(w, h, "b")
		began := time.Now()
		for _, id := range []string{"z", "y"} {
			must(c.Begin(w.Context(), id, []byte("order"), "b", "a"))
			time.Sleep(time.Second)
		}
		z, y := bubble.Get(w, a.Proposals()), bubble.Get(w, a.Proposals())
		require.NoError(w, z.VoteCommit(w.Context()))
		require.NoError(w, y.VoteCommit(w.Context()))
		list := func() []twopc.Entry {
			all := must(c.List(w.Context()))
			for i := range all {
				require.WithinDuration(w, began.Add(time.Duration(i)*time.Second), all[i].Since, 500*time.Millisecond)
				all[i].Since = time.Time{}
			}
			return all
		}
		half := map[string]twopc.Outcome{"a": twopc.Committed, "b": twopc.Undecided}
		require.Equal(w, []twopc.Entry{{ID: "z", Sites: []string{"b", "a"}, Votes: half}, {ID: "y", Sites: []string{"b", "a"}, Votes: half}}, list())
		require.NoError(w, bubble.Get(w, b.Proposals()).VoteCommit(w.Context()))
		require.NoError(w, bubble.Get(w, b.Proposals()).VoteAbort(w.Context(), "no stock"))
		bubble.Closes(w, z.Decided())
		require.NoError(w, z.Ack(w.Context()))
		for i, foreign := range []string{"{}", "", `{"guid":"x","state":"maybe"}`} {
			require.NoError(w, w.Server.Znodes(w).Create(fmt.Sprint(path, "/tx/foreign", i), []byte(foreign)))
		}
		require.Equal(w, []twopc.Entry{
			{ID: "z", Outcome: twopc.Committed, Sites: []string{"b", "a"}, Votes: map[string]twopc.Outcome{"b": twopc.Committed}},
			{ID: "y", Outcome: twopc.Aborted, Reason: "no stock", Sites: []string{"b", "a"}, Votes: map[string]twopc.Outcome{"a": twopc.Committed, "b": twopc.Aborted}},
		}, list())

		acknowledged := false
		w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData && strings.HasPrefix(r.Path, path+"/tx/z/") && !acknowledged {
				acknowledged = true
				require.NoError(w, w.Server.Znodes(w).Delete(r.Path)) // b acknowledges z
			}
			return zktest.Pass
		})
		require.Equal(w, twopc.Entry{ID: "z", Outcome: twopc.Committed, Sites: []string{"b", "a"}, Votes: map[string]twopc.Outcome{}}, list()[0], "a vote is gone since it was listed")
	})
}
