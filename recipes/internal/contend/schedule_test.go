package contend_test

// Schedules: everything that may happen to a few contenders, in an order that is drawn; then a calm
// phase in which each claim has its turn, at little cost; and an end at which nothing is left.

import (
	"fmt"
	"maps"
	"math"
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
		recipetest.Schedules(t, s.schedules, func(c recipetest.Chance) { s.schedule(c, nil) })
	})
}

// starts are first sequence numbers: 0 in half the schedules; in the others they are five before
// the numbers leave the order open (znode.NeedsCzxid), before their end, and, after that, before 0.
var starts = []int64{0, 0, 0, 2_147_000_000 - 5, math.MaxInt32 - 5, -5}

func schedule(c recipetest.Chance, taken recipetest.Steps) {
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

// odds are what may happen in a schedule, in percent: 80 are progress, 8 the application, 4 another
// client, 8 faults and their ends. What happens to i.sim does not depend on the instance.
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

// changeMind lets the application want something, or withdraw it. An instance has one standing
// intent at most.
func (i *instance) changeMind() {
	intended := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.once && !c.withdrawn })
	switch k := i.sim.Pick(8); {
	case k < 3 && !intended:
		i.want(standing)
	case k < 3 && len(i.claims) < 4:
		i.want(call)
	case k < 6:
		i.want(try)
	case len(i.claims) > 0:
		i.withdraw(i.claims[i.sim.Pick(len(i.claims))])
	}
}

// meddle lets another client do something: make a contender or another znode, set the limit, or
// meddle with a contender.
func (sim *simulation) meddle() {
	switch {
	case sim.rule == delayed && sim.Pick(2) == 0:
		sim.meddleWithRecord()
		return
	case sim.rule == single:
		sim.meddleWithSingle()
		return
	}
	switch k := sim.Pick(7); {
	case k == 0:
		sim.create(0, []string{"lock-", "write-", "read-", "lease-", "lease-2-"}[sim.Pick(5)], nil)
	case k == 1:
		sim.zxid++
		sim.add(&node{path: parent + fmt.Sprintf("/_c_%d", sim.zxid), foreign: true})
	case k == 6:
		sim.setLimit(1 + sim.Pick(4))
	case len(sim.nodes) > 0:
		sim.meddleWith(sim.nodes[sim.Pick(len(sim.nodes))], []string{"revoke", "write", "downgrade", "delete"}[k-2])
	}
}

// meddleWith lets another client change a contender. One that can't be changed in that way is
// deleted.
func (sim *simulation) meddleWith(n *node, how string) {
	sim.Log("another client meddles with %s: %s", n.path, how)
	notes, _ := znode.ParseNotes(n.data)
	placed := notes.Placed > 0 // a reader that was a writer: nothing but its data tells its position
	switch {
	case how == "revoke" && placed: // as Troupe does, which keeps the position
		notes.Unlock = true
		sim.set(n, notes.Write(nil))
	case how == "revoke":
		sim.set(n, []byte("unlock\nold"))
	case how == "write" && !placed:
		sim.set(n, []byte("new"))
	case how == "downgrade" && n.owner == 0 && strings.Contains(n.path, "-write-") && sim.from == 0:
		down := *n // as Curator does: the same number, with a later Czxid, so it needs numbers that tell the order
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

// suffer lets a fault happen. What went wrong before has precedence, and ends, whatever the fault
// is; but the epoch or trust may end during another fault.
func (i *instance) suffer(f fault) {
	s := i.sess
	switch {
	case s == nil:
		i.begin()
	case s.dead, f == epochEnds && i.sim.Pick(3) == 0: // it expired, or its client gives it up
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

// progress releases until each claim had its turn, or has ended. A release costs little.
func (sim *simulation) progress() {
	due := map[*claim]bool{} // had no turn yet
	for _, i := range sim.all {
		for _, c := range i.claims {
			due[c] = true
		}
	}
	for range 3*len(due) + 3 { // far more than each claim needs to have its turn once
		for _, i := range sim.all {
			if i.held != nil {
				delete(due, i.held.claim)
			}
		}
		maps.DeleteFunc(due, func(c *claim, _ bool) bool { return c.withdrawn || !sim.wanted(c) })
		if len(due) == 0 {
			return
		}
		sim.handOver()
	}
	sim.Failf("progress: %d claims never had their turn", len(due))
}

// wanted tells whether a claim has not ended.
func (sim *simulation) wanted(c *claim) bool {
	return slices.ContainsFunc(sim.all, func(i *instance) bool { return slices.Contains(i.claims, c) })
}

// handOver releases what is held, lets the next ones be granted, and checks the cost.
func (sim *simulation) handOver() {
	sim.lists, sim.joins, sim.leaves, sim.unaware = 0, 0, 0, 0
	released, granted := 0, 0
	for _, i := range sim.all {
		if i.m.State() == contend.Waiting && i.znodes() == 0 {
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

// affordable is how many listings the releases may cost.
func (sim *simulation) affordable(released, granted int) int {
	each := sim.joins + sim.unaware // one for each instance that joins, or finds its znode gone
	switch sim.rule {
	case shared: // one for each holder that ends, and for each that is granted
		return each + released + granted
	case permits: // the head lists whenever a contender comes or goes
		return 2 * (sim.joins + sim.leaves + granted)
	}
	return each + 2 // the one that is granted, and the one behind it, which looks ahead
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
