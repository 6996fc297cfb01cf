package main

// Chaos: what is planned, whom it strikes, and what it says in the end.

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanHasEachKindWhileThereIsWork(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]kind{
		"embedded":            possible(true, true),
		"real ensemble":       possible(true, false),
		"no signals to pause": possible(false, false),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				plan := planChaos(kinds, 4, rand.New(rand.NewPCG(seed, 0)))
				require.Len(t, plan, len(kinds)+4)
				for _, k := range kinds {
					require.True(t, slices.ContainsFunc(plan, func(s strike) bool { return s.kind == k }), k)
				}
				for i, s := range plan {
					require.True(t, s.due >= 0.05 && s.due <= 0.9, s)
					require.True(t, i == 0 || plan[i-1].due <= s.due)
				}
			}
		})
	}
	require.Empty(t, planChaos(nil, 4, rand.New(rand.NewPCG(1, 0))))
	require.Len(t, possible(true, true), 6)
	require.Len(t, possible(true, false), 4)
	require.Len(t, possible(false, true), 4)
}

func TestSummaryDoesNotPretend(t *testing.T) {
	t.Parallel()
	require.Equal(t, "none", (&chaos{}).summary())
	c := chaos{
		kinds: []kind{{kill, aWorker}, {pause, aWorker}, {kill, theCoordinator}},
		done:  []kind{{kill, theCoordinator}, {kill, aWorker}, {kill, theCoordinator}},
	}
	require.Equal(t, "kill a worker ×1, kill the coordinator ×2; the work was done before it could pause a worker", c.summary())
}
