package session

import (
	"context"
	"fmt"
	"slices"
)

// joinHolds is recipe.JoinHolds.
func joinHolds(parts []*Hold, ended func(cause error)) (joined *Hold, end func(cause error) bool) {
	first := parts[0]
	h := &Hold{
		session: first.session, client: first.client, epoch: first.epoch, path: first.path, token: first.token,
		parts: slices.Clone(parts), ended: ended,
	}
	// It is bounded by its parts, not by the context of whoever asked for it.
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(context.Background(), holdsKey{}, h.under(nil)))
	end = func(cause error) bool {
		if cause == ErrReleased {
			if lost := h.lostPart(); lost != nil && h.markOver(lost) {
				h.fallen()
			}
		}
		over := h.markOver(ending(cause))
		if over {
			h.fallen()
		}
		<-h.Done() // prompt: whoever was quicker is at it
		return over
	}
	for _, p := range parts {
		if err := p.bind(h); err != nil {
			if h.markOver(err) {
				h.fallen()
			}
			break
		}
	}
	return h, end
}

// ending is the Err of a hold that ends by a cause.
func ending(cause error) error {
	if cause == ErrReleased {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// bind makes a whole end with this part; the error is how the part ended if it is over already.
func (h *Hold) bind(joined *Hold) error {
	defer h.session.state.lock().unlock()
	if h.over.Load() {
		return h.reason
	}
	h.wholes = append(h.wholes, joined)
	return nil
}

// markOver makes a whole over; false if it was.
func (h *Hold) markOver(reason error) bool {
	if h.over.Swap(true) {
		return false
	}
	h.cancel(reason)
	return true
}

// fallen takes leave of the parts of a whole that is over, and tells. A part that is over as well
// keeps what it has: its end may be reading that.
func (h *Hold) fallen() {
	for _, p := range h.parts {
		g := p.session.state.lock()
		if !p.over.Load() {
			p.wholes = slices.DeleteFunc(p.wholes, func(w *Hold) bool { return w == h })
		}
		g.unlock()
	}
	h.ended(h.Err())
}

// lostPart is how the first part has ended that is over, or that the clocks say is.
func (h *Hold) lostPart() error {
	for _, p := range h.parts {
		if err := p.lost(); err != nil {
			return err
		}
	}
	return nil
}

// scattered: the parts belong to several sessions, so that no transaction can check them all.
func (h *Hold) scattered() bool {
	return slices.ContainsFunc(h.parts, func(p *Hold) bool { return p.session != h.session })
}
