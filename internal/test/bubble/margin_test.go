package bubble_test

// Margins of time on real servers: what fails, and what a pause of the machine explains. AtKth: met
// waits for a decision under way.

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// recorder is a test that records whether it failed.
type recorder struct {
	testing.TB
	failed bool
	logged string
}

func (r *recorder) Helper()                 {}
func (r *recorder) Errorf(string, ...any)   { r.failed = true }
func (r *recorder) FailNow()                { r.failed = true }
func (r *recorder) Logf(f string, a ...any) { r.logged = fmt.Sprintf(f, a...) }

func TestAnOverlapFailsUnlessAPauseExplainsIt(t *testing.T) {
	t.Parallel()
	leads := []time.Duration{20 * time.Millisecond, -5 * time.Millisecond, 7 * time.Millisecond}
	explained, not := &recorder{TB: t}, &recorder{TB: t}
	bubble.InTime(explained, "x", leads, 6*time.Millisecond)
	bubble.InTime(not, "x", leads, 4*time.Millisecond)
	require.False(t, explained.failed)
	require.True(t, not.failed)
	require.Equal(t, "x: 1 of 3 overlaps; the end came at least -5ms before, in the median 7ms; the longest pause of a goroutine was 6ms", explained.logged)
}

func TestAGoroutineThatIsAlwaysRunHasNoPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		longest := bubble.Pauses(t)
		time.Sleep(time.Second)
		require.Zero(t, longest())
	})
}

// A decision under way may need the test's sessions, so met waits for it.
func TestWhoAsksWhetherARequestWasStruckWaitsForTheDecision(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		s, begun, decided := w.Session(), make(chan struct{}), false
		met := w.AtKth(s, 1, func(*zktest.Request) zktest.Verdict {
			close(begun)
			time.Sleep(time.Second)
			decided = true
			return zktest.Pass
		})
		exists := bubble.Begin(func() error { return s.EnsurePath(bubble.Minute(w), "/a") })
		<-begun
		require.True(t, met())
		require.True(t, decided)
		require.NoError(t, bubble.Within(w, time.Minute, exists, "the request"))
	})
}
