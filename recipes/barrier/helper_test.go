package barrier_test

// Helpers of these tests: barriers and parties in a bubble.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const (
	path     = "/rounds/batch"    // of the double barrier
	gatePath = "/gates/migration" // of the other one
)

// inBubble runs a test in virtual time, beside others.
func inBubble(t *testing.T, f func(w *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, f, bubble.Brisk(opts...)...)
}

// must is for a call in the test's own goroutine that has to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// newDouble makes a party of the double barrier.
func newDouble(w *bubble.World, h *bubble.Host, parties int, opts ...barrier.Option) *barrier.Double {
	w.Helper()
	return must(barrier.NewDouble(h.Session, path, parties, opts...))
}

// team is as many parties as agreed, each with a session and a machine. Their ids are p0, p1, …
type team struct {
	hosts   []*bubble.Host
	doubles []*barrier.Double
}

func newTeam(w *bubble.World, parties int) *team {
	w.Helper()
	t := &team{}
	for i := range parties {
		h := w.Host(fmt.Sprint("h", i))
		t.hosts = append(t.hosts, h)
		t.doubles = append(t.doubles, newDouble(w, h, parties, barrier.WithName(fmt.Sprint("p", i))))
	}
	return t
}

// enter has all parties enter a round.
func (t *team) enter(tb testing.TB) []*barrier.Passage {
	tb.Helper()
	return gather(tb, t.doubles...)
}

// gather has parties enter a round, and checks that all are told the same.
func gather(t testing.TB, doubles ...*barrier.Double) []*barrier.Passage {
	t.Helper()
	for _, d := range doubles {
		d.Arrive()
	}
	passages := make([]*barrier.Passage, len(doubles))
	for i, d := range doubles {
		passages[i] = bubble.Within(t, time.Minute, d.Entered())
		require.True(t, passages[i].Valid())
		require.Equal(t, passages[0].Round(), passages[i].Round())
		require.Equal(t, passages[0].Members(), passages[i].Members())
	}
	return passages
}

// beginEnter has a party call Enter beside the test, and delivers the error.
func beginEnter(w *bubble.World, d *barrier.Double) <-chan error {
	return bubble.Begin(func() error { _, err := d.Enter(w.Context()); return err })
}

// leave has all members leave a round.
func leave(w *bubble.World, passages ...*barrier.Passage) {
	w.Helper()
	for _, p := range passages {
		p.Depart()
	}
	for _, p := range passages {
		bubble.Within(w, time.Minute, p.Left())
		require.ErrorIs(w, p.Err(), session.ErrReleased)
	}
}

// rounds are the names of the rounds' znodes.
func rounds(w *bubble.World) []string {
	var found []string
	for line := range strings.Lines(w.Server.Dump()) {
		name, ok := strings.CutPrefix(line, path+"/round-")
		if name, _, _ = strings.Cut(name, " "); ok && !strings.Contains(strings.TrimSpace(name), "/") {
			found = append(found, strings.TrimSpace(name))
		}
	}
	return found
}

// partyZnodes counts the parties' znodes, in all rounds.
func partyZnodes(w *bubble.World) int {
	n := 0
	for line := range strings.Lines(w.Server.Dump()) {
		name, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(name, path+"/round-") && strings.Contains(name, "-party-") && !strings.Contains(name, "/out/") {
			n++
		}
	}
	return n
}

// cost counts the requests since the journal was cleared, and the watch events that they caused.
func cost(w *bubble.World) (requests, events float64) {
	for _, r := range w.Server.Journal() {
		if r.Op == zktest.OpPing || r.Op == zktest.OpSync { // of the session, not of the barrier
			continue
		}
		requests++
		events += float64(r.Fired)
	}
	return requests, events
}

// newGate makes a handle of the barrier at gatePath.
func newGate(w *bubble.World, h *bubble.Host, opts ...barrier.Option) *barrier.Barrier {
	w.Helper()
	return must(barrier.New(h.Session, gatePath, opts...))
}

// beginWait has a process wait beside the test until the barrier is lowered, and delivers the
// error.
func beginWait(w *bubble.World, b *barrier.Barrier) <-chan error {
	return bubble.Begin(func() error { return b.Wait(w.Context()) })
}
