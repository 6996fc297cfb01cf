package delay_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machine"
)

var (
	schedules = flag.Int("schedules", 5000, "random schedules to run")
	seed      = flag.Uint64("schedule", 0, "run this schedule alone, with its story")
)

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		if err := runSeed(*seed, t.Logf); err != "" {
			t.Fatal(err)
		}
		return
	}
	base := rand.Uint64() >> 8
	for n := range uint64(*schedules) {
		if err := runSeed(base+n, nil); err != "" {
			var story strings.Builder
			runSeed(base+n, func(format string, args ...any) { fmt.Fprintf(&story, format+"\n", args...) })
			t.Fatalf("%s\nagain: go test -run TestSchedules -schedule=%d\n%s", err, base+n, story.String())
		}
	}
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if err := run(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, rt.Logf); err != "" {
			rt.Fatal(err)
		}
	})
}

func runSeed(n uint64, logf func(string, ...any)) violation {
	r := rand.New(rand.NewPCG(n, 1))
	return run(r.IntN, logf)
}

// run runs one schedule: a wild phase, a calm one in which claims get their turn, and an end after which nothing may be left.
func run(pick func(n int) int, logf func(string, ...any)) (failed violation) {
	defer func() {
		if r := recover(); r != nil {
			v, ok := r.(violation)
			if !ok {
				panic(r)
			}
			failed = v
		}
	}()
	w := &world{pick: pick, logf: logf, deaths: map[int64]death{}, erased: map[int64]bool{}}
	for no := range 1 + pick(4) {
		i := &instance{w: w, no: no, m: newMachine(), seen: func(s step) {
			if !declared[s] {
				w.failf("undeclared: %v", s)
			}
		}}
		w.all = append(w.all, i)
		i.begin()
	}
	for range 10 + pick(150) {
		w.act()
	}
	w.heal()
	w.progress()
	w.finish()
	return ""
}

// act is one thing that happens.
func (w *world) act() {
	i := w.all[w.pick(len(w.all))]
	switch k := w.pick(100); {
	case k < 40:
		i.serve()
	case k < 80:
		i.deliver()
	case k < 85:
		i.wish()
	case k < 89:
		i.release()
	case k < 93:
		w.meddle()
	default:
		i.suffer(k - 93)
	}
}

func (i *instance) wish() {
	k := i.w.pick(6)
	standing := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.once && !c.withdrawn })
	switch {
	case k < 2 && !standing:
		i.want(false, false)
	case k < 3:
		i.want(true, false)
	case k < 4:
		i.want(false, true)
	case len(i.claims) > 0:
		i.withdraw(i.claims[i.w.pick(len(i.claims))])
	}
}

// meddle: somebody else deletes a contender, or the record.
func (w *world) meddle() {
	switch {
	case w.record != nil && w.pick(5) == 0:
		w.zxid++
		w.erased[w.record.token] = true
		w.record = nil
	case len(w.nodes) > 0 && w.pick(2) == 0:
		w.remove(w.nodes[w.pick(len(w.nodes))], true)
	case len(w.nodes) > 0:
		w.fire(w.nodes[w.pick(len(w.nodes))].path, false)
	}
}

// suffer: something goes wrong with the session.
func (i *instance) suffer(k int) {
	switch {
	case i.id == 0:
		i.begin()
	case k == 0 && !i.trust:
		i.w.expire(i.id)
	case k == 1 || i.gone:
		i.end()
	case k < 4 && i.trust:
		i.distrust()
	case !i.trust && !i.gone:
		i.trust = true
		i.notices = append(i.notices, machine.TrustGained{Epoch: i.epoch})
	case !i.down:
		i.down = true
		i.notices = append(i.notices, machine.Suspended{Epoch: i.epoch})
	default:
		i.resume()
	}
}

func (i *instance) resume() {
	i.down = false
	i.notices = append(i.notices, machine.Resumed{Epoch: i.epoch})
}

// heal ends all faults.
func (w *world) heal() {
	w.log("all faults end")
	w.calm = true
	for _, i := range w.all {
		if i.gone {
			i.end()
		}
		if i.id == 0 {
			i.begin()
		}
		if i.down {
			i.resume()
		}
		if !i.trust {
			i.trust = true
			i.notices = append(i.notices, machine.TrustGained{Epoch: i.epoch})
		}
	}
	w.quiet()
}

// quiet lets everything that is under way come to its end.
func (w *world) quiet() {
	for range 100_000 {
		moved := false
		for _, i := range w.all {
			if w.pick(2) == 0 {
				moved = i.serve() || moved
			}
			moved = i.deliver() || moved
		}
		if moved {
			continue
		}
		for _, i := range w.all {
			moved = i.serve() || moved
		}
		if !moved {
			return
		}
	}
	w.failf("it never comes to rest")
}

// progress: as long as anybody waits, somebody holds; and whoever has held and wants it no more lets the others have their turn.
func (w *world) progress() {
	for range 1000 {
		waiting, holding := 0, 0
		for _, i := range w.all {
			waiting += len(i.claims)
			if i.held != nil {
				holding++
			}
		}
		if waiting == 0 {
			return
		}
		if holding != 1 {
			w.failf("progress: %d hold, %d claims wait", holding, waiting)
		}
		for _, i := range w.all {
			if i.held != nil {
				i.withdraw(i.held.claim)
			}
		}
		w.quiet()
	}
	w.failf("progress: claims that never had their turn")
}

// finish looks for what is left.
func (w *world) finish() {
	if len(w.nodes) > 0 {
		w.failf("I2: %s is left", w.nodes[0].path)
	}
	for _, i := range w.all {
		if i.held != nil || len(i.claims) > 0 {
			w.failf("#%d has not settled", i.no)
		}
		if s := i.m.Inner().State(); s != contend.Idle {
			w.failf("#%d is %v", i.no, s)
		}
	}
}
