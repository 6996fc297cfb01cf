package lock_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// side is one who stands in a line, and one who is in his way.
type side struct {
	own, rival func(w *world, h *host) *lock.Lock
}

// sides are the kinds beside the exclusive lock. What holds of that one holds of them.
var sides = map[string]side{
	"read":  {func(w *world, h *host) *lock.Lock { return w.reader(h) }, func(w *world, h *host) *lock.Lock { return w.writer(h) }},
	"write": {func(w *world, h *host) *lock.Lock { return w.writer(h) }, func(w *world, h *host) *lock.Lock { return w.reader(h) }},
	"lease": {
		func(w *world, h *host) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(2)) },
		func(w *world, h *host) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(3)) },
	},
}

func eachSide(t *testing.T, test func(t *testing.T, s side)) {
	t.Helper()
	t.Parallel()
	for name, s := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// B27: whichever reply or request of a whole cycle is lost, the outcome is right and nothing is
// left behind.
func TestB27_LostRepliesOfEachKind(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inEachFate(t, func(w *world, k int, strike func(h *host)) {
			ha := w.host("a")
			a, b := s.own(w, ha), s.rival(w, w.host("b"))
			w.survivesLoss(k, a, b, func() { strike(ha) }, session.CreateOp("/x", nil))
		})
	})
}

// Whatever is under way when the actor panics, and however often: the intent goes on, one znode
// stands, nothing is left behind.
func TestAPanicAtAnyMomentOfEachKind(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		crashing(t, func(w *world, k int, crash func(h *host, l *lock.Lock)) {
			ha := w.host("a")
			a, b := s.own(w, ha), s.rival(w, w.host("b"))
			w.survivesPanic(k, a, b, func() { crash(ha, a) })
		})
	})
}

// Cut off silently at any of a hundred instants, the holder's Done closes before whoever was in his
// way is granted. In each bubble first with a session that has just begun, and then with one that
// came after an expiry.
func TestAPartitionEndsEachKindBeforeTheNextIsGranted(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		for seed := range uint64(25) {
			rng := rand.New(rand.NewPCG(27, seed))
			inBubble(t, func(w *world) {
				ha := w.host("a")
				a, b := s.own(w, ha), s.rival(w, w.host("b"))
				a.Acquire()
				for round := range 4 {
					g := within(w, time.Minute, a.Acquired())
					w.queued(b)
					time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
					heal := ha.machine.Partition()
					require.False(w, first(w, time.Minute, g.Done(), b.Acquired()), "seed %d, round %d: the next was granted while the hold stood: overlap", seed, round)
					require.ErrorIs(w, g.Err(), session.ErrUntrusted)
					within(w, time.Minute, b.Acquired())
					heal()
					require.NoError(w, b.Release(w.Context()))
				}
			})
		}
	})
}

// At exact instants: a session of six seconds whose holder vanishes is trusted for three, and his
// place is free when the server expires it.
func TestTheInstantsOfALoss(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha := w.host("a")
			a, b := s.own(w, ha), s.rival(w, w.host("b"))
			g := w.granted(a)
			w.queued(b)
			time.Sleep(10 * time.Second)
			synctest.Wait() // a proof may be answered in this very instant
			until := ha.Status().TrustedUntil
			cut := time.Now()
			heal := ha.machine.Partition()
			within(w, time.Minute, g.Done())
			require.Equal(w, until, time.Now(), "at the instant that was told before")
			within(w, time.Minute, b.Acquired())
			after := time.Since(cut)
			require.Greater(w, after, 3*time.Second)
			require.LessOrEqual(w, after, 7*time.Second, "the session's timeout, and a tick of the server")
			heal()
			require.NoError(w, b.Release(w.Context()))
			again := within(w, time.Minute, a.Acquired())
			require.Greater(w, again.Token(), g.Token())
			require.Equal(w, uint64(2), ha.Status().Epoch)
		})
	})
}

// B31 [CURATOR-595]: the permits, and the shares, of a session that is dead are free again, also
// after the servers were away.
func TestB31_WhatADeadSessionHeldIsFree(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha, hb := w.host("a"), w.host("b")
			a, b := s.own(w, ha), s.rival(w, hb)
			g := w.granted(a)
			w.queued(b)
			healA, healB := ha.machine.Partition(), hb.machine.Partition() // nobody reaches a server for a minute
			time.Sleep(time.Minute)
			require.Error(w, g.Err())
			healA()
			healB()
			winner, other := a, b
			if first(w, time.Minute, a.Acquired(), b.Acquired()) {
				winner, other = b, a
			}
			never(w, other.Acquired(), "both")
			require.NoError(w, winner.Release(w.Context()))
			within(w, time.Minute, other.Acquired())
			require.Equal(w, 1, w.nodes())
		})
	})
}

// B07: a waiter keeps its place across a disconnection, whatever happens ahead of it meanwhile.
func TestB07_EachKindKeepsItsPlace(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha := w.host("a")
			a, b := s.own(w, ha), s.rival(w, w.host("b"))
			g := w.held(b)
			w.queued(a)
			last := w.queued(w.lock(w.host("last")))
			heal := ha.machine.Partition()
			time.Sleep(time.Second)
			require.NoError(w, g.Release(w.Context()))
			time.Sleep(time.Second)
			never(w, last.Acquired(), "somebody is ahead")
			heal()
			within(w, time.Minute, a.Acquired())
			require.Equal(w, uint64(1), ha.Status().Epoch)
			never(w, last.Acquired(), "somebody is ahead")
		})
	})
}

// Revocation is the same for every kind: it is told once, also when it was written before the grant
// or after a release.
func TestRevocationOfEachKind(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			admin := w.host("admin").Session
			a, b := s.own(w, w.host("a")), s.rival(w, w.host("b"))
			for range 3 {
				g := w.held(b)
				w.queued(a)
				line, err := b.Contenders(w.Context())
				require.NoError(w, err)
				require.NoError(w, lock.Revoke(w.Context(), admin, line[1].Path), "before the grant")
				require.NoError(w, g.Release(w.Context()))
				won := within(w, time.Second, a.Acquired())
				require.Equal(w, line[1].Path, won.Path())
				within(w, time.Second, won.Revoked())
				require.NoError(w, a.Release(w.Context()))

				again := w.held(a)
				never(w, again.Revoked(), "nobody asked this one")
				require.NoError(w, lock.Revoke(w.Context(), admin, again.Path()))
				within(w, time.Second, again.Revoked())
				began := time.Now()
				require.NoError(w, lock.Break(w.Context(), admin, again.Path(), 2*time.Second))
				require.Equal(w, 2*time.Second, time.Since(began))
				within(w, time.Second, again.Done())
				require.ErrorIs(w, again.Err(), session.ErrDeleted)
			}
		})
	})
}

// B08: tries under flapping connections leave nothing.
func TestB08_TriesOfEachKindLeaveNothing(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha := w.host("a")
			a, b := s.own(w, ha), s.rival(w, w.host("b"))
			g := w.held(b)
			for i := range 300 {
				if i%5 == 0 {
					w.server.Disconnect(ha.Status().SessionID)
				}
				_, err := a.TryLock(w.Context())
				require.ErrorIs(w, err, lock.ErrHeld)
			}
			require.NoError(w, a.Close(w.Context()))
			require.Equal(w, 1, w.nodes())
			require.NoError(w, g.Release(w.Context()))
		})
	})
}

// B20: around the end of the sequence numbers, order is that of creation, a downgraded reader's
// place too.
func TestB20_EachKindAtTheEndOfTheSequenceNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents())
		require.NoError(w, err)
		require.NoError(w, w.server.SetSequence(path, 2147483644))
		w1 := w.writer(w.host("w1"))
		g := w.held(w1)
		var line []*lock.Lock
		for i := range 4 {
			l := w.writer(w.host(fmt.Sprint("h", i)))
			if i%2 == 0 {
				l = w.reader(w.host(fmt.Sprint("r", i)))
			}
			line = append(line, w.queued(l))
		}
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		within(w, time.Second, line[0].Acquired())
		for _, l := range line[1:] {
			never(w, l.Acquired(), "out of turn")
		}
		require.NoError(w, line[0].Release(w.Context()))
		never(w, line[1].Acquired(), "a writer beside the reader who stands where the writer stood")
		require.NoError(w, read.Release(w.Context()))
		for i, l := range line[1:] {
			within(w, time.Second, l.Acquired())
			for _, later := range line[i+2:] {
				never(w, later.Acquired(), "out of turn")
			}
			require.NoError(w, l.Release(w.Context()))
		}
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}
