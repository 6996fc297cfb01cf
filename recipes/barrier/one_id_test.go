package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A process of an id waits while another one is inside, even if the next round could open without
// that one: until the other has left, or died.
func TestWhoseIDIsInsideWaits(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		inBubble(t, func(w *world) {
			team := w.team(2)
			passages := team.enter(w)
			require.NoError(w, team.doubles[1].Close(w.Context())) // p1 is started anew, and does not wait for p0
			next := []*barrier.Double{w.double(w.Host("new0"), 2, barrier.WithID("p0")), w.double(w.Host("new1"), 2, barrier.WithID("p1"))}
			next[0].Arrive()
			next[1].Arrive()
			time.Sleep(time.Minute)
			bubble.Never(w, next[0].Entered(), "p0 is inside")
			require.NoError(w, passages[0].Err())
			if dies {
				team.hosts[0].Machine.Partition()
			} else {
				passages[0].Depart()
			}
			leave(w, gather(w, next...)...)
		})
	}
}

// A new process that may not read the round which another one of its id is inside is told so: it
// cannot know that nobody is in there, and enters no other round.
func TestAReadOfAnOlderRoundIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		passages := w.team(1).enter(w)
		h := w.Host("new")
		id := h.Status().SessionID
		d := w.double(h, 1, barrier.WithID("p0"))
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpGetData && r.Path == path+"/round-0000000001" {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		})()
		require.ErrorIs(w, bubble.Within(w, time.Minute, w.asks(d)), session.ErrNoAuth)
		require.NoError(w, passages[0].Err())
	})
}

// A deployment starts a new process of each id, one after the other, in the middle of a round, and
// stops the old one when it has left that. No round is broken, and nobody is refused.
func TestARollingDeployment(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		for i := range team.doubles {
			passages := team.enter(w)
			replacement := w.double(w.Host(fmt.Sprint("new", i)), 3, barrier.WithID(fmt.Sprint("p", i)))
			replacement.Arrive()
			bubble.Never(w, replacement.Entered(), "the old process is inside")
			leave(w, passages...)
			require.NoError(w, team.doubles[i].Close(w.Context()))
			team.doubles[i] = replacement
		}
		leave(w, team.enter(w)...)
	})
}
