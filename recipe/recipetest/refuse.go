package recipetest

import (
	"errors"

	"github.com/troupe-go/troupe/recipe"
)

// ErrRefused is what [Actor.Refuse] answers with.
var ErrRefused = errors.New("not permitted")

// Refuse has the oldest request under way that which picks refused instead of carried out, as if a
// right had been taken away for a moment; false if there is none. It is for [recipe.List],
// [recipe.Read], [recipe.Transact] and [recipe.Ensure].
func (a *Actor) Refuse(which func(recipe.Effect) bool) bool {
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
		a.world.log("%s is refused %s", a.Name, Format(r.effect))
		a.post(refusal, r.epoch, r)
		return true
	}
	return false
}

// refused is the answer; nil to what is never refused.
func refused(e recipe.Effect) recipe.Event {
	switch e := e.(type) {
	case recipe.List:
		return recipe.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: recipe.Refused, Err: ErrRefused}
	case recipe.Read:
		return recipe.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: recipe.Refused, Err: ErrRefused}
	case recipe.Transact:
		return recipe.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: recipe.Refused, Failed: -1, Err: ErrRefused}
	case recipe.Ensure:
		return recipe.Ensured{Epoch: e.Epoch, Ask: e.Ask, Code: recipe.Refused, Err: ErrRefused}
	}
	return nil
}
