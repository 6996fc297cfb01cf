// What others are shown of a delay, and of when a lock was granted.

package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// Who waits for a delay is not shown as the holder, to nobody and by nothing. It is said after whom
// it waits, and until when; each observation tells it without a change of the line.
func TestWhoWaitsForADelayDoesNotHold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.process("a", session.WithIdentity("orders-7"))
		g := w.held(w.delayed(h))
		began := time.Now()
		b := w.lock(w.Host("b"))
		observed := b.Observe(w.Context())
		all := bubble.Get(w, observed)
		require.Len(w, all, 1)
		require.Equal(w, began.UTC(), all[0].Held.UTC())
		require.True(w, all[0].Holding)
		d, err := b.Delay(w.Context())
		require.NoError(w, err)
		require.Zero(w, d)
		h.Die()
		time.Sleep(time.Minute)
		require.Empty(w, bubble.Get(w, observed))
		d, err = b.Delay(w.Context())
		require.NoError(w, err)
		require.Equal(w, g.Token(), d.Token)
		require.Equal(w, "orders-7", d.Owner.Name)
		require.Zero(w, d.Until, "nobody waits")
		record, err := w.Server.Get(path + "/held")
		require.NoError(w, err)
		_, err = w.delayed(w.Host("e")).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		same, err := w.Server.Get(path + "/held")
		require.NoError(w, err)
		require.Equal(w, string(record), string(same), "a try does not wait")
		require.Error(w, w.gaveUp(w.delayed(w.Host("e")), time.Second))
		synctest.Wait()
		again, err := b.Delay(w.Context())
		require.NoError(w, err)
		require.Equal(w, d, again, "who waited has gone")
		waits := w.delayed(w.Host("c"))
		waits.Acquire()
		synctest.Wait()
		d.Until = time.Now().Add(lockDelay)
		check := func(all []lock.Contender, holding bool) {
			require.Len(w, all, 1)
			require.Equal(w, holding, all[0].Holding)
			require.Equal(w, holding, all[0].Delayed.Token == 0)
			require.Equal(w, holding, !all[0].Held.IsZero())
			if !holding {
				require.Equal(w, d.Until.UTC(), all[0].Delayed.Until.UTC())
				require.Equal(w, d.Owner, all[0].Delayed.Owner)
			}
		}
		check(bubble.Get(w, observed), false)
		all, err = b.Contenders(w.Context())
		require.NoError(w, err)
		check(all, false)
		for _, l := range []*lock.Lock{b, w.lock(w.Host("d"))} {
			require.Regexp(w, `: delayed until 20\S+, after orders-7 on host \S+ \(pid \d+\); 1 wait`, w.gaveUp(l, 2*time.Second).Error())
		}
		time.Sleep(lockDelay)
		synctest.Wait()
		check(bubble.Get(w, observed), true)
		all, err = b.Contenders(w.Context())
		require.NoError(w, err)
		check(all, true)
	})
}

// Who may read the contenders and not the record beside them is shown the line at once, and not
// that the first holds: it may wait for a delay.
func TestADelayThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.process("a")
		w.held(w.delayed(h))
		h.Die()
		time.Sleep(time.Minute)
		w.delayed(w.Host("b")).Acquire()
		synctest.Wait()
		_, err := w.Host("c").Session.SetACL(w.Context(), path+"/held", []session.ACL{{Perms: session.PermAll, Scheme: "digest", ID: "a:b"}}, -1)
		require.NoError(w, err)
		observed := w.lock(w.Host("d")).Observe(w.Context())
		for n := range 2 {
			synctest.Wait()
			all := bubble.Get(w, observed)
			require.Len(w, all, n+1)
			require.Equal(w, []bool{true, false}, []bool{all[0].Unread, all[0].Holding})
			w.lock(w.Host("e")).Acquire()
		}
		_, err = w.lock(w.Host("d")).Contenders(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}

// The marks of a semaphore tell when each was granted, to an observer too.
func TestHeldOfASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		first := w.held(w.semaphore(w.Host("a"), 1))
		began := time.Now()
		second := w.queued(w.semaphore(w.Host("b"), 1))
		seer := w.semaphore(w.Host("c"), 1)
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		observed := seer.Observe(ctx)
		all := bubble.Get(w, observed)
		require.Equal(w, began.UTC(), all[0].Held.UTC())
		require.Zero(w, all[1].Held)
		time.Sleep(time.Minute)
		require.NoError(w, first.Release(w.Context()))
		bubble.Get(w, second.Acquired())
		synctest.Wait()
		all = bubble.Get(w, observed)
		require.Len(w, all, 1)
		require.Equal(w, began.Add(time.Minute).UTC(), all[0].Held.UTC())
		require.NoError(w, lock.Revoke(w.Context(), w.Host("d").Session, all[0].Path))
		all, err := seer.Contenders(w.Context())
		require.NoError(w, err)
		require.Zero(w, all[0].Held, "what was written last is not the grant")
	})
}
