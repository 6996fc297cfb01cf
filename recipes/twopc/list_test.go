// What List tells of transactions, and what it leaves out.

package twopc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

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
