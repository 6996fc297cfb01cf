// The delay after a loss: where it applies, and how it is shown. That each loss leaves one, and
// that the next holder waits for it, is in test/losses.

package lock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// A lock without a delay neither waits for one nor leaves a record, and others wait for it.
func TestDelayBesideNone(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		without, with := newLock(h), delayed(w.Host("b"))
		g := held(w, without)
		require.NotContains(w, w.Server.Dump(), "/held")
		got := bubble.Begin(func() *lock.Grant { return held(w, with) }) // a standing intent would queue again, perhaps before the next
		time.Sleep(unwatched)
		require.NoError(w, h.Delete(w.Context(), g.Path(), -1))
		began := time.Now()
		second := bubble.Within(w, time.Minute, got)
		require.Zero(w, time.Since(began), "it left no record")
		require.NoError(w, h.Delete(w.Context(), second.Path(), -1))
		held(w, without)
		require.Zero(w, time.Since(began))
	})
}

// If one part of a Multi is lost, the others end with it but were not released: their delays apply,
// also if the Multi is released at that moment. If a part was released, or the Multi was closed,
// they do not.
func TestDelayOfTheOtherPartsOfAMulti(t *testing.T) {
	type row struct {
		end   func(w *bubble.World, m *lock.Multi, g *lock.MultiGrant)
		delay time.Duration
	}
	lose := func(w *bubble.World, _ *lock.Multi, g *lock.MultiGrant) {
		require.NoError(w, w.Server.Znodes(w).Delete(g.Path()))
	}
	rows := map[string]row{
		"lost": {lose, lockDelay},
		"released": {func(w *bubble.World, _ *lock.Multi, g *lock.MultiGrant) {
			require.NoError(w, g.Grants()[0].Release(w.Context()))
		}, 0},
		"closed": {func(w *bubble.World, m *lock.Multi, _ *lock.MultiGrant) { require.NoError(w, m.Close(w.Context())) }, 0},
	}
	for i := range 10 { // mostly, some release comes before the end of the whole has reached its parts
		rows[fmt.Sprint("released when it is lost ", i)] = row{func(w *bubble.World, m *lock.Multi, g *lock.MultiGrant) {
			for range 1000 {
				context.AfterFunc(g.Context(), func() { _ = g.Release(w.Context()) })
			}
			lose(w, m, g)
		}, lockDelay}
	}
	eachRow(t, rows, func(w *bubble.World, row row) {
		ha, hb := w.Host("a"), w.Host("b")
		m := must(lock.NewMulti(lockAt(hb, "/before"), delayed(ha), lockAt(hb, "/m/behind")))
		g := must(m.Lock(w.Context()))
		b := queued(delayed(hb))
		time.Sleep(unwatched)
		began := time.Now()
		row.end(w, m, g)
		next := bubble.Within(w, time.Minute, b.Acquired())
		require.Equal(w, row.delay, time.Since(began))
		require.NoError(w, next.Release(w.Context()))
	})
}

// A contender that waits for a delay is shown with the dead holder and the end of the wait, and not
// as a holder. Before one waits, the record alone shows the delay, which begins when one comes. A
// try does not wait, and neither a try nor a wait that is given up leaves a znode.
func TestAContenderThatWaitsForADelayDoesNotHold(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := process(w, "a", session.WithIdentity("orders-7"))
		g := held(w, delayed(h))
		began := time.Now()
		b := newLock(w.Host("b"))
		observed := b.Observe(w.Context())
		all := bubble.Get(w, observed).Contenders
		require.Len(w, all, 1)
		require.Equal(w, began.UTC(), all[0].Held.UTC())
		require.True(w, all[0].Holding)
		require.Zero(w, must(b.Delay(w.Context())))

		h.Die()
		time.Sleep(time.Hour)
		require.Empty(w, bubble.Get(w, observed).Contenders)
		d := must(b.Delay(w.Context()))
		require.Equal(w, g.Token(), d.Token)
		require.Equal(w, "orders-7", d.Owner.Name)
		require.Zero(w, d.Until, "no contender waits")
		record := content(w, path+"/held")
		other := delayed(w.Host("e"))
		require.ErrorIs(w, errOf(other.TryLock(w.Context())), lock.ErrHeld)
		require.Equal(w, record, content(w, path+"/held"), "a try does not wait")
		require.NotContains(w, gaveUp(w, other, lockDelay/2).Error(), "held", "by itself")
		synctest.Wait()
		require.Zero(w, nodes(w, path))
		require.Equal(w, d, must(b.Delay(w.Context())), "the contender that waited has gone")

		waits := queued(delayed(w.Host("c")))
		d.Until = time.Now().Add(lockDelay)
		check := func(all []lock.Contender, holding bool) {
			require.Len(w, all, 1)
			require.Equal(w, []bool{holding, holding, holding}, []bool{all[0].Holding, all[0].Delayed.Token == 0, !all[0].Held.IsZero()})
			if !holding {
				require.Equal(w, d.Until.UTC(), all[0].Delayed.Until.UTC())
				require.Equal(w, d.Owner, all[0].Delayed.Owner)
			}
		}
		check(bubble.Get(w, observed).Contenders, false)
		check(must(b.Contenders(w.Context())), false)
		for _, l := range []*lock.Lock{b, newLock(w.Host("d"))} {
			require.Regexp(w, `: delayed until 20\S+, after orders-7 on host \S+ \(pid \d+\); 1 wait`, gaveUp(w, l, 2*time.Second).Error())
		}
		require.NoError(w, bubble.Within(w, lockDelay, waits.Acquired()).Err())
		require.Equal(w, d.Until, time.Now())
		synctest.Wait()
		check(bubble.Get(w, observed).Contenders, true)
		check(must(b.Contenders(w.Context())), true)

		require.NoError(w, waits.Close(w.Context()))
		held(w, other)
		require.Equal(w, d.Until, time.Now(), "after a release there is no delay")
		require.NoError(w, other.Close(w.Context()))
		require.NotContains(w, w.Server.Dump(), "/held")
	})
}

// A session that may read the contenders but not the record sees the queue at once. The first is
// not shown as a holder, since it may wait for a delay.
func TestADelayThatMayNotBeRead(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := process(w, "a")
		held(w, delayed(h))
		h.Die()
		time.Sleep(time.Minute)
		queued(delayed(w.Host("b")))
		must(w.Host("c").SetACL(w.Context(), path+"/held", []session.ACL{{Perms: session.PermAll, Scheme: "digest", ID: "a:b"}}, -1))
		observed := newLock(w.Host("d")).Observe(w.Context())
		for n := range 2 {
			synctest.Wait()
			all := bubble.Get(w, observed).Contenders
			require.Len(w, all, n+1)
			require.Equal(w, []bool{true, false}, []bool{all[0].Unread, all[0].Holding})
			newLock(w.Host("e")).Acquire()
		}
		require.ErrorIs(w, errOf(newLock(w.Host("d")).Contenders(w.Context())), session.ErrNoAuth)
	})
}
