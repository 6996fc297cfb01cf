package group_test

// What the tests have in common: a bubble with groups in it. On servers that die, groups are a
// workload of test/chaos.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/groups/workers"

// world is a bubble with groups in it.
type world struct{ *bubble.World }

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w}) }, bubble.Brisk(opts...)...)
}

func (w *world) group(h *bubble.Host) *group.Group {
	w.Helper()
	g, err := group.New(h.Session, path)
	require.NoError(w, err)
	return g
}

func (w *world) join(h *bubble.Host, id, data string) *group.Membership {
	w.Helper()
	m, err := w.group(h).Join(group.Member{ID: id, Data: []byte(data)})
	require.NoError(w, err)
	return m
}

// ids are those of a view with their data, as "a=x b=y".
func ids(v group.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.ID+"="+string(m.Data))
	}
	return strings.Join(all, " ")
}

func (w *world) members(h *bubble.Host) string {
	w.Helper()
	v, err := w.group(h).Members(w.Context())
	require.NoError(w, err)
	return ids(v)
}
