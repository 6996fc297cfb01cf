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

// releases tells whether a request is the transaction that releases a round.
func releases(r *zktest.Request) bool {
	for i := range r.Ops {
		if strings.HasPrefix(string(r.Ops[i].Data), "released") {
			return true
		}
	}
	return false
}
