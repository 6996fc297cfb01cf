package recipetest

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// ErrRefused is what [Actor.Refuse] and [World.Bar] answer with, and to what is too large.
var ErrRefused = errors.New("not permitted")

// Refuse has the oldest request under way that which picks refused instead of carried out, as if a
// right had been taken away for a moment; false if there is none. It is for [machine.List],
// [machine.Read], [machine.MultiRead], with all its queries, [machine.Transact] and
// [machine.Ensure].
func (a *Actor) Refuse(which func(machine.Effect) bool) bool {
	if a.dead || !a.up || !a.lives {
		return false
	}
	for i, r := range a.requests {
		if r.orphan || !which(r.effect) {
			continue
		}
		refusal := refused(r.effect)
		if refusal == nil {
			continue
		}
		a.requests = append(a.requests[:i:i], a.requests[i+1:]...)
		a.world.log("%s is refused %s", a.Name, told{r.effect})
		a.post(refusal, r.epoch, r)
		return true
	}
	return false
}

// refused is the answer; nil to what is never refused.
func refused(e machine.Effect) machine.Event {
	switch e := e.(type) {
	case machine.List:
		return machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: machine.Refused, Err: ErrRefused}
	case machine.Read:
		return machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: machine.Refused, Err: ErrRefused}
	case machine.MultiRead:
		l := machine.MultiSeen{Epoch: e.Epoch, Ask: e.Ask}
		for i := range e.Queries {
			l.Answers = append(l.Answers, refused(single(e, i)))
		}
		return l
	case machine.Transact:
		return machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: machine.Refused, Failed: -1, Err: ErrRefused}
	case machine.Ensure:
		return machine.Ensured{Epoch: e.Epoch, Ask: e.Ask, Code: machine.Refused, Err: ErrRefused}
	}
	return nil
}

// Bar takes all rights to a znode away from everybody: it is not read, listed, checked or written,
// and no child of it is made or deleted but with its session. Until [World.Unbar].
func (w *World) Bar(path string) {
	w.log("somebody bars %s", path)
	if w.barred == nil {
		w.barred = make(map[string]bool)
	}
	w.barred[path] = true
}

// Unbar gives all rights back.
func (w *World) Unbar() { clear(w.barred) }

// denied is the answer to a request for one znode that nobody has a right to; nil if it is
// permitted.
func (w *World) denied(e machine.Effect) machine.Event {
	switch e := e.(type) {
	case machine.List:
		if w.barred[e.Path] {
			return refused(e)
		}
	case machine.Read:
		if w.barred[e.Path] {
			return refused(e)
		}
	case machine.Ensure:
		if w.barred[parent(e.Path)] && !w.Exists(e.Path) {
			return refused(e)
		}
	}
	return nil
}

// forbids tells whether nobody has the right to an operation.
func (w *World) forbids(op machine.Op) bool {
	if op.Do == machine.Create || op.Do == machine.Delete {
		return w.barred[parent(op.Path)]
	}
	return w.barred[op.Path]
}

// largest is how large a transaction may be that a server accepts.
const largest = 1<<20 - 1

// tooLarge tells whether a transaction is larger: each operation takes some bytes beside its path
// and data.
func tooLarge(ops []machine.Op) bool {
	size := 0
	for _, op := range ops {
		size += 48 + len(op.Path) + len(op.Data)
	}
	return size > largest
}
