package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest"
)

// asked counts what a session has asked for since the journal was cleared, but for pings: syncs,
// transactions that only check, and the rest.
func (w *world) asked(h *bubble.Host) (syncs, checks, others int) {
	for _, r := range w.Server.Journal() {
		switch {
		case r.SessionID != h.Status().SessionID || r.Op == zktest.OpPing || r.Op == zktest.OpConnect:
		case r.Op == zktest.OpSync:
			syncs++
		case r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op == zktest.OpCheck:
			checks++
		default:
			others++
		}
	}
	return syncs, checks, others
}

// Who holds and who is next keep the trust that they need at once. The third in line, and all
// behind, ask for nothing.
func TestOnlyTheHolderAndTheNextInLineAskForSignsOfLife(t *testing.T) {
	inBubble(t, func(w *world) {
		var hosts []*bubble.Host
		var locks []*lock.Lock
		for _, name := range []string{"holder", "next", "third", "fourth", "fifth"} {
			h := w.Host(name)
			hosts, locks = append(hosts, h), append(locks, w.queued(w.lock(h)))
		}
		grant := bubble.Within(w, time.Second, locks[0].Acquired())
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for i, h := range hosts {
			syncs, checks, others := w.asked(h)
			require.Zero(w, checks, i)
			require.Zero(w, others, i)
			if i < 2 {
				require.InDelta(w, 600, syncs, 5, "one a second, a sixth of the timeout")
			} else {
				require.Zero(w, syncs, "number %d in line", i+1)
			}
		}

		w.Server.ClearJournal()
		require.NoError(w, grant.Release(w.Context()))
		second := bubble.Within(w, time.Second, locks[1].Acquired())
		synctest.Wait()
		_, checks, others := w.asked(hosts[1])
		require.Zero(w, checks, "who was next is granted without another trip")
		require.Zero(w, others)

		w.Server.ClearJournal()
		require.NoError(w, second.Release(w.Context()))
		bubble.Within(w, time.Second, locks[2].Acquired())
		synctest.Wait()
		_, checks, others = w.asked(hosts[2])
		require.Equal(w, 1, checks, "a sign of life from a quorum, beside the look at the line")
		require.Equal(w, 1, others, "that look")
	})
}

// An ordinary possession costs what it did: the create is a write, and proves all that is needed.
func TestAnUncontendedLockCostsNoProof(t *testing.T) {
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.lock(h)
		require.NoError(w, w.held(l).Release(w.Context())) // the parent is made
		for range 5 {
			time.Sleep(time.Hour)
			w.Server.ClearJournal()
			require.NoError(w, w.held(l).Release(w.Context()))
			synctest.Wait()
			syncs, checks, _ := w.asked(h)
			require.Zero(w, syncs+checks)
		}
	})
}
