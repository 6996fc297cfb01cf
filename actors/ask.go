package actors

import (
	"context"
	"sync/atomic"
)

// question is a message that remembers which incarnation received it.
type question[M any] struct {
	message M
	taken   *atomic.Int64 // the number of the incarnation that received it; 0 before
}

// IgnoreDeadLetterLogging is for the library.
func (question[M]) IgnoreDeadLetterLogging() {}

// Ask calls ask with a reply function, sends the resulting message to the actor, and waits for the
// reply, for ctx (its cause is returned), or for the actor's end ([ErrStopped]). The reply may be
// given at once or later, from any goroutine; the first one counts, and it never blocks.
//
// If the incarnation that received the message ends without a reply, ask is called again and its
// message sent to the next incarnation. A message that is still in the mailbox then is not sent
// twice.
//
// An actor that calls Ask receives no messages until it has the reply, so it deadlocks if it asks
// itself.
func Ask[M, A any](ctx context.Context, r Ref[M], ask func(reply func(A)) M) (A, error) {
	for {
		if err := context.Cause(ctx); err != nil {
			var none A
			return none, err
		}
		answer := make(chan A, 1)
		q := question[M]{taken: new(atomic.Int64)}
		q.message = ask(func(a A) {
			select {
			case answer <- a:
			default: // one has been given
			}
		})
		if !r.send(q) {
			var none A
			return none, ErrStopped
		}
		if a, lost, err := await(ctx, r.at, answer, q.taken); !lost {
			return a, err
		}
	}
}

// await waits for the reply to one message. lost: the incarnation that received it has ended
// without a reply.
func await[A any](ctx context.Context, at *node, answer <-chan A, taken *atomic.Int64) (a A, lost bool, err error) {
	for {
		over, died := at.cell.life()
		select {
		case a = <-answer: // before the question who lives: it may have been the last thing that an incarnation did
			return a, false, nil
		default:
		}
		if by := int(taken.Load()); by != 0 && by <= died {
			return a, true, nil
		}
		select {
		case a = <-answer:
			return a, false, nil
		case <-ctx.Done():
			return a, false, context.Cause(ctx)
		case <-over: // see who it was
		case <-at.done:
			select {
			case a = <-answer:
				return a, false, nil
			default:
				return a, false, ErrStopped
			}
		}
	}
}
