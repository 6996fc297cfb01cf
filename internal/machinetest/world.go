package machinetest

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// World is an in-memory ZooKeeper, and the instances on it.
type World struct {
	recipetest.Chance
	Tree  Tree
	Table *recipetest.Table
	Rest  string // where a machine stands that wants nothing
	Zxid  int64
	All   []*Instance
	Calm  bool // no faults any more

	subject  func() recipetest.Subject
	sessions int64
}

// Tree is what stands in a world's ZooKeeper, and what must hold of it. A check that fails calls
// Failf.
type Tree interface {
	Serve(i *Instance, r *Request) []machine.Event // carries a request out and answers
	Expire(session int64)                          // deletes what the session owns
	Own(i *Instance) []Znode                       // what i made in its present session
	Remove(path string)                            // deletes one of those
	Meddle()                                       // somebody else does something
	Heal()                                         // nobody else does anything any more

	CheckGrant(i *Instance, e machine.Grant) // before the possession is made
	CheckFreed(i *Instance)                  // what i holds was given up, in an epoch that stands
	CheckQuiet()                             // all that was under way has come to its end
	CheckEnd()                               // nobody wants anything any more
}

// Play plays a schedule: a wild phase, a calm one in which claims get their turn, and an end after
// which nothing may be left.
func (w *World) Play(subject func() recipetest.Subject) {
	w.subject = subject
	for no := range 1 + w.Pick(4) {
		i := &Instance{World: w, No: no, Lost: map[int64]bool{}, spent: map[int64]bool{}, machine: subject()}
		w.All = append(w.All, i)
		i.begin()
	}
	for range 10 + w.Pick(150) {
		w.act()
	}
	w.heal()
	w.progress()
	w.finish()
}

// Rarely is true once in n times, and never when faults have ended.
func (w *World) Rarely(n int) bool { return !w.Calm && w.Pick(n) == 0 }

// act is one thing that happens.
func (w *World) act() {
	i := w.All[w.Pick(len(w.All))]
	switch k := w.Pick(100); {
	case k < 40:
		i.serve()
	case k < 80:
		i.deliver()
	case k < 85:
		i.wish()
	case k < 89:
		i.release()
	case k < 93:
		w.Tree.Meddle()
	default:
		i.suffer(k - 93)
	}
}

func (i *Instance) wish() {
	k := i.World.Pick(6)
	standing := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.once && !c.withdrawn })
	switch {
	case k < 2 && !standing:
		i.want(false, false)
	case k < 3:
		i.want(true, false)
	case k < 4:
		i.want(false, true)
	case len(i.claims) > 0:
		i.withdraw(i.claims[i.World.Pick(len(i.claims))])
	}
}

// suffer: something goes wrong with the session.
func (i *Instance) suffer(k int) {
	switch {
	case i.Session == 0:
		i.begin()
	case k == 0 && !i.trusted:
		i.World.expire(i.Session)
	case k == 1 || i.gone:
		i.end()
	case k == 6:
		i.crash()
	case k < 4 && i.trusted:
		i.distrust()
	case !i.trusted && !i.gone:
		i.trust()
	case !i.down:
		i.suspend()
	default:
		i.resume()
	}
}

// expire ends a session at the server.
func (w *World) expire(session int64) {
	for _, i := range w.All {
		if i.Session == session {
			i.gone, i.arms = true, nil
		}
	}
	w.Tree.Expire(session)
}

// heal ends all faults.
func (w *World) heal() {
	w.Log("all faults end")
	w.Calm = true
	for _, i := range w.All {
		if i.gone {
			i.end()
		}
		if i.Session == 0 {
			i.begin()
		}
		if i.down {
			i.resume()
		}
		if !i.trusted {
			i.trust()
		}
	}
	w.Tree.Heal()
	w.quiet()
}

// quiet lets everything that is under way come to its end.
func (w *World) quiet() {
	for range 100_000 {
		moved := false
		for _, i := range w.All {
			if w.Pick(2) == 0 {
				moved = i.serve() || moved
			}
			moved = i.deliver() || moved
		}
		if moved {
			continue
		}
		for _, i := range w.All {
			moved = i.serve() || moved
		}
		if !moved {
			w.Tree.CheckQuiet()
			return
		}
	}
	w.Failf("it never comes to rest")
}

// progress: as long as anybody waits, somebody holds; and whoever has held and wants it no more
// lets the others have their turn.
func (w *World) progress() {
	for range 1000 {
		waiting, holding := 0, 0
		for _, i := range w.All {
			waiting += len(i.claims)
			if i.Held != nil {
				holding++
			}
		}
		if waiting == 0 {
			return
		}
		if holding != 1 {
			w.Failf("progress: %d hold, %d claims wait", holding, waiting)
		}
		for _, i := range w.All {
			if i.Held != nil {
				i.withdraw(i.Held.claim)
			}
		}
		w.quiet()
	}
	w.Failf("progress: claims that never had their turn")
}

// finish looks for what is left.
func (w *World) finish() {
	w.Tree.CheckEnd()
	for _, i := range w.All {
		if i.Held != nil || len(i.claims) > 0 {
			w.Failf("#%d has not settled", i.No)
		}
		if at := i.machine.Where(); at != w.Rest {
			w.Failf("#%d is %v", i.No, at)
		}
	}
}

// Fire tells everybody who has a watch on the path armed. The watch is spent.
func (w *World) Fire(path string, deleted bool) {
	for _, i := range w.All {
		if by := i.arms[path]; by != nil {
			delete(i.arms, path)
			ev := machine.Fired{Epoch: i.epoch, Path: path, Change: gone(deleted)}
			i.fires = append(i.fires, fire{ev: ev, by: by, heard: len(i.notices)})
		}
	}
}

// Holder is whoever has a possession that stands, but for this instance; nil if nobody has one of
// which that is asked.
func (w *World) Holder(but *Instance, asked func(h *Hold) bool) *Instance {
	for _, o := range w.All {
		if o != but && o.Held != nil && o.Held.Live && asked(o.Held) {
			return o
		}
	}
	return nil
}

// gone is what a watch of a read sees: the znode deleted, or changed.
func gone(deleted bool) machine.Change {
	if deleted {
		return machine.Deleted
	}
	return machine.DataChanged
}
