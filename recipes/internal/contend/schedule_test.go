package contend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) { recipetest.Schedules(t, s.affordable, s.schedule) })
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(rt *rapid.T) {
			recipetest.Schedule(rt, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, s.schedule)
		})
	})
}

func schedule(c recipetest.Chance) {
	starts := []int64{0, 0, 0, 2147000000 - 5, 2147483647 - 5, -5}
	w := newWorld(c, declared)
	w.from, w.sticks, w.early = starts[c.Pick(len(starts))], c.Pick(2) == 0, c.Pick(2) == 0
	w.drawRule()
	w.play()
}

func delaySchedule(c recipetest.Chance) {
	w := newWorld(c, delayTable)
	w.rule = delayed
	w.play()
}

func singleSchedule(c recipetest.Chance) {
	w := newWorld(c, singleTable)
	w.rule = single
	w.play()
}

// play is a wild phase, a calm one in which everybody must get his turn, and an end after which
// nothing may be left.
func (w *world) play() {
	for range 1 + w.Pick(4) {
		w.newInstance().begin()
	}
	for range 10 + w.Pick(200) {
		w.act()
		w.checkPlaces()
	}
	w.heal()
	w.progress()
	w.finish()
}

// act is one thing that happens.
func (w *world) act() {
	i := w.all[w.Pick(len(w.all))]
	switch k := w.Pick(100); {
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
	return w.OneOf(can)
}

func (i *instance) deliver() bool { return i.w.OneOf(i.deliveries()) }

// wish: the application changes its mind.
func (i *instance) wish() {
	standing := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.once && !c.withdrawn })
	switch k := i.w.Pick(8); {
	case k < 3 && !standing:
		i.want(false, false)
	case k < 3 && len(i.claims) < 4:
		i.want(true, false)
	case k < 6:
		i.want(true, true)
	case len(i.claims) > 0:
		i.withdraw(i.claims[i.w.Pick(len(i.claims))])
	}
}

// meddle: somebody else does something to the line.
func (w *world) meddle() {
	if w.rule == delayed && w.Pick(2) == 0 {
		w.meddleWithRecord()
		return
	}
	if w.rule == single {
		w.meddleWithSingle()
		return
	}
	k := w.Pick(7)
	if k == 0 {
		w.create(0, []string{"lock-", "write-", "read-", "lease-", "lease-2-"}[w.Pick(5)], nil)
		return
	}
	if k == 6 {
		w.setLimit(1 + w.Pick(4))
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
	n := w.nodes[w.Pick(len(w.nodes))]
	w.Log("somebody meddles with %s: %d", n.path, k)
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
	case s.dead, k == 2 && i.w.Pick(3) == 0:
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
			w.Log("session %d expires", s.id)
			w.expire(s)
			return
		}
	}
}
