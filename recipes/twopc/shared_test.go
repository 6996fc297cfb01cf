package twopc_test

import (
	"fmt"
	"testing"
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

// One coordinator took a transaction over while the first lived on. Each learns the outcome, and
// the first to acknowledge it leaves nothing to do for the other.
func TestTwoCoordinatorsLearnOneOutcome(t *testing.T) {
	t.Parallel()
	for first := range 2 {
		t.Run([]string{"the first", "the one that recovered"}[first]+" acknowledges", func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(w *world, form []twopc.Option) {
				s := w.share(form, 2)
				one, other := s.txs[first], s.txs[1-first]
				require.NoError(w, one.Abort(w.Context(), "no longer wanted"))
				s.heal()
				bubble.Within(w, time.Minute, other.Done())
				require.Equal(w, twopc.Aborted, other.Outcome())
				require.Equal(w, "no longer wanted", other.Reason())
				time.Sleep(10 * time.Second) // the site has acknowledged
				require.NoError(w, one.Ack(w.Context()))
				require.Empty(w, w.nodes())
				require.NoError(w, other.Ack(w.Context()))
			})
		})
	}
}

// One of them acknowledges while the other is cut off: that one can't know the outcome any more,
// and says so, never that it was another one. It is so with three, too.
func TestACoordinatorThatComesTooLateCannotKnow(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"acknowledged": zktest.Pass, "acknowledgement's reply lost": zktest.CutAfter} {
		for first := range 3 {
			t.Run(fmt.Sprint(name, first), func(t *testing.T) {
				t.Parallel()
				inBothForms(t, func(w *world, form []twopc.Option) {
					s := w.share(form, 3)
					one := s.txs[first]
					var heal []func()
					for i, h := range s.hosts {
						if i != first {
							heal = append(heal, h.Machine.Partition())
						}
					}
					require.NoError(w, one.Abort(w.Context(), "no longer wanted"))
					s.heal()
					time.Sleep(10 * time.Second) // the site has acknowledged
					w.strike(s.hosts[first], 1, func(*zktest.Request) zktest.Verdict { return fate })
					require.NoError(w, one.Ack(w.Context()))
					require.Empty(w, w.nodes())
					for _, back := range heal {
						back()
					}
					for i, other := range s.txs {
						if i != first {
							bubble.Within(w, time.Minute, other.Done())
							require.ErrorIs(w, other.Err(), twopc.ErrGone)
							require.Equal(w, twopc.Undecided, other.Outcome())
							require.ErrorIs(w, other.Ack(w.Context()), twopc.ErrGone)
						}
					}
				})
			})
		}
	}
}
