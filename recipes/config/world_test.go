package config_test

// What the tests have in common: a bubble, a cell of limits in it, and ways to change them.

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/app/limits"

type limits struct {
	Rate int
	Name string `json:",omitempty" yaml:",omitempty"`
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *bubble.World)) {
	t.Helper()
	t.Parallel()
	inBubbleHere(t, f)
}

// inBubbleHere is inBubble for a test that has several, one after the other.
func inBubbleHere(t *testing.T, f func(w *bubble.World)) {
	t.Helper()
	bubble.Run(t, f, bubble.Brisk()...)
}

func open[T any](w *bubble.World, s *session.Session, codec config.Codec[T]) *config.Cell[T] {
	w.Helper()
	c, err := config.Open(w.Context(), s, path, codec)
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, c.Close(w.Context())) })
	return c
}

// put writes raw data, as somebody without this package.
func put(w *bubble.World, s *session.Session, data string) {
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
