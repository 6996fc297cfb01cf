package twopc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// shared is a transaction that one coordinator began, and that others took over while it lived on.
// The site can't be reached until it is healed.
type shared struct {
	hosts []*bubble.Host
	txs   []*twopc.Tx // of each coordinator
	heal  func()      // the site
}

// share begins a transaction, ends the session of each coordinator in turn, and has the next one
// recover it.
func (w *world) share(form []twopc.Option, n int) *shared {
	w.Helper()
	s := &shared{}
	form = append([]twopc.Option{twopc.WithVoteTimeout(time.Hour)}, form...)
	for i := range n {
		s.hosts = append(s.hosts, w.Host(string(rune('c'+i))))
	}
	far := w.Host("a", session.WithTimeout(time.Minute))
	w.agreeable(w.site(far, "a"))
	s.heal = far.Machine.Partition()
	tx, err := w.coordinator(s.hosts[0], form...).Begin(w.Context(), "t", nil, "a")
	require.NoError(w, err)
	s.txs = append(s.txs, tx)
	for i, h := range s.hosts[1:] {
		w.Server.Expire(s.hosts[i].Status().SessionID)
		taken, err := w.coordinator(h, form...).Recover(w.Context())
		require.NoError(w, err)
		require.Len(w, taken, 1)
		s.txs = append(s.txs, taken[0])
	}
	time.Sleep(time.Second)
	return s
}

// One coordinator took a transaction over while the first lived on. Whichever of them acknowledges
// it while the other is cut off, the other learns the outcome when it is back, and when it has
// acknowledged it, too, nothing is left.
func TestWhicheverCoordinatorComesSecondLearnsTheOutcome(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"acknowledged": zktest.Pass, "acknowledgement's reply lost": zktest.CutAfter} {
		for first := range 2 {
			t.Run(name+" by "+[]string{"the first", "the one that recovered"}[first], func(t *testing.T) {
				t.Parallel()
				inBothForms(t, func(w *world, form []twopc.Option) {
					s := w.share(form, 2)
					one, other := s.txs[first], s.txs[1-first]
					heal := s.hosts[1-first].Machine.Partition()
					require.NoError(w, one.Abort(w.Context(), "no longer wanted"))
					s.heal()
					time.Sleep(10 * time.Second) // the site has acknowledged
					w.strike(s.hosts[first], 1, func(*zktest.Request) zktest.Verdict { return fate })
					require.NoError(w, one.Ack(w.Context()))
					require.Empty(w, w.nodes())
					require.Equal(w, twopc.Undecided, other.Outcome())
					heal()
					bubble.Within(w, time.Minute, other.Done())
					require.ErrorIs(w, other.Err(), twopc.ErrDecided)
					require.Equal(w, twopc.Aborted, other.Outcome())
					require.Equal(w, "no longer wanted", other.Reason())
					require.NoError(w, other.Ack(w.Context()))
					require.Empty(w, w.tombstones(), "everybody knows")
				})
			})
		}
	}
}

// Of three coordinators that had it, one after the other, each learns the outcome, in whatever
// order they come back.
func TestEachOfThreeCoordinatorsLearnsTheOutcome(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		inBothForms(t, func(w *world, form []twopc.Option) {
			s := w.share(form, 3)
			heal := map[int]func(){}
			for _, i := range order[1:] {
				heal[i] = s.hosts[i].Machine.Partition()
			}
			require.NoError(w, s.txs[order[0]].Abort(w.Context(), "no longer wanted"))
			s.heal()
			time.Sleep(10 * time.Second)
			require.NoError(w, s.txs[order[0]].Ack(w.Context()))
			require.Empty(w, w.nodes())
			for _, i := range order[1:] {
				heal[i]()
				bubble.Within(w, time.Minute, s.txs[i].Done())
				require.ErrorIs(w, s.txs[i].Err(), twopc.ErrDecided, "%v: %d", order, i)
				require.Equal(w, twopc.Aborted, s.txs[i].Outcome())
				require.NoError(w, s.txs[i].Ack(w.Context()))
				synctest.Wait()
			}
		})
	}
}
