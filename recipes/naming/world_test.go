package naming_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const root = "/names"

// world is a server in memory and virtual time.
type world struct {
	*testing.T
	server *zktest.Server
}

func inBubble(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Parallel()
	bubble(t, f)
}

func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(&world{t, zktest.Start(t, zktest.WithTick(500*time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute))})
	})
}

func (w *world) names() (*naming.Names, *session.Session) {
	w.Helper()
	s, err := session.Open(w.Context(), w.server.Hosts(), session.WithDialer(w.server.Dialer()), session.WithTimeout(6*time.Second))
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Close(ctx)
	})
	n, err := naming.New(s, root)
	require.NoError(w, err)
	return n, s
}

// means is the value of a name, "" if it means nothing.
func means(w *world, n *naming.Names, name string) string {
	w.Helper()
	b, err := n.Lookup(w.Context(), name)
	if err != nil {
		require.ErrorIs(w, err, naming.ErrNotBound)
		return ""
	}
	require.Equal(w, name, b.Name)
	require.True(w, b.Bound)
	return string(b.Value)
}

// within receives in at most d of virtual time.
func within[T any](w *world, d time.Duration, c <-chan T) T {
	w.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		w.Fatalf("nothing within %v\n%s", d, w.server.Dump())
		panic("unreachable")
	}
}

// drained receives whatever comes until the channel closes, which has to be soon.
func drained[T any](w *world, c <-chan T) {
	w.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		case <-limit:
			w.Fatalf("it has not closed\n%s", w.server.Dump())
		}
	}
}

// closed fails unless the channel has closed when everything has settled, and has nothing more to
// tell.
func closed[T any](w *world, c <-chan T) {
	w.Helper()
	synctest.Wait()
	select {
	case v, open := <-c:
		require.False(w, open, "%v", v)
	default:
		w.Fatal("it has not closed")
	}
}
