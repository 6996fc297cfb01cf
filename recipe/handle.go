package recipe

import (
	"context"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Handle ends a handle that has nothing of its own in ZooKeeper: by its Close, or with its session.
type Handle struct {
	session *session.Session // nil: it ends by Close alone
	err     error
	end     notify.End
	acl     []session.ACL // of what its calls make; nil: the session's
	follows sync.Once     // the session's end, from the first call of Done or Err on

	life  context.Context // of the calls and observers
	close context.CancelCauseFunc
}

// NewHandle makes a Handle. kind and path are those of its error. acl is that of the znodes that
// are made within it; without one, the session's.
func NewHandle(s *session.Session, kind, path string, acl ...session.ACL) *Handle {
	h := &Handle{session: s, acl: acl, err: Failed(s, kind, path, session.ErrClosed)}
	h.life, h.close = context.WithCancelCause(context.Background()) // Close ends it
	return h
}

// Close ends the contexts of [Handle.Within]; false if the handle had ended before.
func (h *Handle) Close() (first bool) {
	h.close(h.err)
	return h.end.Set(h.err)
}

// Done closes when the handle has ended: by Close, or with its session.
func (h *Handle) Done() <-chan struct{} {
	h.follow()
	return h.end.Done()
}

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (h *Handle) Err() error {
	h.follow()
	return h.end.Err()
}

func (h *Handle) follow() {
	if h.session == nil {
		return
	}
	if h.session.Err() != nil {
		h.Close()
		return
	}
	h.follows.Do(func() {
		go func() { // ends with the handle, or with its session
			select {
			case <-h.session.Done():
				h.Close()
			case <-h.end.Done():
			}
		}()
	})
}

// Within returns a context that ends with ctx, or with the handle and its Err. The caller calls the
// function when it needs the context no more.
func (h *Handle) Within(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(znode.Making(ctx, h.acl))
	if h.life.Err() != nil {
		cancel(h.err)
	}
	stop := context.AfterFunc(h.life, func() { cancel(h.err) })
	return inner, func() {
		stop()
		cancel(nil)
	}
}
