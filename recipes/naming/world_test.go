package naming_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
)

const root = "/names"

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
