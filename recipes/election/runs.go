package election

import (
	"context"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
)

// runs are the calls of Run in progress, so that Close can cancel their functions' contexts and
// wait for them before anything is deleted.
type runs struct {
	mu     sync.Mutex
	active map[*notify.Latch]context.CancelCauseFunc // by the latch that closes when the call is over
	cause  error                                     // set once closed
	idle   notify.Latch                              // closes when closed and no call is in progress
}

// enter begins a call: its context ends with ctx and with close.
func (r *runs) enter(ctx context.Context) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause != nil {
		return nil, nil, r.cause
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := new(notify.Latch)
	r.active[over] = cancel
	return ctx, func() { r.leave(over); cancel(nil) }, nil
}

func (r *runs) leave(over *notify.Latch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, over)
	over.Close()
	if r.cause != nil && len(r.active) == 0 {
		r.idle.Close()
	}
}

// close cancels the contexts of all calls with the cause, and those of later calls at once. The
// channel that it returns closes when all calls have ended.
func (r *runs) close(cause error) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = cause
	}
	for _, cancel := range r.active {
		cancel(r.cause)
	}
	if len(r.active) == 0 {
		r.idle.Close()
	}
	return r.idle.C()
}
