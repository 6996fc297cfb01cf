package group_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
)

func TestAThousandMembersThatCameAndWentLeaveNoWatch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, members := w.Host("observer"), w.Host("members")
		require.NoError(w, members.EnsurePath(w.Context(), path))
		ctx, cancel := context.WithCancel(w.Context())
		views := w.group(h).Observe(ctx)
		watches := func() int {
			synctest.Wait()
			info, found := w.Server.Session(h.Status().SessionID)
			require.True(w, found)
			return info.Watches
		}
		require.Equal(w, 1, watches(), "of the children")
		for round := range 10 {
			var all []string
			for i := range 100 {
				znode, err := members.Create(w.Context(), fmt.Sprintf("%s/%d-%d", path, round, i), nil, session.Ephemeral())
				require.NoError(w, err)
				all = append(all, znode)
			}
			time.Sleep(time.Second)
			require.Len(w, latest(w, views).Members, 100)
			require.Equal(w, 101, watches())
			for _, znode := range all {
				require.NoError(w, members.Delete(w.Context(), znode, -1))
			}
			time.Sleep(time.Second)
			require.Empty(w, latest(w, views).Members)
			require.Equal(w, 1, watches())
		}
		cancel()
		require.Zero(w, watches())
	})
}

// latest is the view that a subscription has now.
func latest(w *world, views <-chan group.View) group.View {
	w.Helper()
	synctest.Wait()
	select {
	case v, open := <-views:
		require.True(w, open)
		return v
	default:
		require.Fail(w, "no view")
		return group.View{}
	}
}
