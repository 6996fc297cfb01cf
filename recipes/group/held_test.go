package group_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/zktest"
)

// A new member whose data are on the way holds back no view of the others.
func TestAViewDoesNotWaitForANewMembersData(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		here, there := w.Host("here"), w.Host("there")
		w.join(there, "a", "")
		synctest.Wait()
		views := w.group(here).Observe(w.Context())
		require.Equal(w, "a=", ids(bubble.Within(w, time.Second, views)))
		reads, slow := here.Status().SessionID, 0
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == reads && r.Op == zktest.OpGetData && slices.Contains([]string{path + "/b", path + "/c"}, r.Path) && slow < 8 {
				slow++
				return zktest.Fail(zktest.ErrThrottled) // it is read again after a pause
			}
			return zktest.Pass
		})()
		w.join(there, "b", "")
		d := w.join(there, "d", "")
		synctest.Wait()
		require.Equal(w, "a= d=", ids(bubble.Within(w, time.Second, views)))
		require.NoError(w, d.Leave(w.Context()))
		require.Equal(w, "a=", ids(bubble.Within(w, time.Second, views)))
		w.join(there, "c", "")
		for ids(bubble.Within(w, time.Minute, views)) != "a= b= c=" {
		}
		require.Positive(w, slow)
	})
}

// The first view is whole: it has all who were there.
func TestTheFirstViewIsWhole(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		here, there := w.Host("here"), w.Host("there")
		for _, id := range []string{"a", "b", "c"} {
			w.join(there, id, "")
		}
		synctest.Wait()
		reads, slow := here.Status().SessionID, 0
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == reads && r.Op == zktest.OpGetData && r.Path == path+"/b" && slow < 2 {
				slow++
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		})()
		require.Equal(w, "a= b= c=", ids(bubble.Within(w, time.Minute, w.group(here).Observe(w.Context()))))
		require.Equal(w, 2, slow)
	})
}
