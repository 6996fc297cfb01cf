package session

import (
	"context"
	"errors"
	"iter"
	"slices"
)

type holdsKey struct{}

// held is a list of holds that a context stands under, innermost first.
type held struct {
	hold  *Hold
	outer *held
}

// HoldsFrom are the holds that a context stands under: those whose Context it descends from, and
// those that it was put under with [Within], innermost first. Ended ones are among them. A lock
// refuses a wait that would wait for one of them.
func HoldsFrom(ctx context.Context) iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		at, _ := ctx.Value(holdsKey{}).(*held)
		for ; at != nil; at = at.outer {
			if !yield(at.hold) {
				return
			}
		}
	}
}

// under puts a hold in front of a list: of a whole, its parts.
func (h *Hold) under(outer *held) *held {
	if h.parts == nil {
		return &held{hold: h, outer: outer}
	}
	for _, p := range slices.Backward(h.parts) {
		outer = &held{hold: p, outer: outer}
	}
	return outer
}

// Within puts a context under a possession: what is returned ends with ctx or with the possession,
// whichever is first, with the cause of that one, and [HoldsFrom] finds its hold beside those that
// ctx stood under. The function releases what this takes; the context is cancelled by it. For want
// of a possession it is cancelled already.
func Within(ctx context.Context, p Possession) (context.Context, context.CancelFunc) {
	h := holdOf(p)
	if h == nil {
		inner, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("session.Within: p: no possession"))
		return inner, func() { cancel(nil) }
	}
	outer, _ := ctx.Value(holdsKey{}).(*held)
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, holdsKey{}, h.under(outer)))
	stop := context.AfterFunc(h.ctx, func() { cancel(h.Err()) })
	return inner, func() {
		stop()
		cancel(nil)
	}
}
