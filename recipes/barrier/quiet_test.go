package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// proofs counts what is asked for as a sign of life: syncs, and transactions that only check.
func (w *world) proofs() (syncs, checks int) {
	for _, r := range w.Server.Journal() {
		switch {
		case r.Op == zktest.OpSync:
			syncs++
		case r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op == zktest.OpCheck:
			checks++
		}
	}
	return syncs, checks
}

// Who waits at a double barrier asks for no signs of life. When it opens, each that waited for long
// asks for one, and has its passage.
func TestWhoWaitsAtADoubleBarrierSendsNoSyncs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		syncs, checks := w.proofs()
		require.Zero(w, syncs+checks)
		gather(w, team.doubles...)
		synctest.Wait()
		_, checks = w.proofs()
		require.Equal(w, 2, checks, "one for each of the two that have waited")
	})
}

// A party waits on a leader that stands still while the last one arrives, and is deposed; the new
// leader ends its session, and wakes. It must not be inside by the old tree, with nobody knowing of
// it.
func TestADeposedLeaderThatWakesLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		inBubble(t, func(w *world) {
			on := func(name string, server int) *barrier.Double {
				machine := w.Server.Host(name)
				s, err := session.Open(w.Context(), w.Server.Hosts()[server:server+1], session.WithDialer(machine.Dialer()), session.WithTimeout(6*time.Second))
				require.NoError(w, err)
				w.Cleanup(func() { _ = s.Close(bubble.Minute(w)) })
				return w.double(&bubble.Host{Session: s, Machine: machine}, 2, barrier.WithID(name))
			}
			waiting, last := on("waiting", 0), on("last", 1)
			waiting.Arrive()
			time.Sleep(time.Minute)
			w.Server.ClearJournal()
			cut := w.Server.Host("waiting").PartitionOneWay(zktest.FromServer)
			last.Arrive()
			bubble.Within(w, time.Second, last.Entered())
			w.Server.Depose(0)
			cut()
			time.Sleep(12*time.Second + time.Duration(seed)*300*time.Millisecond)
			w.Server.Continue(0)
			for range 20 {
				time.Sleep(100 * time.Millisecond)
				bubble.Never(w, waiting.Entered(), "let in by a leader that was deposed, in a session that is over")
			}
		}, zktest.WithServers(3), zktest.WithTick(2*time.Second), zktest.WithSeed(seed+1))
	}
}
