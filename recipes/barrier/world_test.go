package barrier_test

// The world of these tests: a bubble with barriers in it.

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/rounds/batch"

// world is a bubble with barriers in it.
type world struct{ *bubble.World }

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w}) }, bubble.Brisk(opts...)...)
}

func inEachFate(t *testing.T, test func(w *world, k int, strike func(s *session.Session))) {
	t.Helper()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) { test(&world{w}, k, strike) }, bubble.Brisk()...)
}

func (w *world) double(h *bubble.Host, parties int, opts ...barrier.Option) *barrier.Double {
	w.Helper()
	d, err := barrier.NewDouble(h.Session, path, parties, opts...)
	require.NoError(w, err)
	return d
}

// team is as many parties as agreed, a session and a machine for each. Their ids are p0, p1, …
type team struct {
	hosts   []*bubble.Host
	doubles []*barrier.Double
}

func (w *world) team(parties int) *team {
	w.Helper()
	t := &team{}
	for i := range parties {
		h := w.Host(fmt.Sprint("h", i))
		t.hosts = append(t.hosts, h)
		t.doubles = append(t.doubles, w.double(h, parties, barrier.WithID(fmt.Sprint("p", i))))
	}
	return t
}

// enter lets everybody in, and checks that all are told the same.
func (t *team) enter(w *world) []*barrier.Passage {
	w.Helper()
	return gather(w, t.doubles...)
}

func gather(w *world, doubles ...*barrier.Double) []*barrier.Passage {
	w.Helper()
	for _, d := range doubles {
		d.Arrive()
	}
	passages := make([]*barrier.Passage, len(doubles))
	for i, d := range doubles {
		passages[i] = bubble.Within(w, time.Minute, d.Entered())
		require.True(w, passages[i].Valid())
		require.Equal(w, passages[0].Round(), passages[i].Round())
		require.Equal(w, passages[0].Members(), passages[i].Members())
	}
	return passages
}

// asks has a party ask to enter, and tells what it is answered.
func (w *world) asks(d *barrier.Double) <-chan error {
	answer := make(chan error, 1)
	go func() { _, err := d.Enter(w.Context()); answer <- err }()
	return answer
}

// departing is a team of three, of whom the last one is inside and the others have departed.
func (w *world) departing() (*team, []*barrier.Passage) {
	w.Helper()
	t := w.team(3)
	passages := t.enter(w)
	passages[0].Depart()
	passages[1].Depart()
	synctest.Wait()
	return t, passages
}

// held fails if one of those who have departed is told, while everything settles, that the others
// have too.
func held(w *world, why string, passages ...*barrier.Passage) {
	w.Helper()
	for _, p := range passages {
		bubble.Never(w, p.Left(), why)
	}
}

// leave lets everybody out.
func leave(w *world, passages ...*barrier.Passage) {
	w.Helper()
	for _, p := range passages {
		p.Depart()
	}
	for _, p := range passages {
		bubble.Within(w, time.Minute, p.Left())
		require.ErrorIs(w, p.Err(), session.ErrReleased)
	}
}

// rounds are the znodes of rounds in the tree.
func (w *world) rounds() []string {
	var found []string
	for line := range strings.Lines(w.Server.Dump()) {
		name, ok := strings.CutPrefix(line, path+"/round-")
		if name, _, _ = strings.Cut(name, " "); ok && !strings.Contains(strings.TrimSpace(name), "/") {
			found = append(found, strings.TrimSpace(name))
		}
	}
	return found
}

// standing counts the parties' znodes in the tree.
func (w *world) standing() int {
	n := 0
	for line := range strings.Lines(w.Server.Dump()) {
		name, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(name, path+"/round-") && strings.Contains(name, "-party-") && !strings.Contains(name, "/out/") {
			n++
		}
	}
	return n
}

func (w *world) cost() (requests, events float64) {
	for _, r := range w.Server.Journal() {
		if r.Op == zktest.OpPing || r.Op == zktest.OpSync { // of the session, not of the barrier
			continue
		}
		requests++
		events += float64(r.Fired)
	}
	return requests, events
}

func (w *world) gate(h *bubble.Host, opts ...barrier.Option) *barrier.Barrier {
	w.Helper()
	b, err := barrier.New(h.Session, gatePath, opts...)
	require.NoError(w, err)
	return b
}

// waits has somebody wait until the barrier is lowered, and tells what becomes of it.
func (w *world) waits(b *barrier.Barrier) <-chan error {
	passed := make(chan error, 1)
	go func() { passed <- b.Wait(w.Context()) }()
	return passed
}

const gatePath = "/gates/migration"
