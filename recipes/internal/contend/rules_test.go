package contend_test

// The rules of a schedule: whose turn it is. And its invariants, with numbers as in the failures:
//
//	I1  a grant comes at the instance's turn, and excludes what others hold
//	I2  an instance has at most one znode, and none at the end
//	I3  a token is the Czxid of the znode, or of the one that it replaced, and tokens grow
//	I6  a holder's znode exists and is watched, except while its deletion is on its way
//	I8  a release costs few listings, however many wait (handOver; also recipes/lock)
//	I9  a release is confirmed when the znode is gone
//
// (I7, that nothing of an old epoch has an effect in a new one: session/epoch_test.go.)

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// rule is what the instances of a simulation contend for.
type rule int

const (
	exclusively rule = iota
	shared
	permits
	delayed // exclusively, with a delay after a holder that died
	single  // the one znode at singlePath
)

// drawRule draws the rule and, of a semaphore, the limit, which may not be set yet.
func (sim *simulation) drawRule() {
	if sim.rule = rule(sim.Pick(3)); sim.rule == permits && sim.Pick(3) > 0 {
		sim.limit.data = strconv.AppendInt(nil, firstLimit, 10)
	}
}

// firstLimit is the number of permits that the instances were made with.
const firstLimit = 3

// permitted is the present limit; the expected one if it is not set.
func (sim *simulation) permitted() int {
	n, err := strconv.Atoi(string(sim.limit.data))
	if err != nil {
		return firstLimit
	}
	return n
}

// drawRole draws what an instance contends for.
func (i *instance) drawRole() {
	sim := i.sim
	switch sim.rule {
	case exclusively, delayed:
		i.name, i.rule = "lock-", contend.Exclusive()
	case shared:
		i.name, i.rule = []string{"read-", "write-"}[sim.Pick(2)], contend.Shared()
	case permits:
		i.name = fmt.Sprintf("lease-%d-", 1+sim.Pick(firstLimit))
		limit := firstLimit
		if sim.oneIn(20) {
			limit++ // which is not that of the others: claims fail by it
		}
		i.rule, i.data = contend.AtMost(limit), []byte("mine")
	}
}

func (i *instance) machine() *contend.Machine {
	if i.sim.rule == single {
		return contend.NewSingle(singlePath)
	}
	cfg := contend.Config{Parent: parent, Rule: i.rule, Data: i.data}
	if i.sim.rule == delayed {
		cfg.Delay = 1
	}
	return contend.New(cfg)
}

// state is what the table of transitions is about.
func (i *instance) state() string {
	if i.sim.rule == delayed {
		return i.m.Delay().String()
	}
	return i.m.State().String()
}

func (n *node) contender() znode.Contender {
	_, name := znode.Split(n.path)
	c, _ := znode.ParseContender(name)
	return c
}

// conflicts tells whether mine has to wait for the one before it. In a semaphore the sum counts
// instead.
func conflicts(mine, before *node) bool {
	switch {
	case before.foreign:
		return false
	case mine.contender().Kind == znode.Read:
		return before.contender().Kind != znode.Read
	case mine.contender().Kind == znode.Lease:
		return before.contender().Kind != znode.Lease
	}
	return true
}

// fits tells whether a semaphore's contender and all before it fit under the limit.
func (sim *simulation) fits(mine *node) bool {
	sum := mine.contender().Weight
	for _, n := range sim.nodes {
		if n.order < mine.order && !n.foreign {
			sum += n.contender().Weight
		}
	}
	return sum <= sim.permitted()
}

// turn tells whether it is the turn of mine.
func (sim *simulation) turn(mine *node) bool {
	for _, n := range sim.nodes {
		if n.order < mine.order && conflicts(mine, n) && !sim.holderReleased(n, mine) {
			return false
		}
	}
	return mine.contender().Kind != znode.Lease || mine.granted || sim.fits(mine)
}

// checkMark: nothing is marked that does not fit at that instant, together with all that were
// granted before.
func (sim *simulation) checkMark(mine *node) {
	if mine.granted {
		return // it is written again
	}
	if !sim.turn(mine) {
		sim.Failf("I1: %s is marked out of turn, with a limit of %d", mine.path, sim.permitted())
	}
	sum := mine.contender().Weight
	for _, n := range sim.nodes {
		if n.granted {
			sum += n.contender().Weight
		}
	}
	if sum > sim.permitted() && !mine.fitted {
		sim.Failf("I1: %d of %d permits are taken", sum, sim.permitted())
	}
	mine.granted = true
}

// setLimit changes the limit. Contenders that fitted until then may still be granted, and others
// behind them, which counted them in, may have been granted already.
func (sim *simulation) setLimit(n int) {
	sim.Log("the limit is %d", n)
	for _, n := range sim.nodes {
		n.fitted = n.fitted || !n.foreign && sim.turn(n)
	}
	sim.set(&sim.limit, strconv.AppendInt(nil, int64(n), 10))
}

// downgrade ends the writer's hold, for a reader's.
func (i *instance) downgrade() bool {
	h := i.held
	if i.name != "write-" || h == nil || !h.live || h.read {
		return false
	}
	h.live, h.exchanging = false, true
	i.wishes = append(i.wishes, demand{downgraded(h), h})
	return true
}

// checkGrant checks I1 and I3 at the instant of a grant. Contenders ahead can only leave, so none
// may be ahead now. An own znode that an administrator deleted is excused until its event arrives.
func (sim *simulation) checkGrant(i *instance, e machine.Grant) {
	if i.used[e.Token] {
		sim.Failf("#%d granted %s twice", i.id, e.Path)
	}
	if !i.sess.watches(e.Path) && !i.sess.reading(e.Path) && len(i.wakes) == 0 {
		sim.Failf("I6: #%d granted %s unwatched", i.id, e.Path)
	}
	mine := sim.granted(e)
	if mine == nil {
		sim.checkMissed(i, e.Path, e.Token)
		return
	}
	if mine.owner != i.sess.id || mine.by != i && sim.rule != single {
		sim.Failf("I1: #%d granted %s of session %d", i.id, e.Path, mine.owner)
	}
	if mine.czxid != e.Token {
		sim.Failf("I3: #%d granted token %d for %d", i.id, e.Token, mine.czxid)
	}
	if !sim.turn(mine) {
		sim.Failf("I1: #%d granted %s out of turn", i.id, e.Path)
	}
	if sim.rule == permits && !mine.granted {
		sim.Failf("#%d granted %s, which does not say so", i.id, e.Path)
	}
	for _, o := range sim.all {
		if o != i && o.held != nil && o.held.live && !sim.takenAway(o.held) && sim.rivals(mine, o.held) {
			sim.Failf("I1: #%d granted %s while #%d holds %s", i.id, e.Path, o.id, o.held.path)
		}
	}
	sim.checkToken(mine, e.Token)
	if sim.rule == delayed && !sim.erased[e.Token] && (sim.record == nil || sim.record.token != e.Token) {
		sim.Failf("#%d granted %d, but the record is %+v", i.id, e.Token, sim.record)
	}
}

// takenAway tells whether the znode of a possession is gone, and not through its owner.
func (sim *simulation) takenAway(h *hold) bool {
	return h.node == nil || h.node.byAdmin && !sim.exists(h.node)
}

// checkToken: the tokens of exclusive holders grow, and no reader has an older one than the writer
// before it.
func (sim *simulation) checkToken(mine *node, token int64) {
	if sim.rule != permits && token <= sim.lastToken {
		sim.Failf("I3: token %d after %d", token, sim.lastToken)
	}
	if sim.rule != permits && mine.contender().Kind != znode.Read {
		sim.lastToken = token
	}
}

// rivals tells whether the possession excludes a grant of the znode.
func (sim *simulation) rivals(mine *node, h *hold) bool {
	return sim.rule == single || conflicts(mine, h.node)
}

// checkMissed: the granted znode is gone already. That is excused only if an administrator deleted
// it, its event is on its way, and it was first before.
func (sim *simulation) checkMissed(i *instance, path string, token int64) {
	for _, mine := range sim.deaths {
		if mine.path != path || mine.czxid != token {
			continue
		}
		if !mine.byAdmin {
			break
		}
		due := slices.ContainsFunc(i.fires, func(f fire) bool { return f.path == path })
		ahead := func(n *node) bool {
			return n.order < mine.order && conflicts(mine, n) && !(due && sim.holderReleased(n, mine))
		}
		goneLater := func(n *node) bool { return ahead(n) && n.dzxid > mine.dzxid } // so it was ahead when mine was deleted
		if slices.ContainsFunc(sim.nodes, ahead) || slices.ContainsFunc(sim.deaths, goneLater) {
			sim.Failf("I1: #%d granted %s, which was never first", i.id, path)
		}
		return
	}
	sim.Failf("I1: #%d granted %s, which is gone", i.id, path)
}

// checkHolders: when nothing is pending, a holder has a znode, and was told of its data.
func (sim *simulation) checkHolders() {
	for _, i := range sim.all {
		h := i.held
		if h == nil || !h.live {
			continue
		}
		n := h.node
		if !sim.exists(n) {
			sim.Failf("I6: #%d holds %s, which is gone", i.id, h.path)
		}
		if !h.session.watches(h.path) && !sim.brief {
			sim.Failf("I6: #%d holds %s unwatched", i.id, h.path)
		}
		notes, _ := znode.ParseNotes(n.data)
		if notes.Unlock && !h.revoked {
			sim.Failf("#%d was not told of the revocation", i.id)
		}
		if sim.rule == permits && !notes.Held {
			sim.Failf("#%d holds %s, which does not say so any more", i.id, h.path)
		}
	}
}

// checkSleepers: when nothing is pending and there are no faults, no instance waits whose turn it
// is.
func (sim *simulation) checkSleepers() {
	for _, n := range sim.nodes {
		for _, i := range sim.all {
			if i.sess != nil && i.sess.id == n.owner && n.by == i && i.held == nil && len(i.claims) > 0 && sim.turn(n) {
				sim.Failf("wake-up: #%d sleeps with %s, whose turn it is", i.id, n.path)
			}
		}
	}
}

// checkPlaces: I2, one znode an instance.
func (sim *simulation) checkPlaces() {
	for _, i := range sim.all {
		if i.sess != nil && i.fed == i.sess.epoch && i.znodes() > 1 {
			sim.Failf("I2: #%d has %d znodes", i.id, i.znodes())
		}
	}
}
