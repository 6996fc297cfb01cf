package recipetest

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// ErrRefused is what [Actor.Refuse] answers with.
var ErrRefused = errors.New("not permitted")

// Refuse has the oldest request under way that which picks refused instead of carried out, as if a
// right had been taken away for a moment; false if there is none. It is for [machine.List],
// [machine.Read], [machine.Look], with all its queries, [machine.Transact] and [machine.Ensure].
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
	case machine.Look:
		l := machine.Looked{Epoch: e.Epoch, Ask: e.Ask}
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
