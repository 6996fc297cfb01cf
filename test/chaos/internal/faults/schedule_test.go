// Which faults a run has, and when; lost replies, on a real server.

package faults_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/faults"
	"github.com/troupe-go/troupe/zktest/ensemble"
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

// linked is a world in which nothing can be disturbed but one link.
type linked struct {
	faults.World
	link *ensemble.Proxy
}

func (w linked) Link(int, int) *ensemble.Proxy { return w.link }

// A request whose reply is lost may be carried out all the same, and its outcome is not known.
func TestLostReplies(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	link, err := ensemble.NewProxy(ensemble.Start(t, 1).Servers()[0])
	require.NoError(t, err)
	t.Cleanup(link.Close)
	s, err := session.Open(t.Context(), []string{link.Addr()}, session.WithTimeout(time.Minute))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	c := faults.Conductor{World: linked{link: link}, Servers: 1, Workers: 1, Log: io.Discard}
	storm := faults.Storm{Faults: []faults.Fault{{Kind: faults.Lose, For: 50 * time.Millisecond}}}
	for try, exists := 0, false; !exists; try++ {
		over := make(chan struct{})
		go func() { // owner: the test, which waits below
			defer close(over)
			c.Storm(t.Context(), storm)
		}()
		path, err := "", error(nil)
		for n := 0; err == nil && n < 1000; n++ {
			path = fmt.Sprintf("/%d-%d", try, n)
			_, err = s.Create(t.Context(), path, nil)
		}
		<-over
		if err == nil {
			continue // the storm came earlier than the first request, or later than the last
		}
		require.ErrorIs(t, err, session.ErrUnknownOutcome)
		_, exists, err = s.Exists(t.Context(), path)
		require.NoError(t, err)
	}
}
