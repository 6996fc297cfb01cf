package group_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A member whose znode this session may not read is in the views without its data, on each version,
// and holds back none. When it leaves it is in them no more.
func TestAMemberThatMayNotBeReadIsInTheFirstView(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				here := w.Host("here")
				there := w.Host("there", session.WithAuth("digest", []byte("bob:hunter2")), session.WithACL(session.AuthACL(session.PermAll)...))
				w.join(w.Host("open"), "a", "x")
				synctest.Wait()
				hidden := w.join(there, "b", "y")
				synctest.Wait()
				views := w.group(here).Observe(w.Context())
				first := bubble.Within(w, time.Second, views)
				require.Equal(w, "a=x b=", ids(first))
				require.True(w, !first.Members[0].Unread && first.Members[1].Unread && !first.Stale)
				require.Equal(w, group.Member{ID: "b", Unread: true}, first.Members[1])
				require.Equal(w, "a=x b=", w.members(here))
				require.Equal(w, "a=x b=y", w.members(there))
				require.NoError(w, hidden.Leave(w.Context()))
				require.Equal(w, "a=x", ids(bubble.Within(w, time.Minute, views)))
			}, zktest.WithVersion(version))
		})
	}
}
