package barrier_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest"
)

// A process is started anew while its former life's znode still stands, and arrives between the
// look at the parties and the release: the place is its own all the same, and nobody tells it that
// it was replaced.
func TestAProcessStartedAnewDuringTheRelease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		synctest.Wait()
		team.hosts[0].Machine.Partition()
		again := w.Host("again")
		anew := w.double(again, 3, barrier.WithID("p0"))
		id := again.Status().SessionID
		releasing := make(chan struct{})
		var once sync.Once
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			verdict := zktest.Pass
			switch {
			case r.SessionID == id && r.Op == zktest.OpGetData: // it has arrived, and looks at the round
				verdict = zktest.Delay(2 * time.Second)
			case releases(r):
				once.Do(func() { // on the first try alone
					close(releasing)
					verdict = zktest.Delay(time.Second)
				})
			}
			return verdict
		})()
		team.doubles[2].Arrive()
		bubble.Within(w, time.Second, releasing)
		passages := gather(w, anew, team.doubles[1], team.doubles[2])
		require.Equal(w, []string{"p0", "p1", "p2"}, passages[0].Members())
		leave(w, passages...)
	})
}

// A process dies while its arrival is on its way to a server, and that is carried out later than
// its successor's. Nothing in ZooKeeper tells it from a live process that came later: the successor
// gets ErrReplaced. It asks again, and is in as soon as the session of the dead has ended.
func TestAnArrivalOfTheDeadIsCarriedOutLate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		dying, h0 := w.Host("dying"), w.Host("h0")
		dead, successor, other := w.double(dying, 2, barrier.WithID("p0")), w.double(h0, 2, barrier.WithID("p0")), w.double(w.Host("h1"), 2)
		id := dying.Status().SessionID
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && arrives(r) {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})()
		dead.Arrive()
		synctest.Wait()
		dying.Machine.Partition()
		answer := w.asks(successor)
		time.Sleep(2 * time.Second)
		require.Equal(w, 2, w.standing())
		other.Arrive()
		require.ErrorIs(w, bubble.Within(w, time.Second, answer), barrier.ErrReplaced)
		passage := bubble.Within(w, time.Second, other.Entered())
		successor.Arrive()
		passage.Depart()
		bubble.Never(w, passage.Left(), "the session of the dead has not ended")
		bubble.Within(w, time.Minute, passage.Left())
		leave(w, gather(w, successor, other)...)
	})
}

// arrives tells whether a request is an arrival.
func arrives(r *zktest.Request) bool { return r.Op == zktest.OpMulti && len(r.Ops) == 3 }

// releases tells whether a request is the transaction that releases a round.
func releases(r *zktest.Request) bool {
	for i := range r.Ops {
		if strings.HasPrefix(string(r.Ops[i].Data), "released") {
			return true
		}
	}
	return false
}
