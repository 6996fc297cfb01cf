package contend_test

// Schedules: everything that may happen to a few contenders, in an order that is drawn; then a calm
// end in which everybody has their turn, at little cost, and nothing is left.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		recipetest.Schedules(t, s.affordable, func(c recipetest.Chance) { s.schedule(c, nil) })
	})
}

func schedule(c recipetest.Chance, taken recipetest.Steps) {
	starts := []int64{0, 0, 0, 2147000000 - 5, 2147483647 - 5, -5}
	w := newWorld(c, declared, taken)
	w.from, w.sticks, w.early = starts[c.Pick(len(starts))], c.Pick(2) == 0, c.Pick(2) == 0
	w.drawRule()
	w.play()
}

func delaySchedule(c recipetest.Chance, taken recipetest.Steps) {
	w := newWorld(c, delayTable, taken)
	w.rule = delayed
	w.play()
}

func singleSchedule(c recipetest.Chance, taken recipetest.Steps) {
	w := newWorld(c, singleTable, taken)
	w.rule = single
	w.play()
}

// play is a wild phase, a calm one in which everybody must get his turn, and an end after which
// nothing may be left.
func (w *world) play() {
	for range 1 + w.Pick(6) {
		w.newInstance()
	}
	for _, i := range w.all {
		if i.sess == nil {
			i.begin()
		}
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
		i.changeMind()
	case k < 85:
		i.release()
	case k < 87:
		w.handOn()
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
func (i *instance) changeMind() {
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

// heal ends all faults.
func (w *world) heal() {
	w.Log("all faults end")
	w.calm = true
	for _, i := range w.all {
		if i.sess != nil && i.sess.dead {
			i.end()
		}
		if i.sess == nil {
			i.begin()
		}
		if i.sess.suspended {
			i.resume()
		}
		if !i.sess.trusted {
			i.trust()
		}
	}
	for _, s := range w.sessions {
		if s.over && !s.dead {
			w.expire(s)
		}
	}
	for _, n := range slices.Clone(w.nodes) {
		if n.owner == 0 {
			w.remove(n, false)
		}
	}
	w.quiet()
}

// quiet lets everything that is under way come to its end.
func (w *world) quiet() {
	for range 100_000 {
		if w.Pick(2) == 0 {
			if w.serve() {
				continue
			}
		}
		delivered := false
		for _, i := range w.all {
			delivered = i.deliver() || delivered
		}
		if !delivered && !w.serve() {
			w.checkHolders()
			if w.calm {
				w.checkSleepers()
			}
			return
		}
		w.checkPlaces()
	}
	w.Failf("it never comes to rest")
}

// progress: with each release somebody gets his turn, until everybody had one, and a release costs
// little.
func (w *world) progress() {
	due := map[*claim]bool{}
	total := 0
	for _, i := range w.all {
		for _, c := range i.claims {
			due[c] = true
			total++
		}
	}
	for range 3*total + 3 {
		for _, i := range w.all {
			if i.held != nil {
				delete(due, i.held.claim)
			}
			for _, c := range i.claims {
				if c.withdrawn {
					delete(due, c)
				}
			}
		}
		for c := range due {
			if !w.wanted(c) {
				delete(due, c)
			}
		}
		if len(due) == 0 {
			return
		}
		w.handOver()
	}
	w.Failf("progress: %d claims never had their turn", len(due))
}

func (w *world) wanted(c *claim) bool {
	return slices.ContainsFunc(w.all, func(i *instance) bool { return slices.Contains(i.claims, c) })
}

// handOver releases what is held and sees to it that somebody holds next.
func (w *world) handOver() {
	w.lists, w.joins, w.leaves, w.unaware = 0, 0, 0, 0
	released, granted := 0, 0
	for _, i := range w.all {
		if i.m.State() == contend.Waiting && i.standing() == 0 {
			w.unaware++
		}
	}
	for _, i := range w.all {
		switch {
		case w.rule == single && i.held != nil: // or it may have it again: there is no line
			i.withdraw(i.held.claim)
			released++
		case i.release():
			released++
		}
	}
	if released > 1 && (w.rule == exclusively || w.rule >= delayed) {
		w.Failf("progress: %d hold", released)
	}
	if released == 0 {
		w.Failf("progress: nobody holds, though claims wait")
	}
	w.quiet()
	for _, i := range w.all {
		if i.held != nil {
			granted++
		}
	}
	if w.lists > w.affordable(released, granted) {
		w.Failf("I8: %d releases cost %d listings, with %d joins and %d grants", released, w.lists, w.joins, granted)
	}
}

// affordable is how many listings a release may cost: one of whoever joins, one of each who is
// granted or finds that its znode is gone, one more, and one who looks ahead; of shared holders
// each ends by itself.
func (w *world) affordable(released, granted int) int {
	switch w.rule {
	case shared:
		return w.joins + released + granted + w.unaware
	case permits: // the head lists whenever somebody comes or goes
		return 2 * (w.joins + w.leaves + granted)
	}
	return w.joins + 2 + w.unaware
}

// finish withdraws everything, after which nothing may be left.
func (w *world) finish() {
	for _, i := range w.all {
		for _, c := range i.claims {
			i.withdraw(c)
		}
	}
	w.quiet()
	for _, i := range w.all {
		if len(i.claims) > 0 {
			w.Failf("#%d never settled %d", i.id, i.claims[0].id)
		}
		if i.freeing > 0 {
			w.Failf("#%d never freed a possession", i.id)
		}
		if i.held != nil {
			w.Failf("#%d holds without a claim", i.id)
		}
	}
	for _, i := range w.all {
		if at := i.m.State(); at != contend.Idle {
			w.Failf("#%d is %v", i.id, at)
		}
		if w.rule == delayed && i.m.Delay() != contend.Open {
			w.Failf("#%d is %v", i.id, i.m.Delay())
		}
	}
	for _, n := range w.nodes {
		if !n.foreign {
			w.Failf("I2: %s is left", n.path)
		}
	}
}
