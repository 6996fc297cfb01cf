// Which faults a run has, and when.

package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/test/chaos/internal/faults"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var plan = faults.Plan{
	Duration: 10 * time.Minute, Timeout: 3 * time.Second, Servers: 3, Workers: 4, Kinds: faults.All(),
	Every: 300 * time.Millisecond, Storm: 20 * time.Second, Calm: 10 * time.Second,
}

func TestASeedRepeatsItsSchedule(t *testing.T) {
	t.Parallel()
	again := faults.Schedule(7, plan)
	require.Equal(t, faults.Schedule(7, plan), again)
	require.NotEqual(t, faults.Schedule(7, plan), faults.Schedule(8, plan))
}

func TestAScheduleHasEveryKindAndEndsWithItsStorms(t *testing.T) {
	t.Parallel()
	kinds := make(map[faults.Kind]int)
	storms := faults.Schedule(1, plan)
	require.Len(t, storms, 20)
	for _, s := range storms {
		for _, f := range s.Faults {
			kinds[f.Kind]++
			require.LessOrEqual(t, f.At+f.For, s.Length)
			require.Less(t, f.Server, plan.Servers)
			require.Less(t, f.Worker, plan.Workers)
		}
	}
	require.Len(t, kinds, len(faults.All()))
	require.Greater(t, kinds[faults.StopServer], kinds[faults.Herd])
}

func TestListsOfKinds(t *testing.T) {
	t.Parallel()
	all, err := faults.ParseKinds("all,-herd")
	require.NoError(t, err)
	require.Len(t, all, len(faults.All())-1)
	require.NotContains(t, all, faults.Herd)
	two, err := faults.ParseKinds("isolate,lose")
	require.NoError(t, err)
	require.Equal(t, []faults.Kind{faults.Isolate, faults.Lose}, two)
	none := plan
	none.Kinds, err = faults.ParseKinds("none")
	require.NoError(t, err)
	for _, s := range faults.Schedule(1, none) {
		require.Empty(t, s.Faults)
	}
	_, err = faults.ParseKinds("flood")
	require.ErrorContains(t, err, `"flood"`)
}
