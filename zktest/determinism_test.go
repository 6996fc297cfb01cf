package zktest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// A session of 30 seconds that falls silent expires at its instant, not a nanosecond before, and
// the test takes no time.
func TestThirtySecondsPassAtOnce(t *testing.T) {
	t.Parallel()
	began := time.Now()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 30*time.Second)
		c.must(t, create("/present", 1))
		heard := time.Now()
		info, _ := s.Session(c.session)
		require.Equal(t, 30*time.Second, info.Expires.Sub(heard)-2*time.Second, "the tick behind 30 seconds")
		time.Sleep(time.Until(info.Expires) - 1)
		synctest.Wait()
		_, alive := s.Session(c.session)
		require.True(t, alive)
		time.Sleep(1)
		synctest.Wait()
		_, alive = s.Session(c.session)
		require.False(t, alive)
		require.NotContains(t, s.Dump(), "/present")
	})
	require.Less(t, time.Since(began), 5*time.Second, "of real time, on however busy a machine; it is half a millisecond on an idle one")
}

// The same requests get the same replies, events and zxids, to the letter: also those that come of
// expiries and of containers that go.
func TestTheSameRequestsHaveTheSameHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		first := history(t, seed)
		require.Greater(t, strings.Count(first, "isEvent:true"), 30, "a history without events would show little")
		require.Greater(t, strings.Count(first, "session"), 5)
		require.Equal(t, first, history(t, seed))
	}
}

func gone(s *zktest.Server, c *raw) bool {
	_, alive := s.Session(c.session)
	return !alive
}

func history(t *testing.T, seed uint64) (all string) {
	t.Helper()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		d := &differ{t: t, rnd: rand.New(rand.NewPCG(seed, 2))}
		var b strings.Builder
		clients := make([]*raw, 4)
		for range 2000 {
			i := d.rnd.IntN(len(clients))
			if c := clients[i]; c == nil || gone(s, c) {
				clients[i] = client(t, s, 10*time.Second)
				fmt.Fprintf(&b, "session %x\n", clients[i].session)
			}
			q := []jute.Request{d.request()}
			for q[0].Op == jute.OpCheck || q[0].Op == jute.OpDeleteContainer { // later versions hang up on them
				q[0] = d.request()
			}
			require.NoError(t, clients[i].post(q))
			got, err := clients[i].collect(q)
			fmt.Fprintf(&b, "%d: %+v %v\n", i, got, err)
			if d.rnd.IntN(10) == 0 {
				time.Sleep(time.Duration(d.rnd.IntN(4)) * time.Second)
			}
			synctest.Wait()
		}
		b.WriteString(s.Dump())
		all = b.String()
	}, zktest.WithContainerCheck(10*time.Second), zktest.WithVersion(zktest.Versions()[seed%uint64(len(zktest.Versions()))]))
	return all
}
