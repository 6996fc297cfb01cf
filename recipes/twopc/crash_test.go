package twopc_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/zktest"
)

// unseen crashes a coordinator's actor while the sites are cut off: its presence blinks, which they
// would take for a death.
func (w *world) unseen(c *twopc.Coordinator, sites *bubble.Host) {
	w.Helper()
	synctest.Wait()
	heal := sites.Machine.Partition()
	c.Crash("while nobody looks")
	time.Sleep(time.Second)
	heal()
	time.Sleep(2 * time.Second)
}

// The actors are made anew between two votes, and look at all of them again: each vote is given
// once, and none is lost behind those that were seen twice.
func TestEachVoteIsGivenOnceAcrossCrashes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), form...)
		h := w.Host("sites")
		names := []string{"x", "y", "z"}
		sites := map[string]*twopc.Site{}
		for _, name := range names {
			sites[name] = w.site(h, name)
		}
		tx, err := c.Begin(w.Context(), "t", nil, names...)
		require.NoError(w, err)
		for _, name := range names {
			require.NoError(w, bubble.Within(w, time.Second, sites[name].Proposals()).Commit(w.Context()))
			sites[name].Crash("behind its vote")
			w.unseen(c, h)
		}
		bubble.Within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Committed, tx.Outcome())
		var votes []string
		for v := range tx.Votes() {
			require.True(w, v.Commit)
			votes = append(votes, v.Site)
		}
		require.Equal(w, names[:len(votes)], votes)
		if form == nil { // a decision of the peers may come before the last vote
			require.Len(w, votes, len(names))
		}
	})
}

// begins tells whether a request begins a transaction.
func begins(r *zktest.Request, id string) bool {
	return r.Op == zktest.OpMulti && len(r.Ops) > 1 && r.Ops[1].Path == path+"/tx/"+id && slices.Contains([]zktest.Op{zktest.OpCreate, zktest.OpCreate2}, r.Ops[1].Op)
}

// A server that is overloaded has not taken a beginning yet when the coordinator's actor crashes,
// and the beginning is given up. It is not carried out behind that, with nobody to decide it.
func TestABeginningOfBeforeACrashDoesNotComeLater(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		h := w.Host("c")
		c := w.coordinator(h, append(form, twopc.WithVoteTimeout(time.Minute))...)
		w.site(w.Host("a"), "a")
		warm, err := c.Begin(w.Context(), "warm", nil, "a")
		require.NoError(w, err)
		require.NoError(w, warm.Abort(w.Context(), "warm"))
		var sent atomic.Bool
		began, id := time.Now(), h.Status().SessionID
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && begins(r, "t") && time.Since(began) < 10*time.Second {
				sent.Store(true)
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		}))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err = c.Begin(ctx, "t", nil, "a")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		c.Crash("with a beginning under way")
		require.True(w, sent.Load())
		time.Sleep(time.Hour)
		if data, _, err := h.Get(w.Context(), path+"/tx/t"); err == nil {
			require.NotContains(w, string(data), `"undecided"`)
		}
	})
}

// All have agreed, and the decision is not written, because the sites die together with the
// coordinator. With peers, the first site that comes back commits.
func TestAllHaveAgreedAndAllDie(t *testing.T) {
	t.Parallel()
	for range 3 {
		inBubble(t, func(w *world) { allDie(w, 4) })
	}
}

func allDie(w *world, n int) {
	hc, ha := w.Host("c"), w.Host("a")
	c := w.coordinator(hc, twopc.WithPeerDecision(), twopc.WithVoteTimeout(time.Hour))
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("site", i))
	}
	id, dead := ha.Status().SessionID, new(atomic.Bool)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		decides := slices.ContainsFunc(r.Ops, func(o jute.Request) bool { return o.Op == zktest.OpSetData && o.Path == path+"/tx/t" })
		if r.SessionID == id && (dead.Load() || decides) {
			dead.Store(true)
			return zktest.DropRequest
		}
		return zktest.Pass
	}))
	_, err := c.Begin(w.Context(), "t", nil, names...)
	require.NoError(w, err)
	for _, name := range names {
		p := bubble.Within(w, time.Second, w.site(ha, name).Proposals())
		require.NoError(w, p.Commit(w.Context()))
	}
	synctest.Wait()
	require.True(w, dead.Load())
	ha.Die()
	hc.Die()
	time.Sleep(time.Minute)
	again := w.site(w.Host("a again"), names[0])
	p := bubble.Within(w, time.Second, again.Proposals())
	require.Equal(w, twopc.Committed, p.Voted())
	bubble.Within(w, time.Minute, p.Decided())
	require.Equal(w, twopc.Committed, p.Outcome(), p.Reason())
}
