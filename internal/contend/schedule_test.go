package contend_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/znode"
)

var (
	schedules = flag.Int("schedules", affordable, "random schedules to run")
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
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			runMany(t, rand.Uint64()>>8, *schedules/parts)
		})
	}
}

func runMany(t *testing.T, base uint64, count int) {
	for n := range uint64(count) {
		err := runSeed(base+n, nil)
		if err == "" {
			continue
		}
		var story strings.Builder
		runSeed(base+n, func(format string, args ...any) { fmt.Fprintf(&story, format+"\n", args...) })
		t.Fatalf("%s\nagain: go test -run TestSchedules -schedule=%d\n%s", err, base+n, story.String())
	}
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		err := run(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, rt.Logf, checkDeclared)
		if err != "" {
			rt.Fatal(err)
		}
	})
}

func runSeed(n uint64, logf func(string, ...any)) failure {
	r := rand.New(rand.NewPCG(n, 1))
	return run(r.IntN, logf, checkDeclared)
}

// run runs one schedule: a wild phase, a calm one in which everybody must get his turn, and an end after which nothing may be left.
func run(pick func(n int) int, logf func(string, ...any), seen func(from, ev, to string)) (failed failure) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			failed = f
		}
	}()
	w := newWorld(pick, logf)
	w.seen = seen
	for range 10 + pick(200) {
		w.act()
		w.checkPlaces()
	}
	w.heal()
	w.progress()
	w.finish()
	return ""
}

// newWorld draws the circumstances.
func newWorld(pick func(n int) int, logf func(string, ...any)) *world {
	starts := []int64{0, 0, 0, 2147000000 - 5, 2147483647 - 5, -5}
	w := &world{pick: pick, logf: logf, from: starts[pick(len(starts))], sticks: pick(2) == 0, early: pick(2) == 0}
	w.drawRule()
	for range 1 + pick(4) {
		w.newInstance().begin()
	}
	return w
}

// act is one thing that happens.
func (w *world) act() {
	i := w.all[w.pick(len(w.all))]
	switch k := w.pick(100); {
	case k < 40:
		w.serve()
	case k < 80:
		i.deliver()
	case k < 84:
		i.wish()
	case k < 87:
		i.release()
	case k < 88:
		i.downgrade()
	case k < 92:
		w.meddle()
	default:
		i.suffer(k - 92)
	}
}

// serve lets the server answer one request.
func (w *world) serve() bool {
	var can []func()
	for _, s := range w.sessions {
		for _, r := range s.runnable() {
			can = append(can, func() { s.run(r) })
		}
	}
	return w.oneOf(can)
}

func (i *instance) deliver() bool { return i.w.oneOf(i.deliveries()) }

func (w *world) oneOf(can []func()) bool {
	if len(can) == 0 {
		return false
	}
	can[w.pick(len(can))]()
	return true
}

// wish: the application changes its mind.
func (i *instance) wish() {
	standing := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.once && !c.withdrawn })
	switch k := i.w.pick(8); {
	case k < 3 && !standing:
		i.want(false, false)
	case k < 3 && len(i.claims) < 4:
		i.want(true, false)
	case k < 6:
		i.want(true, true)
	case len(i.claims) > 0:
		i.withdraw(i.claims[i.w.pick(len(i.claims))])
	}
}

// meddle: somebody else does something to the line.
func (w *world) meddle() {
	k := w.pick(7)
	if k == 0 {
		w.create(0, []string{"lock-", "write-", "read-", "lease-", "lease-2-"}[w.pick(5)], nil)
		return
	}
	if k == 6 {
		w.setLimit(1 + w.pick(4))
		return
	}
	if k == 1 {
		w.zxid++
		w.add(&node{path: parent + fmt.Sprintf("/_c_%d", w.zxid), foreign: true})
		return
	}
	if len(w.nodes) == 0 {
		return
	}
	n := w.nodes[w.pick(len(w.nodes))]
	w.log("somebody meddles with %s: %d", n.path, k)
	notes, _ := znode.ParseNotes(n.data)
	switch {
	case k == 2 && notes.Placed > 0: // as who asks in Troupe's way does
		notes.Unlock = true
		w.set(n, notes.Write(nil))
	case k == 2:
		w.set(n, []byte("unlock\nold"))
	case k == 3 && notes.Placed == 0: // where a reader in a writer's place stands, his data alone say
		w.set(n, []byte("new"))
	case k == 4 && n.owner == 0 && !n.foreign && strings.Contains(n.path, "-write-") && w.from == 0:
		down := *n // keeps its place, as Curator's does
		down.path, down.data = strings.Replace(n.path, "-write-", "-read-", 1), nil
		w.zxid++
		w.add(&down)
		w.remove(n, false)
	default:
		w.remove(n, n.owner != 0)
	}
}

// suffer: something goes wrong with the session or the host.
func (i *instance) suffer(k int) {
	s := i.sess
	switch {
	case k == 0:
		i.crash()
	case k == 1:
		i.w.expireOne()
	case s == nil:
		i.begin()
	case s.dead, k == 2 && i.w.pick(3) == 0:
		i.end()
	case k == 3 && s.trusted:
		i.distrust()
	case s.suspended:
		i.resume()
	case !s.trusted:
		i.trust()
	case k == 4:
		i.suspend()
	}
}

// expireOne: the server gives up a session that nobody vouches for.
func (w *world) expireOne() {
	for _, s := range w.sessions {
		if !s.dead && (s.over || !s.trusted) {
			w.log("session %d expires", s.id)
			w.expire(s)
			return
		}
	}
}
