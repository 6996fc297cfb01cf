package naming_test

// What the tests have in common: a bubble, and names in it.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

const root = "/names"

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *bubble.World)) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, f, bubble.Brisk()...)
}

func names(w *bubble.World) (*naming.Names, *session.Session) {
	w.Helper()
	s := w.Session(session.WithTimeout(6 * time.Second))
	n, err := naming.New(s, root)
	require.NoError(w, err)
	return n, s
}

// means is the value of a name, "" if it means nothing.
func means(w *bubble.World, n *naming.Names, name string) string {
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
