package line_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestObserveFollowsTheLine(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server, s *session.Session) {
		ctx, cancel := context.WithCancel(patience(t))
		views := line.Observe(ctx, s, parent)
		require.Equal(t, line.View{Entries: []line.Entry{}}, normal(get(t, views)), "there is not even a parent")
		other := connected(t, z)
		a := stand(t, other, "a")
		require.Equal(t, []string{a}, paths(get(t, views).Entries))
		b := stand(t, other, "b")
		require.Equal(t, []string{a, b}, paths(get(t, views).Entries))
		z.ClearJournal()
		require.NoError(t, other.Delete(patience(t), a, -1))
		v := get(t, views)
		require.Equal(t, []string{b}, paths(v.Entries))
		require.Equal(t, "b", string(v.Entries[0].Data))
		for _, q := range z.Journal() {
			require.NotEqual(t, zktest.OpGetData, q.Op, "what stands still is not read again")
		}
		require.NoError(t, other.DeleteAll(patience(t), "/locks"))
		for len(v.Entries) > 0 {
			v = get(t, views)
		}
		c := stand(t, other, "c")
		for len(v.Entries) == 0 {
			v = get(t, views)
		}
		require.Equal(t, []string{c}, paths(v.Entries))
		cancel()
		synctest.Wait()
		for range views { // until it closes
		}
	})
}

// normal makes an empty line of a nil one.
func normal(v line.View) line.View {
	v.Entries = append([]line.Entry{}, v.Entries...)
	return v
}

func TestObserveTellsStaleness(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server, s *session.Session) {
		other := connected(t, z)
		a := stand(t, other, "a")
		views := line.Observe(context.WithoutCancel(patience(t)), s, parent)
		require.Equal(t, []string{a}, paths(get(t, views).Entries))
		heal := z.Partition(s.Status().SessionID)
		v := get(t, views)
		require.True(t, v.Stale)
		require.Equal(t, []string{a}, paths(v.Entries))
		z.Expire(s.Status().SessionID)
		b := stand(t, other, "b")
		<-time.After(10 * time.Minute)
		heal()
		for v.Stale {
			v = get(t, views)
		}
		require.Equal(t, []string{a, b}, paths(v.Entries))
		require.NoError(t, s.Close(patience(t)))
		for range views { // until it closes
		}
	})
}

// A reading that fails is done again, with pauses, and the line is seen in the end.
func TestObserveTriesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server, s *session.Session) {
		a := stand(t, s, "a")
		tries := 0
		defer z.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == a {
				if tries++; tries < 8 {
					return zktest.Fail(zktest.ErrBadArguments)
				}
			}
			return zktest.Pass
		})()
		views := line.Observe(patience(t), s, parent)
		require.Equal(t, []string{a}, paths(get(t, views).Entries))
		require.Equal(t, 8, tries)
	})
}
