package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest"
)

// Two parties. a is slow by two seconds, between its listing of the rounds and its look at the
// newest; meanwhile that round and the next are decided, by breaks or by two others, and deleted. a
// must not create a round again that has come and gone: all would wait for ever. No znode is
// touched by hand, and the only session that ends is that of b's former process.
func TestASlowPartyMakesNoRoundAnew(t *testing.T) {
	t.Parallel()
	for _, breaks := range []bool{true, false} {
		inBubble(t, func(w *world) {
			team, other := w.team(2), w.double(w.Host("other"), 2)
			a, b := team.doubles[0], team.doubles[1]
			round := func() {
				if !breaks {
					leave(w, gather(w, b, other)...)
					return
				}
				waits := w.asks(b)
				synctest.Wait()
				require.NoError(w, b.Break(w.Context()))
				require.ErrorIs(w, <-waits, barrier.ErrBroken)
				synctest.Wait()
			}
			dead := w.Host("dead") // a former process of b waits in the first round, and dies there
			_ = w.asks(w.double(dead, 2, barrier.WithID("p1")))
			synctest.Wait()
			dead.Machine.Partition()

			id := team.hosts[0].Status().SessionID
			multis, reads := 0, 0
			defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				switch {
				case r.SessionID != id:
				case r.Op == zktest.OpMulti && multis == 0: // its arrival: it meets a broken round
					multis++
					return zktest.Delay(time.Second)
				case r.Op == zktest.OpGetData && multis > 0 && reads == 0:
					reads++
					return zktest.Delay(2 * time.Second)
				}
				return zktest.Pass
			})()
			entersA := w.asks(a)
			time.Sleep(500 * time.Millisecond)
			require.NoError(w, b.Break(w.Context())) // the round of the dead, which a is on its way to
			time.Sleep(time.Second)                  // a has met it, and listed the rounds
			round()
			round()
			entersB := w.asks(b)
			require.NoError(w, bubble.Within(w, time.Minute, entersA))
			require.NoError(w, bubble.Within(w, time.Minute, entersB))
		})
	}
}
