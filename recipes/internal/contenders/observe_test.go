package contenders_test

// A line that is observed.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/zktest"
)

func TestObserveFollowsTheLine(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		ctx, cancel := context.WithCancel(bubble.Minute(t))
		views := contenders.Observe(ctx, s, parent)
		require.Equal(t, contenders.View{Entries: []contenders.Entry{}}, normal(bubble.Get(t, views)), "there is not even a parent")
		other := t.Session()
		a := stand(t, other, "a")
		require.Equal(t, []string{a}, paths(bubble.Get(t, views).Entries))
		b := stand(t, other, "b")
		require.Equal(t, []string{a, b}, paths(bubble.Get(t, views).Entries))
		t.Server.ClearJournal()
		require.NoError(t, other.Delete(bubble.Minute(t), a, -1))
		v := bubble.Get(t, views)
		require.Equal(t, []string{b}, paths(v.Entries))
		require.Equal(t, "b", string(v.Entries[0].Data))
		for _, q := range t.Server.Journal() {
			require.NotEqual(t, zktest.OpGetData, q.Op, "what stands still is not read again")
		}
		require.NoError(t, other.DeleteAll(bubble.Minute(t), "/locks"))
		for len(v.Entries) > 0 {
			v = bubble.Get(t, views)
		}
		c := stand(t, other, "c")
		for len(v.Entries) == 0 {
			v = bubble.Get(t, views)
		}
		require.Equal(t, []string{c}, paths(v.Entries))
		cancel()
		synctest.Wait()
		for range views { // until it closes
		}
	})
}

// normal makes an empty line of a nil one.
func normal(v contenders.View) contenders.View {
	v.Entries = append([]contenders.Entry{}, v.Entries...)
	return v
}

func TestObserveTellsStaleness(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		a := stand(t, other, "a")
		views := contenders.Observe(context.WithoutCancel(bubble.Minute(t)), s, parent)
		require.Equal(t, []string{a}, paths(bubble.Get(t, views).Entries))
		heal := t.Server.Partition(s.Status().SessionID)
		v := bubble.Get(t, views)
		require.True(t, v.Stale)
		require.Equal(t, []string{a}, paths(v.Entries))
		t.Server.Expire(s.Status().SessionID)
		b := stand(t, other, "b")
		<-time.After(10 * time.Minute)
		heal()
		for v.Stale {
			v = bubble.Get(t, views)
		}
		require.Equal(t, []string{a, b}, paths(v.Entries))
		require.NoError(t, s.Close(bubble.Minute(t)))
		for range views { // until it closes
		}
	})
}

// A reading that fails is done again, with pauses, and the line is seen in the end.
func TestObserveTriesAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := stand(t, s, "a")
		tries := 0
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == a {
				if tries++; tries < 8 {
					return zktest.Fail(zktest.ErrBadArguments)
				}
			}
			return zktest.Pass
		})()
		views := contenders.Observe(bubble.Minute(t), s, parent)
		require.Equal(t, []string{a}, paths(bubble.Get(t, views).Entries))
		require.Equal(t, 8, tries)
	})
}
