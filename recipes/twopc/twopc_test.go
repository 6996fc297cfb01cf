// Transactions as they should go, what the death of a site or of the coordinator does to one, and
// what another coordinator is told that takes it over.

package twopc_test

import (
	"context"
	"fmt"
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
		told := votes(tx)
		require.Equal(w, []twopc.Vote{{Site: "a", Commit: true}, {Site: "b", Commit: true}}[:len(told)], told)
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
		require.Equal(w, []twopc.Vote{{Site: "a", Reason: "no money"}}, votes(tx))
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
// session expires. One that has voted may die, and its successor is offered what it has promised.
func TestASiteThatDies(t *testing.T) {
	t.Parallel()
	for _, voted := range []bool{false, true} {
		inBothForms(t, func(w *world, form []twopc.Option) {
			c := w.coordinator(w.Host("c"), append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)...)
			a, hb := w.site(w.Host("a"), "a"), w.Host("b")
			b := w.site(hb, "b")
			tx, err := c.Begin(w.Context(), "t1", nil, "a", "b")
			require.NoError(w, err)
			pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
			if !voted {
				require.NoError(w, pa.Commit(w.Context()))
				hb.Machine.Partition()
				died := time.Now()
				info, ok := w.Server.Session(hb.Status().SessionID)
				require.True(w, ok)
				bubble.Within(w, time.Minute, tx.Decided())
				require.Equal(w, info.Expires, time.Now(), "at the instant of the expiry")
				require.Greater(w, time.Since(died), 5*time.Second)
				require.Equal(w, twopc.Aborted, tx.Outcome())
				require.Equal(w, `site "b" died before it voted`, tx.Reason())
				return
			}
			require.NoError(w, pb.Commit(w.Context()))
			hb.Die()
			time.Sleep(time.Minute)
			bubble.Never(w, tx.Decided(), "it has promised")
			require.NoError(w, pa.Commit(w.Context()))
			bubble.Within(w, time.Second, tx.Decided())
			require.Equal(w, twopc.Committed, tx.Outcome())
			p := bubble.Within(w, time.Second, w.site(w.Host("b again"), "b").Proposals())
			require.Equal(w, twopc.Committed, p.Voted())
			bubble.Within(w, time.Second, p.Decided())
			require.Equal(w, twopc.Committed, p.Outcome())
		})
	}
}

// A coordinator that dies leaves nobody in doubt: the sites decide when its session expires. In the
// form with peers, what all agreed to is committed. The one that starts again is told the outcome,
// however late, and can't carry the transaction out a second time by beginning it again.
func TestACoordinatorThatDies(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		hc, taken := w.Host("c"), []*twopc.Tx(nil)
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
		time.Sleep(10 * time.Minute)
		again := w.coordinator(w.Host("c again"), form...)
		_, err = again.Begin(w.Context(), "t1", nil, "a")
		require.ErrorIs(w, err, twopc.ErrFinished)
		for range 2 { // until it is acknowledged, also at the coordinator that has it
			taken, err = again.Recover(w.Context())
			require.NoError(w, err)
			require.Len(w, taken, 1)
			bubble.Within(w, time.Second, taken[0].Decided())
			require.Equal(w, want, taken[0].Outcome())
		}
		require.NoError(w, taken[0].Ack(w.Context()))
		require.Empty(w, w.nodes())
		taken, err = again.Recover(w.Context())
		require.NoError(w, err)
		require.Empty(w, taken)
		_, err = again.Begin(w.Context(), "t1", nil, "a")
		require.NoError(w, err, "the application says that it is another one")
	})
}

// A coordinator that starts again before its predecessor's session has expired waits, as long as it
// may, takes over, and decides on its own time.
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
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err = again.Recover(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded, "it can't be told yet")
		taken, err := again.Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1, "what is led by one who lives is left to him")
		require.Equal(w, "t1", taken[0].ID())
		heal()
		require.NoError(w, p.Commit(w.Context()))
		bubble.Within(w, time.Minute, taken[0].Decided())
		require.Equal(w, twopc.Committed, taken[0].Outcome())
		require.Equal(w, []twopc.Vote{{Site: "a", Commit: true}}, votes(taken[0]))
		require.NoError(w, other.Abort(w.Context(), "enough"))
		none, err := w.coordinator(w.Host("third")).Recover(w.Context())
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

// Each learns the outcome, and the first to acknowledge it leaves nothing to do for the other. If
// the other was cut off until then, it can't know, and says so, never that it was another outcome.
func TestTwoCoordinatorsOfOneTransaction(t *testing.T) {
	t.Parallel()
	for first := range 2 {
		for _, cutOff := range []bool{false, true} {
			t.Run(fmt.Sprint(first, " acknowledges, the other is cut off: ", cutOff), func(t *testing.T) {
				t.Parallel()
				inBothForms(t, func(w *world, form []twopc.Option) { share(w, form, first, cutOff) })
			})
		}
	}
}

func share(w *world, form []twopc.Option, first int, cutOff bool) {
	form = append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)
	hosts := []*bubble.Host{w.Host("c"), w.Host("d")}
	far := w.Host("a", session.WithTimeout(time.Minute))
	w.agreeable(w.site(far, "a"))
	reach := far.Machine.Partition()
	tx, err := w.coordinator(hosts[0], form...).Begin(w.Context(), "t", nil, "a")
	require.NoError(w, err)
	w.Server.Expire(hosts[0].Status().SessionID)
	taken, err := w.coordinator(hosts[1], form...).Recover(w.Context())
	require.NoError(w, err)
	require.Len(w, taken, 1)
	time.Sleep(time.Second)

	both := []*twopc.Tx{tx, taken[0]}
	one, other, heal := both[first], both[1-first], func() {}
	if cutOff {
		heal = hosts[1-first].Machine.Partition()
	}
	require.NoError(w, one.Abort(w.Context(), "no longer wanted"))
	reach()
	time.Sleep(10 * time.Second) // the site has acknowledged
	if !cutOff {
		bubble.Within(w, time.Minute, other.Done())
		require.Equal(w, twopc.Aborted, other.Outcome())
		require.Equal(w, "no longer wanted", other.Reason())
	}
	require.NoError(w, one.Ack(w.Context()))
	require.Empty(w, w.nodes())
	heal()
	bubble.Within(w, time.Minute, other.Done())
	if !cutOff {
		require.NoError(w, other.Ack(w.Context()))
		return
	}
	require.ErrorIs(w, other.Err(), twopc.ErrGone)
	require.Equal(w, twopc.Undecided, other.Outcome())
	require.ErrorIs(w, other.Ack(w.Context()), twopc.ErrGone)
}

// B75: Recover takes over what a dead coordinator was told that it had begun, also where the server
// lags behind. A leader, which is the second of two here, does not catch up at a sync.
func TestB75_RecoverIsUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
				near, far := w.HostOn("a", server(1-lagging)), w.HostOn("b", server(lagging))
				next := w.coordinator(far)
				taken, err := next.Recover(w.Context())
				require.NoError(w, err)
				require.Empty(w, taken)
				synctest.Wait()
				w.Server.Lag(lagging, 100)
				_, err = w.coordinator(near).Begin(w.Context(), "t", nil, "x")
				require.NoError(w, err)
				near.Die()
				w.Server.Expire(near.Status().SessionID)
				taken, err = next.Recover(w.Context())
				require.NoError(w, err)
				require.Len(w, taken, 1)
			}, zktest.WithServers(2))
		})
	}
}

func TestListTellsVotesAndAcknowledgements(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("c")
		_, err := twopc.List(w.Context(), h.Session, path)
		require.ErrorIs(w, err, session.ErrNoNode, "there never was one")
		c, a, b := w.coordinator(h), w.site(h, "a"), w.site(h, "b")
		began := time.Now()
		for _, id := range []string{"z", "y"} {
			_, err := c.Begin(w.Context(), id, []byte("order"), "b", "a")
			require.NoError(w, err)
			time.Sleep(time.Second)
		}
		z, y := bubble.Get(w, a.Proposals()), bubble.Get(w, a.Proposals())
		require.NoError(w, z.Commit(w.Context()))
		require.NoError(w, y.Commit(w.Context()))
		list := func() []twopc.Info {
			all, err := twopc.List(w.Context(), h.Session, path)
			require.NoError(w, err)
			for i := range all {
				require.WithinDuration(w, began.Add(time.Duration(i)*time.Second), all[i].Since, 500*time.Millisecond)
				all[i].Since = time.Time{}
			}
			return all
		}
		half := map[string]twopc.Outcome{"a": twopc.Committed, "b": twopc.Undecided}
		require.Equal(w, []twopc.Info{{ID: "z", Sites: []string{"b", "a"}, Votes: half}, {ID: "y", Sites: []string{"b", "a"}, Votes: half}}, list())
		require.NoError(w, bubble.Get(w, b.Proposals()).Commit(w.Context()))
		require.NoError(w, bubble.Get(w, b.Proposals()).Abort(w.Context(), "no stock"))
		bubble.Closes(w, z.Decided())
		require.NoError(w, z.Ack(w.Context()))
		for _, foreign := range []string{"{}", "", `{"guid":"x","state":"maybe"}`} {
			require.NoError(w, w.Server.Create(path+"/tx/foreign"+foreign[:min(1, len(foreign))]+string(rune('0'+len(foreign))), []byte(foreign)))
		}
		require.Equal(w, []twopc.Info{
			{ID: "z", Outcome: twopc.Committed, Sites: []string{"b", "a"}, Votes: map[string]twopc.Outcome{"b": twopc.Committed}},
			{ID: "y", Outcome: twopc.Aborted, Reason: "no stock", Sites: []string{"b", "a"}, Votes: map[string]twopc.Outcome{"a": twopc.Committed, "b": twopc.Aborted}},
		}, list())
	})
}

// A record that claims to have a great many sites costs no request for each.
func TestListAsksOnlyForVotesThatExist(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		require.NoError(w, w.Server.Create(path+"/tx/t", []byte(`{"guid":"../x","state":"undecided","sites":["a","../../b","","c/d"]}`)))
		requests := 0
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op != zktest.OpPing {
				requests++
			}
			return zktest.Pass
		}))
		s := w.Session()
		before := requests
		all, err := twopc.List(w.Context(), s, path)
		require.NoError(w, err)
		require.Len(w, all, 1)
		require.Empty(w, all[0].Votes)
		require.LessOrEqual(w, requests-before, 4, "sync, two listings, the record")
	})
}
