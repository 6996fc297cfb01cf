package contend_test

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machinetest"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// singleWorld is an in-memory ZooKeeper with one path in it, and the instances that want it.
type singleWorld struct {
	*machinetest.World
	node   *singleNode
	dead   map[int64]bool // Czxids of znodes; true: somebody else than the owner deleted it
	tokens []int64
}

func singleSchedule(c recipetest.Chance) {
	w := &singleWorld{&machinetest.World{Chance: c, Table: singleTable, Rest: "Idle"}, nil, map[int64]bool{}, nil}
	w.Tree = w
	w.Play(singleSubject)
}

// singleNode is what stands at the path.
type singleNode struct {
	czxid, owner int64
	by           *machinetest.Instance // nil: somebody else's
	data         []byte
}

func (w *singleWorld) create(owner int64, by *machinetest.Instance) bool {
	if w.node != nil {
		return false
	}
	w.Zxid++
	w.node = &singleNode{czxid: w.Zxid, owner: owner, by: by}
	return true
}

func (w *singleWorld) remove(byOther bool) {
	w.Zxid++
	w.dead[w.node.czxid] = byOther
	w.node = nil
	w.Fire(singlePath, true)
}

func (w *singleWorld) set(data []byte) {
	w.Zxid++
	w.node.data = data
	w.Fire(singlePath, false)
}

// Serve carries out a request.
func (w *singleWorld) Serve(i *machinetest.Instance, r *machinetest.Request) []machine.Event {
	switch e := r.Effect.(type) {
	case machine.Enter:
		ev := machine.Entered{Epoch: e.Epoch, Path: singlePath}
		switch {
		case !w.create(i.Session, i):
			ev.Err = machine.ErrHeld
		case w.Pick(3) > 0: // otherwise the answer was lost
			ev.Czxid, ev.Owner = w.node.czxid, i.Session
		}
		return []machine.Event{ev}
	case machine.Read:
		ev := machine.Seen{Epoch: e.Epoch, Path: singlePath, Ask: e.Ask}
		if w.Rarely(50) {
			ev.Err = errRefused
			return []machine.Event{ev}
		}
		if n := w.node; n != nil {
			ev.Exists, ev.Stat.Czxid, ev.Stat.Owner, ev.Data = true, n.czxid, n.owner, n.data
			i.Arm(singlePath, r)
		}
		return []machine.Event{ev}
	case machine.Remove:
		for _, own := range w.Own(i) {
			if i.Holds(own.Token) {
				w.Failf("#%d holds %d, and deletes it", i.No, own.Token)
			}
			w.Remove(own.Path)
		}
		return []machine.Event{machine.Removed{Epoch: e.Epoch, Path: singlePath}}
	}
	panic("an unknown request")
}

// Expire ends a session.
func (w *singleWorld) Expire(session int64) {
	if w.node != nil && w.node.owner == session {
		w.remove(false)
	}
}

// Own is the znode, if it is.
func (w *singleWorld) Own(i *machinetest.Instance) []machinetest.Znode {
	if w.node == nil || w.node.by != i || w.node.owner != i.Session {
		return nil
	}
	return []machinetest.Znode{{Path: singlePath, Token: w.node.czxid}}
}

// Remove deletes it.
func (w *singleWorld) Remove(string) { w.remove(false) }

// Meddle: somebody else creates, writes or deletes.
func (w *singleWorld) Meddle() {
	switch k := w.Pick(4); {
	case w.node == nil:
		w.create(-1, nil)
	case k == 0:
		w.set([]byte("unlock\nold"))
	case k == 1:
		w.set([]byte("new"))
	default:
		w.remove(true)
	}
}

// Heal deletes what is somebody else's.
func (w *singleWorld) Heal() {
	if w.node != nil && w.node.owner < 0 {
		w.remove(false)
	}
}

// CheckGrant: the znode is this instance's own, nobody else holds, and tokens grow. One that
// somebody else deleted a moment ago is excused.
func (w *singleWorld) CheckGrant(i *machinetest.Instance, e machine.Grant) {
	if slices.Contains(w.tokens, e.Token) {
		w.Failf("#%d: a second possession came of %d", i.No, e.Token)
	}
	largest := slices.Max(append(w.tokens, 0))
	w.tokens = append(w.tokens, e.Token)
	if w.dead[e.Token] {
		return
	}
	if w.node == nil || w.node.czxid != e.Token || w.node.owner != i.Session || w.node.by != i {
		w.Failf("I1: #%d granted %d, but there stands %+v", i.No, e.Token, w.node)
	}
	if e.Token < largest {
		w.Failf("I3: token %d after %d", e.Token, largest)
	}
	if o := w.Holder(i, func(h *machinetest.Hold) bool { return !w.dead[h.Token] }); o != nil {
		w.Failf("I1: #%d granted %d while #%d holds %d", i.No, e.Token, o.No, o.Held.Token)
	}
}

// CheckFreed: what is given up is gone.
func (w *singleWorld) CheckFreed(i *machinetest.Instance) {
	if n := w.node; n != nil && n.czxid == i.Held.Token {
		w.Failf("I9: #%d freed %d, which stands", i.No, i.Held.Token)
	}
}

// CheckQuiet: when all is quiet, whoever holds has his znode, has it watched, and knows what it
// says.
func (w *singleWorld) CheckQuiet() {
	for _, i := range w.All {
		h := i.Held
		if h == nil || !h.Live {
			continue
		}
		switch {
		case w.node == nil || w.node.czxid != h.Token:
			w.Failf("I6: #%d holds %d, which is gone", i.No, h.Token)
		case !i.Watches(singlePath):
			w.Failf("I6: #%d holds %d unwatched", i.No, h.Token)
		case znode.Revoked(w.node.data) && !h.Revoked:
			w.Failf("#%d was not told of the revocation", i.No)
		}
	}
}

// CheckEnd: nothing is left.
func (w *singleWorld) CheckEnd() {
	if w.node != nil {
		w.Failf("I2: %+v is left", w.node)
	}
}
