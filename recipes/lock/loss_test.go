package lock_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B05, B06: cut off silently at any of a thousand instants, the holder's Done closes before the
// next holder's grant is delivered. In each bubble first with a session that has just begun, and
// then with one that came after an expiry.
func TestB05_B06_PartitionEndsTheHoldBeforeTheNextIsGranted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(250) {
		rng := rand.New(rand.NewPCG(6, seed))
		inBubble(t, func(w *world) {
			ha := w.Host("a")
			a, b := w.lock(ha), w.lock(w.Host("b"))
			a.Acquire()
			var last int64
			for round := range 4 {
				g := bubble.Within(w, time.Minute, a.Acquired())
				require.Greater(w, g.Token(), last)
				b.Acquire()
				time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
				heal := ha.Machine.Partition()
				require.False(w, bubble.First(w, time.Minute, g.Done(), b.Acquired()), "seed %d, round %d: the next was granted while the hold stood: overlap", seed, round)
				lost := time.Now()
				require.False(w, g.Valid())
				require.ErrorIs(w, g.Err(), session.ErrUntrusted)
				next := bubble.Within(w, time.Minute, b.Acquired())
				require.Positive(w, time.Since(lost), "seed %d, round %d", seed, round)
				require.Greater(w, next.Token(), g.Token())
				last = next.Token()
				heal()
				require.NoError(w, b.Release(w.Context()))
			}
		})
	}
}

// The same with the server, at a hundred instants: it answers its client and has lost its leader.
func TestB44_AnIsolatedServerEndsTheHoldBeforeTheNextIsGranted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(44, seed))
		inBubble(t, func(w *world) {
			servers := w.Server.Hosts()
			a, b := w.lock(w.HostOn("a", servers[:1])), w.lock(w.HostOn("b", servers[1:]))
			a.Acquire()
			for round := range 4 {
				g := bubble.Within(w, time.Minute, a.Acquired())
				b.Acquire()
				time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
				heal := w.Server.Isolate()
				require.False(w, bubble.First(w, time.Minute, g.Done(), b.Acquired()), "seed %d, round %d: overlap", seed, round)
				bubble.Within(w, time.Minute, b.Acquired())
				heal()
				require.NoError(w, b.Release(w.Context()))
			}
		}, zktest.WithServers(2))
	}
}

// B01, B02, B15, B25: after an expiry the standing intent wins again, on a znode of the new epoch,
// without a call by the application.
func TestB01_B15_B25_ExpiryIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.lock(ha)
		a.Acquire()
		var last int64
		for epoch := uint64(1); epoch <= 5; epoch++ {
			g := bubble.Within(w, time.Minute, a.Acquired())
			require.Greater(w, g.Token(), last)
			last = g.Token()
			require.Equal(w, epoch, ha.Status().Epoch)
			require.Equal(w, ha.Status().SessionID, g.Sequencer().SessionID)
			w.Server.Expire(ha.Status().SessionID)
			bubble.Within(w, time.Minute, g.Done())
			require.ErrorIs(w, g.Err(), session.ErrLost)
			_, err := g.Commit(w.Context(), session.SetOp("/", nil, -1))
			require.ErrorIs(w, err, session.ErrLost)
		}
		bubble.Within(w, time.Minute, a.Acquired())
		require.Equal(w, 1, w.nodes())
	})
}

// A server that hands out another session id without a word ends the epoch all the same.
func TestASilentlyReplacedSessionEndsTheHold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.lock(ha)
		g := w.granted(a)
		w.Server.ExpireSilently(ha.Status().SessionID)
		bubble.Within(w, time.Minute, g.Done())
		next := bubble.Within(w, time.Minute, a.Acquired())
		require.Greater(w, next.Token(), g.Token())
		require.Equal(w, uint64(2), ha.Status().Epoch)
		require.Equal(w, 1, w.nodes())
	})
}

// B07, I5: a disconnection within the session costs neither the hold nor the place.
func TestB07_ADisconnectionCostsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb, hc := w.Host("a"), w.Host("b"), w.Host("c")
		a, b, c := w.lock(ha), w.lock(hb), w.lock(hc)
		g := w.held(a)
		w.queued(b)
		w.queued(c)
		before := w.Server.Dump()
		for _, h := range []*bubble.Host{ha, hb, hc} {
			w.Server.Disconnect(h.Status().SessionID)
		}
		time.Sleep(10 * time.Second)
		require.Equal(w, 3, w.nodes(), "before: %s", before)
		require.True(w, g.Valid())
		require.Equal(w, uint64(1), ha.Status().Epoch)
		require.NoError(w, g.Release(w.Context()))
		g = bubble.Within(w, time.Second, b.Acquired())
		bubble.Never(w, c.Acquired(), "out of order")
		require.NoError(w, g.Release(w.Context()))
	})
}

// A single server that is restarted within the session timeout ends no epoch, and every waiter
// keeps its place.
func TestARestartOfTheServerEndsNoEpoch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c")}
		var locks []*lock.Lock
		for _, h := range hosts {
			locks = append(locks, w.queued(w.lock(h)))
		}
		g := bubble.Within(w, time.Second, locks[0].Acquired())
		time.Sleep(10 * time.Second)
		for _, outage := range []time.Duration{time.Second, 4 * time.Second} {
			w.Server.Kill(0)
			time.Sleep(outage)
			require.NoError(w, w.Server.Restart(0))
			time.Sleep(10 * time.Second)
			for _, h := range hosts {
				require.Equal(w, uint64(1), h.Status().Epoch)
			}
			if outage == time.Second {
				require.True(w, g.Valid(), "trust outlasts that")
				bubble.Never(w, locks[1].Acquired(), "two holders")
			}
		}
		require.ErrorIs(w, g.Err(), session.ErrUntrusted, "trust does not outlast that, the places in line do")
		for _, l := range []*lock.Lock{locks[1], locks[2], locks[0]} {
			bubble.Within(w, time.Second, l.Acquired())
			require.NoError(w, l.Release(w.Context()))
		}
	})
}

// Trust ends possessions, not the epoch: cut off past trust but back within the session, the holder
// stands again behind the waiter.
func TestTheEndOfTrustEndsThePossessionNotTheEpoch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a, b := w.lock(ha), w.lock(w.Host("b"))
		g := w.granted(a)
		w.queued(b)
		heal := ha.Machine.Partition()
		bubble.Within(w, time.Minute, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrUntrusted)
		heal()
		next := bubble.Within(w, time.Second, b.Acquired())
		require.Equal(w, uint64(1), ha.Status().Epoch)
		require.Greater(w, next.Token(), g.Token())
		require.NoError(w, b.Release(w.Context()))
		again := bubble.Within(w, time.Second, a.Acquired())
		require.Greater(w, again.Token(), next.Token())
	})
}

// B12: a waiter whose znode somebody deletes is never granted without one; it stands again.
func TestB12_AWaiterWhoseZnodeIsDeletedStandsAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a, b, c := w.lock(ha), w.lock(w.Host("b")), w.lock(w.Host("c"))
		g := w.held(a)
		w.queued(b)
		w.queued(c)
		line, err := a.Contenders(w.Context())
		require.NoError(w, err)
		require.NoError(w, ha.Delete(w.Context(), line[1].Path, -1))
		synctest.Wait()
		require.Equal(w, 3, w.nodes())
		require.NoError(w, g.Release(w.Context()))
		g = bubble.Within(w, time.Second, c.Acquired())
		bubble.Never(w, b.Acquired(), "two holders")
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, b.Acquired())
	})
}

// B13: the holder learns within a round trip that somebody has deleted its znode.
func TestB13_ADeletedHolderLearnsAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.lock(ha)
		g := w.granted(a)
		require.NoError(w, w.Host("admin").Delete(w.Context(), g.Path(), -1))
		synctest.Wait()
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		next := bubble.Within(w, time.Second, a.Acquired())
		require.Greater(w, next.Token(), g.Token())
	})
}

// B38: a grant that ends before it is received is withdrawn.
func TestB38_AGrantThatEndsUnreceivedIsWithdrawn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.lock(ha)
		a.Acquire()
		synctest.Wait() // it is on offer
		w.Server.Expire(ha.Status().SessionID)
		time.Sleep(10 * time.Second)
		g := bubble.Within(w, time.Second, a.Acquired())
		require.NoError(w, g.Err())
		require.Equal(w, ha.Status().SessionID, g.Sequencer().SessionID)
		require.NoError(w, a.Release(w.Context()))
		w.queued(a)
		require.NoError(w, a.Release(w.Context()))
		bubble.Never(w, a.Acquired(), "a released grant on offer")
	})
}

// Shutdown: the next in line takes over within a round trip, not after a session timeout.
func TestClosingTheSessionHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a, b := w.lock(ha), w.lock(w.Host("b"))
		g := w.held(a)
		w.queued(b)
		began := time.Now()
		require.NoError(w, ha.Close(w.Context()))
		require.ErrorIs(w, g.Err(), session.ErrClosed)
		bubble.Within(w, time.Second, b.Acquired())
		require.Zero(w, time.Since(began))
	})
}
