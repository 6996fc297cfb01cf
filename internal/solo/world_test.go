package solo_test

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// world is an in-memory ZooKeeper with one path in it, and the instances that want it. Everything that happens is drawn from pick.
type world struct {
	pick func(n int) int // one of 0…n−1
	logf func(format string, args ...any)

	node   *node
	zxid   int64
	dead   map[int64]bool // Czxids of znodes that somebody else than their owner deleted
	ids    int64
	all    []*instance
	calm   bool // no faults any more
	tokens []int64
}

// node is what stands at the path.
type node struct {
	czxid, owner int64
	by           *instance // nil: somebody else's
	data         []byte
}

// violation is how a schedule ends that breaks an invariant.
type violation string

func (w *world) failf(format string, args ...any) { panic(violation(fmt.Sprintf(format, args...))) }

func (w *world) log(format string, args ...any) {
	if w.logf != nil {
		w.logf(format, args...)
	}
}

func (w *world) create(owner int64, by *instance) bool {
	if w.node != nil {
		return false
	}
	w.zxid++
	w.node = &node{czxid: w.zxid, owner: owner, by: by}
	return true
}

func (w *world) remove(byOther bool) {
	w.zxid++
	w.dead[w.node.czxid] = byOther
	w.node = nil
	w.fire(true)
}

func (w *world) set(data []byte) {
	w.zxid++
	w.node.data = data
	w.fire(false)
}

// fire tells every instance that has a watch armed. The watch is spent.
func (w *world) fire(deleted bool) {
	for _, i := range w.all {
		if i.armed != nil {
			ev := machine.Fired{Epoch: i.epoch, Path: path, Deleted: deleted}
			i.fires = append(i.fires, fire{ev: ev, by: i.armed, heard: len(i.notices)})
			i.armed = nil
		}
	}
}

// expire ends a session at the server.
func (w *world) expire(id int64) {
	for _, i := range w.all {
		if i.id == id {
			i.gone, i.armed = true, nil
		}
	}
	if w.node != nil && w.node.owner == id {
		w.remove(false)
	}
}

// checkGrant: the znode is this instance's own, nobody else holds, and tokens grow. One that somebody else deleted a moment ago is excused.
func (w *world) checkGrant(i *instance, e machine.Grant) {
	if slices.Contains(w.tokens, e.Token) {
		w.failf("#%d: a second possession came of %d", i.no, e.Token)
	}
	largest := int64(0)
	for _, t := range w.tokens {
		largest = max(largest, t)
	}
	w.tokens = append(w.tokens, e.Token)
	if w.dead[e.Token] {
		return
	}
	if w.node == nil || w.node.czxid != e.Token || w.node.owner != i.id || w.node.by != i {
		w.failf("I1: #%d granted %d, but there stands %+v", i.no, e.Token, w.node)
	}
	if e.Token < largest {
		w.failf("I3: token %d after %d", e.Token, largest)
	}
	for _, o := range w.all {
		if o != i && o.held != nil && o.held.live && !w.dead[o.held.token] {
			w.failf("I1: #%d granted %d while #%d holds %d", i.no, e.Token, o.no, o.held.token)
		}
	}
}

// checkHolders: when all is quiet, whoever holds has his znode, has it watched, and knows what it says.
func (w *world) checkHolders() {
	for _, i := range w.all {
		h := i.held
		if h == nil || !h.live {
			continue
		}
		switch {
		case w.node == nil || w.node.czxid != h.token:
			w.failf("I6: #%d holds %d, which is gone", i.no, h.token)
		case i.armed == nil:
			w.failf("I6: #%d holds %d unwatched", i.no, h.token)
		case znode.Revoked(w.node.data) && !h.revoked:
			w.failf("#%d was not told of the revocation", i.no)
		}
	}
}
