package contend_test

import (
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
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
func conflicts(own, before *node) bool {
	switch {
	case before.foreign:
		return false
	case own.contender().Kind == znode.Read:
		return before.contender().Kind != znode.Read
	case own.contender().Kind == znode.Lease:
		return before.contender().Kind != znode.Lease
	}
	return true
}

// fits tells whether a semaphore's contender and all before it fit under the limit.
func (w *world) fits(own *node) bool {
	sum := own.contender().Weight
	for _, n := range w.nodes {
		if n.order < own.order && !n.foreign {
			sum += n.contender().Weight
		}
	}
	return sum <= w.permitted()
}

// turn tells whether it is own's turn.
func (w *world) turn(own *node) bool {
	for _, n := range w.nodes {
		if n.order < own.order && conflicts(own, n) {
			return false
		}
	}
	return own.contender().Kind != znode.Lease || own.granted || w.fits(own)
}

// forgotten: it was marked under a greater limit, but somebody has written over that. Once whoever
// had marked it has crashed, nobody knows any more.
func (w *world) forgotten(own *node) bool {
	notes, _ := znode.ParseNotes(own.data)
	return own.contender().Kind == znode.Lease && !notes.Held && !w.fits(own)
}

// checkMark: nothing is marked that does not fit at that instant, together with all that were
// granted before.
func (w *world) checkMark(own *node) {
	if own.granted {
		return // it is written again
	}
	if !w.turn(own) {
		w.Failf("I1: %s is marked out of turn, with a limit of %d", own.path, w.permitted())
	}
	sum := own.contender().Weight
	for _, n := range w.nodes {
		if n.granted {
			sum += n.contender().Weight
		}
	}
	if sum > w.permitted() && !own.fitted {
		w.Failf("I1: %d of %d permits are taken", sum, w.permitted())
	}
	own.granted = true
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
	i.wishes = append(i.wishes, wish{downgraded(h), h})
	return true
}
