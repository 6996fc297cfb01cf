package actors

import "context"

// Ref is how an actor is reached. The zero value reaches nobody.
type Ref[M any] struct{ at *node }

// Tell puts a message into the actor's mailbox. It never waits. False means that the actor is gone, or being stopped, and will not receive it; true
// that it will, unless it is stopped first.
func (r Ref[M]) Tell(m M) bool {
	if r.at == nil || r.at.stopped() {
		return false
	}
	c := r.at.cell
	c.mu.Lock()
	pid := c.pid
	c.mu.Unlock()
	r.at.system.proto.Root.Send(pid, letter[M]{m})
	return true
}

// Stop ends the actor after everything below it. It does not wait.
func (r Ref[M]) Stop() {
	if r.at != nil {
		r.at.stop()
	}
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done closes when the actor has ended and its Spec.Ended has returned.
func (r Ref[M]) Done() <-chan struct{} {
	if r.at == nil {
		return closed
	}
	return r.at.done
}

// Ask tells a message that ask builds around a way to reply, and waits for the answer, ctx, or the actor's end (ErrStopped). An incarnation that panics
// before it has answered is asked no more, but the next one is: so the message may be received more than once.
func Ask[M, A any](ctx context.Context, r Ref[M], ask func(reply func(A)) M) (A, error) {
	var none A
	for {
		answer := make(chan A, 1)
		if r.at == nil {
			return none, ErrStopped
		}
		over := r.at.cell.incarnationOver()
		if !r.Tell(ask(func(a A) {
			select {
			case answer <- a:
			default: // answered before
			}
		})) {
			return none, ErrStopped
		}
		select {
		case a := <-answer:
			return a, nil
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-over:
		case <-r.at.done:
		}
		select {
		case a := <-answer: // it was given before the end
			return a, nil
		default:
		}
	}
}

// incarnationOver returns what closes when the incarnation that a message told now may be received by has ended.
func (c *cell) incarnationOver() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}
