package contend_test

// What instances stand in line for in a schedule, whose turn it is, and what must hold: who holds,
// who is told, who is first.

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// rule is what the instances of a world stand in line for.
type rule int

const (
	exclusively rule = iota
	shared
	permits
	delayed // exclusively, with a delay after a holder that died
	single  // the one znode at singlePath
)

// drawRule draws the rule and, of a semaphore, the limit, which may not be set yet.
func (w *world) drawRule() {
	if w.rule = rule(w.Pick(3)); w.rule == permits && w.Pick(3) > 0 {
		w.limit.data = strconv.AppendInt(nil, int64(w.first()), 10)
	}
}

// first is the number of permits that the instances were made with.
func (w *world) first() int { return 3 }

// permitted is the limit as it is; as much as anybody wants if nobody has set it.
func (w *world) permitted() int {
	n, err := strconv.Atoi(string(w.limit.data))
	if err != nil {
		return w.first()
	}
	return n
}

// drawSide draws what an instance stands for.
func (i *instance) drawSide() {
	w := i.w
	switch w.rule {
	case exclusively, delayed:
		i.name, i.rule = "lock-", contend.Exclusive()
	case shared:
		i.name, i.rule = []string{"read-", "write-"}[w.Pick(2)], contend.Shared()
	case permits:
		first := w.first()
		i.name = fmt.Sprintf("lease-%d-", 1+w.Pick(first))
		if w.chance(20) {
			first++ // and so does not agree
		}
		i.rule, i.data = contend.AtMost(first), []byte("mine")
	}
}

func (i *instance) machine() *contend.Machine {
	if i.w.rule == single {
		return contend.NewSingle(singlePath)
	}
	cfg := contend.Config{Parent: parent, Rule: i.rule, Data: i.data}
	if i.w.rule == delayed {
		cfg.Delay = 1
	}
	return contend.New(cfg)
}

// state is what the table of transitions is about.
func (i *instance) state() string {
	if i.w.rule == delayed {
		return i.m.Delay().String()
	}
	return i.m.State().String()
}

func (n *node) contender() znode.Contender {
	_, name := znode.Split(n.path)
	c, _ := znode.ParseContender(name)
	return c
}

// conflicts tells whether own has to wait for one who stands before it. In a semaphore what counts
// is the sum.
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
func (w *world) fits(mine *node) bool {
	sum := mine.contender().Weight
	for _, n := range w.nodes {
		if n.order < mine.order && !n.foreign {
			sum += n.contender().Weight
		}
	}
	return sum <= w.permitted()
}

// turn tells whether it is own's turn.
func (w *world) turn(mine *node) bool {
	for _, n := range w.nodes {
		if n.order < mine.order && conflicts(mine, n) && !w.vacated(n, mine) {
			return false
		}
	}
	return mine.contender().Kind != znode.Lease || mine.granted || w.fits(mine)
}

// checkMark: nothing is marked that does not fit at that instant, together with all that were
// granted before.
func (w *world) checkMark(mine *node) {
	if mine.granted {
		return // it is written again
	}
	if !w.turn(mine) {
		w.Failf("I1: %s is marked out of turn, with a limit of %d", mine.path, w.permitted())
	}
	sum := mine.contender().Weight
	for _, n := range w.nodes {
		if n.granted {
			sum += n.contender().Weight
		}
	}
	if sum > w.permitted() && !mine.fitted {
		w.Failf("I1: %d of %d permits are taken", sum, w.permitted())
	}
	mine.granted = true
}

// setLimit changes the limit. Those who fitted until then may be on their way to be granted, and
// others behind them, who counted them in, may have been.
func (w *world) setLimit(n int) {
	w.Log("the limit is %d", n)
	for _, n := range w.nodes {
		n.fitted = n.fitted || !n.foreign && w.turn(n)
	}
	w.set(&w.limit, strconv.AppendInt(nil, int64(n), 10))
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

// checkGrant: I1 and I3 at the instant of a grant. What stands ahead can only go, so nobody may be
// ahead now; an own znode that an administrator deleted is excused until its event arrives.
func (w *world) checkGrant(i *instance, e machine.Grant) {
	if i.used[e.Token] {
		w.Failf("#%d granted %s twice", i.id, e.Path)
	}
	if !i.sess.watches(e.Path) && !i.sess.reading(e.Path) && len(i.wakes) == 0 {
		w.Failf("I6: #%d granted %s unwatched", i.id, e.Path)
	}
	mine := w.granted(e)
	if mine == nil {
		w.checkMissed(i, e.Path, e.Token)
		return
	}
	if mine.owner != i.sess.id || mine.by != i && w.rule != single {
		w.Failf("I1: #%d granted %s of session %d", i.id, e.Path, mine.owner)
	}
	if mine.czxid != e.Token {
		w.Failf("I3: #%d granted token %d for %d", i.id, e.Token, mine.czxid)
	}
	if !w.turn(mine) {
		w.Failf("I1: #%d granted %s out of turn", i.id, e.Path)
	}
	if w.rule == permits && !mine.granted {
		w.Failf("#%d granted %s, which does not say so", i.id, e.Path)
	}
	for _, o := range w.all {
		if o != i && o.held != nil && o.held.live && !w.struck(o.held) && w.rivals(mine, o.held) {
			w.Failf("I1: #%d granted %s while #%d holds %s", i.id, e.Path, o.id, o.held.path)
		}
	}
	w.checkToken(mine, e.Token)
	if w.rule == delayed && !w.erased[e.Token] && (w.record == nil || w.record.token != e.Token) {
		w.Failf("#%d granted %d, but the record is %+v", i.id, e.Token, w.record)
	}
}

// struck: the znode of a possession is gone, and not through its owner.
func (w *world) struck(h *hold) bool {
	return h.node == nil || h.node.byAdmin && !w.stands(h.node)
}

// checkToken: those of exclusive holders grow, whatever readers come between; and no reader has an
// older one than the writer before him.
func (w *world) checkToken(mine *node, token int64) {
	if w.rule != permits && token <= w.lastToken {
		w.Failf("I3: token %d after %d", token, w.lastToken)
	}
	if w.rule != permits && mine.contender().Kind != znode.Read {
		w.lastToken = token
	}
}

// rivals: whoever holds the one cannot let the other be granted.
func (w *world) rivals(mine *node, h *hold) bool {
	return w.rule == single || conflicts(mine, h.node)
}

// checkMissed: the own znode is gone already. That is excused if an administrator deleted it and
// its event is on its way, and only if it had been first before.
func (w *world) checkMissed(i *instance, path string, token int64) {
	for _, mine := range w.deaths {
		if mine.path != path || mine.czxid != token {
			continue
		}
		if !mine.byAdmin {
			break
		}
		told := slices.ContainsFunc(i.fires, func(f fire) bool { return f.path == path })
		ahead := func(n *node) bool {
			return n.order < mine.order && conflicts(mine, n) && !(told && w.vacated(n, mine))
		}
		late := func(n *node) bool { return ahead(n) && n.dzxid > mine.dzxid }
		if slices.ContainsFunc(w.nodes, ahead) || slices.ContainsFunc(w.deaths, late) {
			w.Failf("I1: #%d granted %s, which was never first", i.id, path)
		}
		return
	}
	w.Failf("I1: #%d granted %s, which is gone", i.id, path)
}

// checkHolders: whoever holds when all is quiet has a znode, and knows what it says.
func (w *world) checkHolders() {
	for _, i := range w.all {
		h := i.held
		if h == nil || !h.live {
			continue
		}
		n := h.node
		if !w.stands(n) {
			w.Failf("I6: #%d holds %s, which is gone", i.id, h.path)
		}
		if !h.session.watches(h.path) && !w.brief {
			w.Failf("I6: #%d holds %s unwatched", i.id, h.path)
		}
		notes, _ := znode.ParseNotes(n.data)
		if notes.Unlock && !h.revoked {
			w.Failf("#%d was not told of the revocation", i.id)
		}
		if w.rule == permits && !notes.Held {
			w.Failf("#%d holds %s, which does not say so any more", i.id, h.path)
		}
	}
}

// checkSleepers: when all is quiet and nothing goes wrong, nobody waits whose turn it is.
func (w *world) checkSleepers() {
	for _, n := range w.nodes {
		for _, i := range w.all {
			if i.sess != nil && i.sess.id == n.owner && n.by == i && i.held == nil && len(i.claims) > 0 && w.turn(n) {
				w.Failf("wake-up: #%d sleeps with %s, whose turn it is", i.id, n.path)
			}
		}
	}
}

// checkPlaces: I2, one znode an instance.
func (w *world) checkPlaces() {
	for _, i := range w.all {
		if i.sess != nil && i.fed == i.sess.epoch && i.standing() > 1 {
			w.Failf("I2: #%d has %d znodes", i.id, i.standing())
		}
	}
}
