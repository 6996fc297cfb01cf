package delaytest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/machinetest"
)

func schedule(c machinetest.Chance) {
	w := &world{World: &machinetest.World{Chance: c, Table: declared, Rest: "Open, Idle"}, deaths: map[int64]death{}, erased: map[int64]bool{}}
	w.Tree = w
	w.Play(subject)
}

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	machinetest.Schedules(t, 5000, schedule)
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		machinetest.Schedule(rt, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, schedule)
	})
}
