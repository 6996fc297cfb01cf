package recipe

import (
	"context"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// HeldIn tells whether ctx descends from the context of a possession in this line: whoever waits in
// it for another would wait for himself.
func (i *Claims[P]) HeldIn(ctx context.Context) bool { return i.HoldIn(ctx) != nil }

// HoldIn is the innermost possession in this line whose context ctx descends from; nil if there is
// none that stands.
func (i *Claims[P]) HoldIn(ctx context.Context) *session.Hold {
	return innermost(ctx, i.claims.cfg.Session, i.claims.cfg.Path)
}

func innermost(ctx context.Context, s *session.Session, line string) *session.Hold {
	for h := range session.HoldsFrom(ctx) {
		if h.Err() == nil && within(h, s.Path(line)) && seam.Reaches.(func(a, b *session.Session) bool)(h.Session(), s) {
			return h
		}
	}
	return nil
}

// within: the possession is of a znode in that line, or of the one znode there.
func within(h *session.Hold, line string) bool {
	parent, _ := znode.Split(h.Path())
	return h.Session().Path(parent) == line || h.Session().Path(h.Path()) == line
}

// outlasting is the context to wait in for the confirmation of a possession's end. One that ends
// with the possession would end the wait before it has begun; then the session's timeout bounds it,
// since the znode is gone by then in any case.
func outlasting(ctx context.Context, s *session.Session, line string) (context.Context, context.CancelFunc) {
	if innermost(ctx, s, line) == nil {
		return ctx, func() {}
	}
	return Afterwards(ctx, s)
}

// Afterwards is the context to give up a possession in when the work under it is done, whether or
// not the work's own context has ended: the session's timeout bounds it.
func Afterwards(ctx context.Context, s *session.Session) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.Status().Timeout)
}
