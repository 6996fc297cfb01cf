package lock_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// side is one who stands in a line, and one who is in his way.
type side struct {
	own, rival func(w *world, h *bubble.Host) *lock.Lock
}

// sides are the kinds beside the exclusive lock. What holds of that one holds of them.
var sides = map[string]side{
	"read":  {func(w *world, h *bubble.Host) *lock.Lock { return w.reader(h) }, func(w *world, h *bubble.Host) *lock.Lock { return w.writer(h) }},
	"write": {func(w *world, h *bubble.Host) *lock.Lock { return w.writer(h) }, func(w *world, h *bubble.Host) *lock.Lock { return w.reader(h) }},
	"lease": {
		func(w *world, h *bubble.Host) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(2)) },
		func(w *world, h *bubble.Host) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(3)) },
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
		inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
			ha := w.Host("a")
			a, b := s.own(w, ha), s.rival(w, w.Host("b"))
			w.survivesLoss(k, a, b, func() { strike(ha.Session) }, session.CreateOp("/x", nil))
		})
	})
}

// Whatever is under way when the actor panics, and however often: the intent goes on, one znode
// stands, nothing is left behind.
func TestAPanicAtAnyMomentOfEachKind(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		crashing(t, func(w *world, k int, crash func(h *bubble.Host, l *lock.Lock)) {
			ha := w.Host("a")
			a, b := s.own(w, ha), s.rival(w, w.Host("b"))
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
				ha := w.Host("a")
				a, b := s.own(w, ha), s.rival(w, w.Host("b"))
				a.Acquire()
				for round := range 4 {
					g := bubble.Within(w, time.Minute, a.Acquired())
					w.queued(b)
					time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
					heal := ha.Machine.Partition()
					require.False(w, bubble.First(w, time.Minute, g.Done(), b.Acquired()), "seed %d, round %d: the next was granted while the hold stood: overlap", seed, round)
					require.ErrorIs(w, g.Err(), session.ErrUntrusted)
					bubble.Within(w, time.Minute, b.Acquired())
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
			ha := w.Host("a")
			a, b := s.own(w, ha), s.rival(w, w.Host("b"))
			g := w.granted(a)
			w.queued(b)
			time.Sleep(10 * time.Second)
			synctest.Wait() // a proof may be answered in this very instant
			until := ha.Status().TrustedUntil
			cut := time.Now()
			heal := ha.Machine.Partition()
			bubble.Within(w, time.Minute, g.Done())
			require.Equal(w, until, time.Now(), "at the instant that was told before")
			bubble.Within(w, time.Minute, b.Acquired())
			after := time.Since(cut)
			require.Greater(w, after, 3*time.Second)
			require.LessOrEqual(w, after, 7*time.Second, "the session's timeout, and a tick of the server")
			heal()
			require.NoError(w, b.Release(w.Context()))
			again := bubble.Within(w, time.Minute, a.Acquired())
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
			ha, hb := w.Host("a"), w.Host("b")
			a, b := s.own(w, ha), s.rival(w, hb)
			g := w.granted(a)
			w.queued(b)
			healA, healB := ha.Machine.Partition(), hb.Machine.Partition() // nobody reaches a server for a minute
			time.Sleep(time.Minute)
			require.Error(w, g.Err())
			healA()
			healB()
			winner, other := a, b
			if bubble.First(w, time.Minute, a.Acquired(), b.Acquired()) {
				winner, other = b, a
			}
			bubble.Never(w, other.Acquired(), "both")
			require.NoError(w, winner.Release(w.Context()))
			bubble.Within(w, time.Minute, other.Acquired())
			require.Equal(w, 1, w.nodes())
		})
	})
}

// B07: a waiter keeps its place across a disconnection, whatever happens ahead of it meanwhile.
func TestB07_EachKindKeepsItsPlace(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha := w.Host("a")
			a, b := s.own(w, ha), s.rival(w, w.Host("b"))
			g := w.held(b)
			w.queued(a)
			last := w.queued(w.lock(w.Host("last")))
			heal := ha.Machine.Partition()
			time.Sleep(time.Second)
			require.NoError(w, g.Release(w.Context()))
			time.Sleep(time.Second)
			bubble.Never(w, last.Acquired(), "somebody is ahead")
			heal()
			bubble.Within(w, time.Minute, a.Acquired())
			require.Equal(w, uint64(1), ha.Status().Epoch)
			bubble.Never(w, last.Acquired(), "somebody is ahead")
		})
	})
}

// Revocation is the same for every kind: it is told once, also when it was written before the grant
// or after a release.
func TestRevocationOfEachKind(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			admin := w.Host("admin").Session
			a, b := s.own(w, w.Host("a")), s.rival(w, w.Host("b"))
			for range 3 {
				g := w.held(b)
				w.queued(a)
				line, err := b.Contenders(w.Context())
				require.NoError(w, err)
				require.NoError(w, lock.Revoke(w.Context(), admin, line[1].Path), "before the grant")
				require.NoError(w, g.Release(w.Context()))
				won := bubble.Within(w, time.Second, a.Acquired())
				require.Equal(w, line[1].Path, won.Path())
				bubble.Within(w, time.Second, won.Revoked())
				require.NoError(w, a.Release(w.Context()))

				again := w.held(a)
				bubble.Never(w, again.Revoked(), "nobody asked this one")
				require.NoError(w, lock.Revoke(w.Context(), admin, again.Path()))
				bubble.Within(w, time.Second, again.Revoked())
				began := time.Now()
				require.NoError(w, lock.Break(w.Context(), admin, again.Path(), 2*time.Second))
				require.Equal(w, 2*time.Second, time.Since(began))
				bubble.Within(w, time.Second, again.Done())
				require.ErrorIs(w, again.Err(), session.ErrDeleted)
			}
		})
	})
}

// B08: tries under flapping connections leave nothing.
func TestB08_TriesOfEachKindLeaveNothing(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha := w.Host("a")
			a, b := s.own(w, ha), s.rival(w, w.Host("b"))
			g := w.held(b)
			for i := range 300 {
				if i%5 == 0 {
					w.Server.Disconnect(ha.Status().SessionID)
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
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents())
		require.NoError(w, err)
		require.NoError(w, w.Server.SetSequence(path, 2147483644))
		w1 := w.writer(w.Host("w1"))
		g := w.held(w1)
		var line []*lock.Lock
		for i := range 4 {
			l := w.writer(w.Host(fmt.Sprint("h", i)))
			if i%2 == 0 {
				l = w.reader(w.Host(fmt.Sprint("r", i)))
			}
			line = append(line, w.queued(l))
		}
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Within(w, time.Second, line[0].Acquired())
		for _, l := range line[1:] {
			bubble.Never(w, l.Acquired(), "out of turn")
		}
		require.NoError(w, line[0].Release(w.Context()))
		bubble.Never(w, line[1].Acquired(), "a writer beside the reader who stands where the writer stood")
		require.NoError(w, read.Release(w.Context()))
		for i, l := range line[1:] {
			bubble.Within(w, time.Second, l.Acquired())
			for _, later := range line[i+2:] {
				bubble.Never(w, later.Acquired(), "out of turn")
			}
			require.NoError(w, l.Release(w.Context()))
		}
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}
