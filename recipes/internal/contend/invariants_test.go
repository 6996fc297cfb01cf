package contend_test

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// checkGrant: I1 and I3 at the instant of a grant. What stands ahead can only go, so nobody may be
// ahead now; an own znode that an administrator deleted is excused until its event arrives.
func (w *world) checkGrant(i *instance, e machine.Grant) {
	if i.spent[e.Token] {
		w.Failf("#%d granted %s twice", i.id, e.Path)
	}
	// Of a single znode, the read comes behind the grant, in the same step.
	if w.rule != single && !i.sess.watches(e.Path) && !i.sess.reading(e.Path) {
		w.Failf("I6: #%d granted %s unwatched", i.id, e.Path)
	}
	own := w.granted(e)
	if own == nil {
		w.checkMissed(i, e.Path, e.Token)
		return
	}
	if own.owner != i.sess.id {
		w.Failf("I1: #%d granted %s of session %d", i.id, e.Path, own.owner)
	}
	if own.czxid != e.Token {
		w.Failf("I3: #%d granted token %d for %d", i.id, e.Token, own.czxid)
	}
	if !w.turn(own) {
		w.Failf("I1: #%d granted %s out of turn", i.id, e.Path)
	}
	if w.rule == permits && !own.granted {
		w.Failf("#%d granted %s, which does not say so", i.id, e.Path)
	}
	for _, o := range w.all {
		if o != i && o.held != nil && o.held.live && !w.struck(o.held) && w.rivals(own, o.held) {
			w.Failf("I1: #%d granted %s while #%d holds %s", i.id, e.Path, o.id, o.held.path)
		}
	}
	w.checkToken(own, e.Token)
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
func (w *world) checkToken(own *node, token int64) {
	if w.rule != permits && token <= w.lastToken {
		w.Failf("I3: token %d after %d", token, w.lastToken)
	}
	if w.rule != permits && own.contender().Kind != znode.Read {
		w.lastToken = token
	}
}

// rivals: whoever holds the one cannot let the other be granted.
func (w *world) rivals(own *node, h *hold) bool {
	return w.rule == single || conflicts(own, h.node)
}

// checkMissed: the own znode is gone already. That is excused if an administrator deleted it and
// its event is on its way, and only if it had been first before.
func (w *world) checkMissed(i *instance, path string, token int64) {
	for _, own := range w.deaths {
		if own.path != path || own.czxid != token {
			continue
		}
		if !own.byAdmin {
			break
		}
		ahead := func(n *node) bool { return n.order < own.order && conflicts(own, n) }
		late := func(n *node) bool { return ahead(n) && n.dzxid > own.dzxid }
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
		if !h.session.watches(h.path) {
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
			if i.sess != nil && i.sess.id == n.owner && i.held == nil && len(i.claims) > 0 && w.turn(n) && !(i.crashed && w.forgotten(n)) {
				w.Failf("wake-up: #%d sleeps with %s, whose turn it is", i.id, n.path)
			}
		}
	}
}

// checkPlaces: I2, one znode an instance. A host that crashed may leave a second one, which its
// successor deletes.
func (w *world) checkPlaces() {
	for _, i := range w.all {
		if i.sess != nil && i.fed == i.sess.epoch && i.standing() > 1 {
			w.Failf("I2: #%d has %d znodes", i.id, i.standing())
		}
	}
}
