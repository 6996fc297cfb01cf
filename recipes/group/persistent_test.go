package group_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
)

// Another client puts a znode that no session owns into a member's place: the membership waits for
// it to go, and registers again.
func TestAZnodeThatNoSessionOwnsIsWaitedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		here, other := w.Host("here"), w.Host("other")
		m := w.join(here, "a", "x")
		synctest.Wait()
		_, err := other.Multi(w.Context(), session.DeleteOp(path+"/a", -1), session.CreateOp(path+"/a", []byte("by hand")))
		require.NoError(w, err)
		time.Sleep(time.Minute)
		require.NoError(w, m.Err())
		require.NoError(w, other.Delete(w.Context(), path+"/a", -1))
		time.Sleep(time.Second)
		require.Equal(w, "a=x", w.members(other))
		_, err = other.Create(w.Context(), path+"/b", nil)
		require.NoError(w, err)
		second, err := w.group(here).Join(group.Member{ID: "b", Data: []byte("y")})
		require.NoError(w, err)
		time.Sleep(time.Minute)
		require.NoError(w, second.Err())
		require.NoError(w, other.Delete(w.Context(), path+"/b", -1))
		time.Sleep(time.Second)
		require.Equal(w, "a=x b=y", w.members(other))
	})
}
