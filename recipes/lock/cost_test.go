// The costs that docs/recipes/lock.md states: of an uncontended possession, of a release with many
// in the queue (I8), of the proofs that a session lives; and allocations.

package lock_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// An uncontended possession costs no more than the requests that it needs, and no proof: the create
// is a write, and proves that the session lives. If it is released before the znode's read is sent,
// it costs one request less.
func TestWhatAnUncontendedPossessionCosts(t *testing.T) {
	type row struct {
		build builder
		most  int
	}
	eachRow(t, map[string]row{
		"lock":      {newLock, 4},    // create and list; read; delete
		"semaphore": {permits(1), 5}, // and the mark
		"simple":    {simple, 3},     // no list
	}, func(w *bubble.World, row row) {
		h := w.Host("a")
		l := row.build(h)
		require.NoError(w, held(w, l).Release(w.Context())) // the parent is made, and the limit known
		for i := range 5 {
			synctest.Wait()
			w.Server.ClearJournal()
			require.NoError(w, held(w, l).Release(w.Context()))
			c := costOf(w, h)
			require.Zero(w, c.syncs+c.checks)
			if i == 0 { // later the parent was reaped (B35)
				require.Contains(w, []int{row.most - 1, row.most}, c.others)
			}
			time.Sleep(time.Hour)
		}
		granted(w, l)
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, l.Close(w.Context()))
		require.Equal(w, 1, costOf(w, h).others, "closing one that holds")
	})
}

// I8: a release wakes those that can proceed, and one more at most, however long the queue is. A
// simple lock has no queue: its release wakes all, each of which creates in vain and reads, but for
// the winner.
func TestI8_WhatAReleaseCosts(t *testing.T) {
	type row struct {
		holder, waiter   builder
		waiting, granted int
		requests, events int
		blocker          builder // queued right behind those that are granted
		unordered        bool
	}
	eachRow(t, map[string]row{
		"lock":                    {newLock, newLock, 100, 1, 3, 3, nil, false},                      // the one behind the granted one lists, and reads its own znode
		"readers behind a writer": {writer, reader, 40, 20, 1 + 20, 1 + 20, writer, false},           // one at most for each that is granted
		"permits":                 {permits(3), permits(1), 60, 3, 6 * (3 + 1), 2*3 + 3, nil, false}, // six at most for each granted one and for the next head; each mark wakes its writer and the successor
		"simple":                  {simple, simple, 20, 1, 1 + 20 + 20, 1 + 20, nil, true},
	}, func(w *bubble.World, row row) {
		g := held(w, row.holder(w.Host("holder")))
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c")}
		var waiting []*lock.Lock
		for i := range row.waiting {
			if i == row.granted && row.blocker != nil {
				queued(row.blocker(hosts[i%3]))
			}
			waiting = append(waiting, queued(row.waiter(hosts[i%3])))
		}
		time.Sleep(time.Second) // in which they look ahead
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, g.Release(w.Context()))
		time.Sleep(time.Second)
		c := costOf(w, nil)
		require.LessOrEqual(w, c.checks+c.others, row.requests)
		require.LessOrEqual(w, c.events, row.events)
		granted := 0
		for i, l := range waiting {
			select {
			case next := <-l.Acquired():
				granted++
				require.Greater(w, next.Token(), g.Token())
				require.True(w, i < row.granted || row.unordered, "out of turn")
			default:
			}
		}
		require.Equal(w, row.granted, granted)
	})
}

// The allocations of a possession and of a hand-over, with those of the tests' server. Another
// message, a channel, a copy of a request or effects that grow as they are made show here. The
// count is exact, but with the race detector a sync.Pool forgets things at random.
func TestWhatAPossessionAllocates(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	mostAlone, mostTwo := 130.0, 345.0 // 128, and 341 for two possessions
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		mostAlone, mostTwo = 155, 395
	}
	bubble.Run(t, func(w *bubble.World) {
		one, next := newLock(w.Host("a")), newLock(w.Host("b"))
		alone := testing.AllocsPerRun(200, func() { require.NoError(w, held(w, one).Release(w.Context())) })
		require.LessOrEqual(w, alone, mostAlone)
		handedOver := testing.AllocsPerRun(200, func() {
			first, second := held(w, one), make(chan *lock.Grant)
			go func() { g, _ := next.Lock(w.Context()); second <- g }() // ends with the receive below
			synctest.Wait()
			require.NoError(w, first.Release(w.Context()))
			g := <-second
			require.NotNil(w, g)
			require.NoError(w, g.Release(w.Context()))
			synctest.Wait()
		})
		require.LessOrEqual(w, handedOver, mostTwo)
	}, bubble.Brisk()...)
}

// The holder and the next in the queue keep their sessions proven, so that they need no proof at a
// grant. The third, and all behind, send nothing.
func TestOnlyTheHolderAndTheNextAskForSignsOfLife(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var hosts []*bubble.Host
		var locks []*lock.Lock
		for _, name := range []string{"holder", "next", "third", "fourth", "fifth"} {
			h := w.Host(name)
			hosts, locks = append(hosts, h), append(locks, queued(newLock(h, lock.WithHeldWarning(0))))
		}
		grant := bubble.Within(w, time.Second, locks[0].Acquired())
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		for i, h := range hosts {
			c := costOf(w, h)
			require.Zero(w, c.checks+c.others, i)
			if i < 2 {
				require.InDelta(w, 600, c.syncs, 5, "one a second, a sixth of the timeout")
			} else {
				require.Zero(w, c.syncs, "number %d in the queue", i+1)
			}
		}
		for i := range 2 { // the second was next for long; the third has become next since then
			synctest.Wait()
			w.Server.ClearJournal()
			require.NoError(w, grant.Release(w.Context()))
			grant = bubble.Within(w, time.Second, locks[i+1].Acquired())
			c := costOf(w, hosts[i+1])
			require.Zero(w, c.checks+c.others, "it is granted without another trip")
		}
	})
}

// Locks that are taken and released at one time share requests. That delays none of them where a
// round trip is long, and by a millisecond at most where it is short.
func TestLocksOfOneTimeShareRequests(t *testing.T) {
	type row struct {
		latency, least, most time.Duration
		requests             int
	}
	const alone = 3 * 64 // requests, if they were not shared
	eachRow(t, map[string]row{
		"near": {100 * time.Microsecond, 0, 4*100*time.Microsecond + time.Millisecond, alone / 4},
		"far":  {5 * time.Millisecond, 4 * 5 * time.Millisecond, 4 * 5 * time.Millisecond, alone},
	}, func(w *bubble.World, row row) {
		w.Cleanup(w.Server.Host("a").Slow(row.latency))
		h := w.Host("a")
		var locks []*lock.Lock
		for i := range 64 {
			locks = append(locks, lockAt(h, fmt.Sprintf("%s/%d", path, i)))
			require.NoError(w, held(w, locks[i]).Release(w.Context()))
		}
		for range 3 {
			w.Server.ClearJournal()
			began := time.Now()
			var running sync.WaitGroup
			for _, l := range locks {
				running.Go(func() { require.NoError(w, held(w, l).Release(w.Context())) })
			}
			running.Wait()
			took := time.Since(began)
			require.GreaterOrEqual(w, took, row.least)
			require.LessOrEqual(w, took, row.most)
			c := costOf(w, nil)
			require.LessOrEqual(w, c.checks+c.others, row.requests)
		}
	})
}

// A function of session.WithEvents costs no request, and a few allocations for each event; without
// one, events cost none: see TestWhatAPossessionAllocates.
func TestWhatEventsCost(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	var allocated, requests [2]float64
	for i, opts := range [][]session.Option{nil, {session.WithEvents(func(*session.Session, session.Event) {})}} {
		bubble.Run(t, func(w *bubble.World) {
			h := w.Host("a", opts...)
			l := newLock(h)
			cycle := func() {
				g := held(w, l)
				time.Sleep(2 * unwatched) // its znode is read
				require.NoError(w, g.Release(w.Context()))
				synctest.Wait()
			}
			cycle()
			w.Server.ClearJournal()
			cycle()
			requests[i] = float64(costOf(w, h).others)
			allocated[i] = testing.AllocsPerRun(200, cycle)
		}, bubble.Brisk()...)
	}
	require.InDelta(t, requests[0], requests[1], 0)
	require.LessOrEqual(t, allocated[1]-allocated[0], 20.0) // 8 for six events
}
