package contend_test

import "github.com/troupe-go/troupe/internal/machine"

// checkGrant: I1 and I3 at the instant of a grant. What stands ahead can only go, so nobody may be ahead now; an own znode that an administrator deleted
// is excused until its event arrives.
func (w *world) checkGrant(i *instance, e machine.Grant) {
	if i.spent[e.Path] {
		w.failf("#%d granted %s twice", i.id, e.Path)
	}
	own := w.find(e.Path)
	if own == nil {
		if !w.deletedByAdmin(e.Path) {
			w.failf("I1: #%d granted %s, which is gone", i.id, e.Path)
		}
		return
	}
	if own.owner != i.sess.id {
		w.failf("I1: #%d granted %s of session %d", i.id, e.Path, own.owner)
	}
	if own.czxid != e.Token {
		w.failf("I3: #%d granted token %d for %d", i.id, e.Token, own.czxid)
	}
	for _, n := range w.nodes {
		if n.order < own.order && !n.foreign {
			w.failf("I1: #%d granted %s behind %s", i.id, e.Path, n.path)
		}
	}
	for _, o := range w.all {
		if o != i && o.held != nil && o.held.live && !w.deletedByAdmin(o.held.path) {
			w.failf("I1: #%d granted %s while #%d holds %s", i.id, e.Path, o.id, o.held.path)
		}
	}
	if e.Token <= w.lastToken {
		w.failf("I3: token %d after %d", e.Token, w.lastToken)
	}
	w.lastToken = e.Token
}

// checkPlaces: I2, one znode an instance. A host that crashed may leave a second one, which its successor deletes.
func (w *world) checkPlaces() {
	for _, i := range w.all {
		if i.sess != nil && i.fed == i.sess.epoch && i.standing() > 1 {
			w.failf("I2: #%d has %d znodes", i.id, i.standing())
		}
	}
}
