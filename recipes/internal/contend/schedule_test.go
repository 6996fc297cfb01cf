package contend_test

// Schedules: everything that may happen to a few contenders, in an order that is drawn; then a calm
// phase in which each claim has its turn, at little cost; and an end at which nothing is left.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// TestSchedules runs many schedules. A failure has the number and the story of its schedule.
func TestSchedules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		recipetest.Schedules(t, s.affordable, func(c recipetest.Chance) { s.schedule(c, nil) })
	})
}

func schedule(c recipetest.Chance, taken recipetest.Steps) {
	starts := []int64{0, 0, 0, 2147000000 - 5, 2147483647 - 5, -5}
	sim := newSimulation(c, declared, taken)
	sim.from, sim.sticks, sim.early = starts[c.Pick(len(starts))], c.Pick(2) == 0, c.Pick(2) == 0
	sim.drawRule()
	sim.play()
}

func delaySchedule(c recipetest.Chance, taken recipetest.Steps) {
	sim := newSimulation(c, delayTable, taken)
	sim.rule = delayed
	sim.play()
}

func singleSchedule(c recipetest.Chance, taken recipetest.Steps) {
	sim := newSimulation(c, singleTable, taken)
	sim.rule = single
	sim.play()
}

// play is a phase with faults, a calm one in which each claim has to get its turn, and an end after
// which nothing may be left.
func (sim *simulation) play() {
	for range 1 + sim.Pick(6) {
		sim.newInstance()
	}
	for _, i := range sim.all {
		if i.sess == nil {
			i.begin()
		}
	}
	for range 10 + sim.Pick(200) {
		sim.act()
		sim.checkPlaces()
	}
	sim.heal()
	sim.progress()
	sim.finish()
}

// odds are what may happen in a schedule, in percent: to an instance, or to all.
var odds = []struct {
	percent int
	happens func(i *instance)
}{
	{40, func(i *instance) { i.sim.serve() }},
	{40, func(i *instance) { i.deliver() }},
	{4, (*instance).changeMind},
	{1, func(i *instance) { i.release() }},
	{2, func(i *instance) { i.sim.handOn() }},
	{1, func(i *instance) { i.downgrade() }},
	{4, func(i *instance) { i.sim.meddle() }},
	{1, (*instance).crash},
	{1, func(i *instance) { i.sim.expireOne() }},
	{1, func(i *instance) { i.suffer(epochEnds) }},
	{1, func(i *instance) { i.suffer(trustEnds) }},
	{1, func(i *instance) { i.suffer(connectionLost) }},
	{3, func(i *instance) { i.suffer(none) }},
}

// act lets one thing happen.
func (sim *simulation) act() {
	i := sim.all[sim.Pick(len(sim.all))]
	k := sim.Pick(100)
	for _, o := range odds {
		if k -= o.percent; k < 0 {
			o.happens(i)
			return
		}
	}
}

// serve lets the server answer one request.
func (sim *simulation) serve() bool {
	var can []func()
	for _, s := range sim.sessions {
		for _, r := range s.runnable() {
			can = append(can, func() { s.run(r) })
		}
	}
	return sim.OneOf(can)
}

func (i *instance) deliver() bool { return i.sim.OneOf(i.deliveries()) }

// changeMind lets the application want something, or withdraw it.
func (i *instance) changeMind() {
	stands := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.once && !c.withdrawn })
	switch k := i.sim.Pick(8); {
	case k < 3 && !stands:
		i.want(standing)
	case k < 3 && len(i.claims) < 4:
		i.want(call)
	case k < 6:
		i.want(try)
	case len(i.claims) > 0:
		i.withdraw(i.claims[i.sim.Pick(len(i.claims))])
	}
}

// meddle lets another client do something to the queue.
func (sim *simulation) meddle() {
	if sim.rule == delayed && sim.Pick(2) == 0 {
		sim.meddleWithRecord()
		return
	}
	if sim.rule == single {
		sim.meddleWithSingle()
		return
	}
	k := sim.Pick(7)
	if k == 0 {
		sim.create(0, []string{"lock-", "write-", "read-", "lease-", "lease-2-"}[sim.Pick(5)], nil)
		return
	}
	if k == 6 {
		sim.setLimit(1 + sim.Pick(4))
		return
	}
	if k == 1 {
		sim.zxid++
		sim.add(&node{path: parent + fmt.Sprintf("/_c_%d", sim.zxid), foreign: true})
		return
	}
	if len(sim.nodes) == 0 {
		return
	}
	n := sim.nodes[sim.Pick(len(sim.nodes))]
	sim.Log("another client meddles with %s: %d", n.path, k)
	notes, _ := znode.ParseNotes(n.data)
	switch {
	case k == 2 && notes.Placed > 0: // as a revocation by Troupe
		notes.Unlock = true
		sim.set(n, notes.Write(nil))
	case k == 2:
		sim.set(n, []byte("unlock\nold"))
	case k == 3 && notes.Placed == 0: // the position of a reader that was a writer is in its data alone
		sim.set(n, []byte("new"))
	case k == 4 && n.owner == 0 && !n.foreign && strings.Contains(n.path, "-write-") && sim.from == 0:
		down := *n // keeps its position, as with Curator
		down.path, down.data = strings.Replace(n.path, "-write-", "-read-", 1), nil
		sim.zxid++
		sim.add(&down)
		sim.remove(n, false)
	default:
		sim.remove(n, n.owner != 0)
	}
}

// fault is what goes wrong with a session.
type fault int

const (
	none fault = iota
	epochEnds
	trustEnds
	connectionLost
)

// suffer ends what went wrong with the session, or lets a fault happen.
func (i *instance) suffer(f fault) {
	s := i.sess
	switch {
	case s == nil:
		i.begin()
	case s.dead, f == epochEnds && i.sim.Pick(3) == 0:
		i.end()
	case f == trustEnds && s.trusted:
		i.distrust()
	case s.suspended:
		i.resume()
	case !s.trusted:
		i.trust()
	case f == connectionLost:
		i.suspend()
	}
}

// expireOne lets the server expire a session that its client does not trust any more.
func (sim *simulation) expireOne() {
	for _, s := range sim.sessions {
		if !s.dead && (s.ended || !s.trusted) {
			sim.Log("session %d expires", s.id)
			sim.expire(s)
			return
		}
	}
}

// heal ends all faults.
func (sim *simulation) heal() {
	sim.Log("all faults end")
	sim.calm = true
	for _, i := range sim.all {
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
	for _, s := range sim.sessions {
		if s.ended && !s.dead {
			sim.expire(s)
		}
	}
	for _, n := range slices.Clone(sim.nodes) {
		if n.owner == 0 {
			sim.remove(n, false)
		}
	}
	sim.quiet()
}

// quiet carries out and delivers until nothing is pending.
func (sim *simulation) quiet() {
	for range 100_000 {
		if sim.Pick(2) == 0 {
			if sim.serve() {
				continue
			}
		}
		delivered := false
		for _, i := range sim.all {
			delivered = i.deliver() || delivered
		}
		if !delivered && !sim.serve() {
			sim.checkHolders()
			if sim.calm {
				sim.checkSleepers()
			}
			return
		}
		sim.checkPlaces()
	}
	sim.Failf("it never comes to rest")
}

// progress releases until each claim had its turn. A release costs little.
func (sim *simulation) progress() {
	due := map[*claim]bool{}
	total := 0
	for _, i := range sim.all {
		for _, c := range i.claims {
			due[c] = true
			total++
		}
	}
	for range 3*total + 3 {
		for _, i := range sim.all {
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
			if !sim.wanted(c) {
				delete(due, c)
			}
		}
		if len(due) == 0 {
			return
		}
		sim.handOver()
	}
	sim.Failf("progress: %d claims never had their turn", len(due))
}

func (sim *simulation) wanted(c *claim) bool {
	return slices.ContainsFunc(sim.all, func(i *instance) bool { return slices.Contains(i.claims, c) })
}

// handOver releases what is held, lets the next ones be granted, and checks the cost.
func (sim *simulation) handOver() {
	sim.lists, sim.joins, sim.leaves, sim.unaware = 0, 0, 0, 0
	released, granted := 0, 0
	for _, i := range sim.all {
		if i.m.State() == contend.Waiting && i.standing() == 0 {
			sim.unaware++
		}
	}
	for _, i := range sim.all {
		switch {
		case sim.rule == single && i.held != nil: // or it may hold again: there is no queue
			i.withdraw(i.held.claim)
			released++
		case i.release():
			released++
		}
	}
	if released > 1 && (sim.rule == exclusively || sim.rule >= delayed) {
		sim.Failf("progress: %d hold", released)
	}
	if released == 0 {
		sim.Failf("progress: no instance holds, though claims wait")
	}
	sim.quiet()
	for _, i := range sim.all {
		if i.held != nil {
			granted++
		}
	}
	if sim.lists > sim.affordable(released, granted) {
		sim.Failf("I8: %d releases cost %d listings, with %d joins and %d grants", released, sim.lists, sim.joins, granted)
	}
}

// affordable is how many listings a release may cost: one for each instance that joins, that is
// granted, or that finds its znode gone, one more, and one that looks ahead. Shared holders end one
// by one.
func (sim *simulation) affordable(released, granted int) int {
	switch sim.rule {
	case shared:
		return sim.joins + released + granted + sim.unaware
	case permits: // the head lists whenever a contender comes or goes
		return 2 * (sim.joins + sim.leaves + granted)
	}
	return sim.joins + 2 + sim.unaware
}

// finish withdraws everything, after which nothing may be left.
func (sim *simulation) finish() {
	for _, i := range sim.all {
		for _, c := range i.claims {
			i.withdraw(c)
		}
	}
	sim.quiet()
	for _, i := range sim.all {
		if len(i.claims) > 0 {
			sim.Failf("#%d never settled %d", i.id, i.claims[0].id)
		}
		if i.freeing > 0 {
			sim.Failf("#%d never freed a possession", i.id)
		}
		if i.held != nil {
			sim.Failf("#%d holds without a claim", i.id)
		}
	}
	for _, i := range sim.all {
		if at := i.m.State(); at != contend.Idle {
			sim.Failf("#%d is %v", i.id, at)
		}
		if sim.rule == delayed && i.m.Delay() != contend.Open {
			sim.Failf("#%d is %v", i.id, i.m.Delay())
		}
	}
	for _, n := range sim.nodes {
		if !n.foreign {
			sim.Failf("I2: %s is left", n.path)
		}
	}
}
