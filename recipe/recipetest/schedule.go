package recipetest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

var (
	schedules = flag.Int("recipetest.schedules", 0, "random schedules to run; 0: as many as the test can afford every time")
	seed      = flag.Uint64("recipetest.seed", 0, "where schedules begin to be drawn; 0: the same for a test in every run")
	alone     = flag.Uint64("recipetest.schedule", 0, "run this schedule alone, with its story")
)

// Failure describes the failure of a schedule; "" if there is none.
type Failure string

// Chance draws the numbers that make a schedule, and takes its story.
type Chance struct {
	Pick func(n int) int                  // one of 0…n−1
	Logf func(format string, args ...any) // nil: there is no story
}

// Failf ends the schedule with a failure.
func (c Chance) Failf(format string, args ...any) { panic(Failure(fmt.Sprintf(format, args...))) }

// Log adds a line to the story.
func (c Chance) Log(format string, args ...any) {
	if c.Logf != nil {
		c.Logf(format, args...)
	}
}

// OneOf calls one of several functions; false if there is none.
func (c Chance) OneOf(can []func()) bool {
	if len(can) == 0 {
		return false
	}
	can[c.Pick(len(can))]()
	return true
}

// play plays a schedule to its end, or to its failure.
func (c Chance) play(schedule func(c Chance)) (failed Failure) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(Failure)
			if !ok {
				panic(r)
			}
			failed = f
		}
	}()
	schedule(c)
	return ""
}

// Schedule plays one schedule whose numbers pick draws: with pgregory.net/rapid, which shrinks it,
// pick is rapid.IntRange(0, n-1).Draw.
func Schedule(t T, pick func(n int) int, schedule func(c Chance)) {
	t.Helper()
	if f := (Chance{pick, t.Logf}).play(schedule); f != "" {
		t.Fatalf("%s", f)
	}
}

// Schedules runs many schedules on all processors: usual of them, unless -recipetest.schedules says
// how many. They are the same in every run; -recipetest.seed draws others. A failure has the story
// of its schedule and its number: -recipetest.schedule plays it again.
func Schedules(t T, usual int, schedule func(c Chance)) {
	t.Helper()
	if *alone != 0 {
		if f := run(*alone, t.Logf, schedule); f != "" {
			t.Fatalf("%s", f)
		}
		return
	}
	if *schedules != 0 {
		usual = *schedules
	}
	name := nameOf(t)
	base := first(name)
	var next, failed atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { // waited for below
			for n := next.Add(1); n <= uint64(usual) && failed.Load() == 0; n = next.Add(1) {
				if run(base+n, nil, schedule) != "" {
					failed.CompareAndSwap(0, base+n)
				}
			}
		})
	}
	workers.Wait()
	if n := failed.Load(); n != 0 {
		var story strings.Builder
		f := run(n, func(format string, args ...any) { fmt.Fprintf(&story, format+"\n", args...) }, schedule)
		only := strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^")
		t.Fatalf("%s\nagain: go test -run '^%s$' -recipetest.schedule=%d\n%s", f, only, n, story.String())
	}
}

// first is the first seed of the test of that name. It leaves room to count on from there.
func first(name string) uint64 {
	if *seed != 0 {
		return *seed
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64() >> 8
}

// nameOf is the test's name, if it has one.
func nameOf(t T) string {
	if named, ok := t.(interface{ Name() string }); ok {
		return named.Name()
	}
	return "TestSchedules"
}

func run(n uint64, logf func(string, ...any), schedule func(c Chance)) Failure {
	return Chance{rand.New(rand.NewPCG(n, 1)).IntN, logf}.play(schedule)
}
