package config_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/app/limits"

type limits struct {
	Rate int
	Name string `json:",omitempty" yaml:",omitempty"`
}

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

func (w *world) session(host string) *session.Session {
	w.Helper()
	s, err := session.Open(w.Context(), w.server.Hosts(), session.WithDialer(w.server.Host(host).Dialer()), session.WithTimeout(6*time.Second))
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Close(ctx)
	})
	return s
}

func open[T any](w *world, s *session.Session, codec config.Codec[T]) *config.Cell[T] {
	w.Helper()
	c, err := config.Open(w.Context(), s, path, codec)
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, c.Close(w.Context())) })
	return c
}

// put writes raw data, as somebody without this package.
func put(w *world, s *session.Session, data string) {
	w.Helper()
	_, err := s.Set(w.Context(), path, []byte(data), -1)
	if err != nil {
		_, err = s.Create(w.Context(), path, []byte(data), session.Parents())
	}
	require.NoError(w, err)
	synctest.Wait()
}

func set(l limits) func(limits) (limits, error) {
	return func(limits) (limits, error) { return l, nil }
}

// increment is an update that tells whether it was lost or done twice.
func increment(l limits) (limits, error) {
	l.Rate++
	return l, nil
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
