package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// I9: whoever waits for the confirmation of an end is not told of one because somebody else has
// lost patience, and closed the lock or the session.
func TestAnEndThatNobodyConfirmedIsNotReportedAsOne(t *testing.T) {
	t.Parallel()
	ends := map[string]func(l *lock.Lock, g *lock.Grant) error{
		"release of a grant":  func(_ *lock.Lock, g *lock.Grant) error { return g.Release(context.Background()) },
		"release of the lock": func(l *lock.Lock, _ *lock.Grant) error { return l.Release(context.Background()) },
		"close":               func(l *lock.Lock, _ *lock.Grant) error { return l.Close(context.Background()) },
	}
	others := map[string]func(ctx context.Context, h *bubble.Host, l *lock.Lock) error{
		"the lock":    func(ctx context.Context, _ *bubble.Host, l *lock.Lock) error { return l.Close(ctx) },
		"the session": func(ctx context.Context, h *bubble.Host, _ *lock.Lock) error { return h.Close(ctx) },
	}
	for name, end := range ends {
		for closed, by := range others {
			for _, layout := range []lock.Layout{lock.Troupe, lock.Simple} {
				t.Run(name+" while somebody closes "+closed+" "+layout.String(), func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(w *world) {
						h := w.Host("a")
						l := w.lock(h, lock.WithLayout(layout))
						g := w.granted(l)
						h.Machine.Partition()
						ended := make(chan error, 1)
						go func() { ended <- end(l, g) }()
						synctest.Wait()
						ctx, cancel := context.WithTimeout(w.Context(), time.Second)
						defer cancel()
						require.ErrorIs(w, by(ctx, h, l), context.DeadlineExceeded)
						require.ErrorIs(w, bubble.Within(w, time.Second, ended), session.ErrClosed)
						require.Contains(w, w.Server.Dump(), "ephemerals=["+g.Path()+"]", "it stands, and nobody knows")
						require.NoError(w, l.Close(w.Context()), "it is over")
					})
				})
			}
		}
	}
}
