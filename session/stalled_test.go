package session_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What was asked during a halt is answered behind it all at once, and then the server loses its
// leader, before it has passed on that it has heard of the session. So the answers prove nothing of
// what came after the halt began.
func TestAnswersBehindAHaltProveNoMoreThanBeforeIt(t *testing.T) {
	t.Parallel()
	const tick = 2 * time.Second
	for name, opt := range map[string][]session.Option{"tick known": {session.WithTick(tick)}, "tick not known": nil} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				rng := rand.New(rand.NewPCG(3, 7))
				rival := w.openAt(1)
				least := time.Hour
				for range 30 {
					least = min(least, w.loss(w.openAt(0, append(opt, session.WithTimeout(timeout))...), rival, rng, func(w *world, _ int64) func() {
						w.srv.Stop(0)
						time.Sleep(time.Duration(rng.Int64N(int64(timeout / 2))))
						w.srv.Continue(0)
						synctest.Wait()
						return w.srv.IsolateServer(0, 0)
					}))
				}
				w.Logf("done at least %v before the rival sees it", least)
				require.Positive(w, least)
			}, zktest.WithTick(tick), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithServers(2))
		})
	}
}
