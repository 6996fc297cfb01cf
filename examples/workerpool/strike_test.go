//go:build unix

package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// havoc is chaos over a pool of helpers, who are at work or not as told.
func havoc(p *pool, leader string, atWork bool) *chaos {
	return &chaos{
		pool: p, say: func(string, ...any) {}, kinds: possible(true, true),
		progress: func() float64 { return 1 },
		leader:   func() string { return leader },
		works:    func(string) bool { return atWork },
	}
}

func TestCoordinatorCountsAsAWorkerOnlyWhenNoOtherIsUp(t *testing.T) {
	t.Parallel()
	p, _ := team(t, 2, "obeys")
	other := eventually(t, p, func(name string) bool { return name == "w2.1" })
	eventually(t, p, func(name string) bool { return name == "w1.1" })
	c := havoc(p, "w1.1", true)
	victim, found := c.choose(aWorker)
	require.True(t, found)
	require.Equal(t, "w2.1", victim.name)
	victim, found = c.choose(theCoordinator)
	require.True(t, found)
	require.Equal(t, "w1.1", victim.name)
	require.NoError(t, p.pause(other.process))
	victim, found = c.choose(aWorker)
	require.True(t, found)
	require.Equal(t, "w1.1", victim.name)
}

func TestNobodyIsStruckWhileNobodyLeads(t *testing.T) {
	t.Parallel()
	p, _ := team(t, 1, "obeys")
	eventually(t, p, anybody)
	for _, k := range possible(true, true) {
		require.False(t, havoc(p, "", true).carryOut(t.Context(), k), k)
		if k.victim == theCoordinator {
			require.False(t, havoc(p, "somebody who is down", true).carryOut(t.Context(), k), k)
		}
	}
}

func TestPauseCountsOnlyIfTheWorkerIsCaughtAtWork(t *testing.T) {
	t.Parallel()
	p, _ := team(t, 1, "obeys")
	eventually(t, p, anybody)
	idle := havoc(p, "w1.1", false)
	require.False(t, idle.carryOut(t.Context(), kind{pause, aWorker}))
	require.Empty(t, idle.done)
	eventually(t, p, anybody) // goes on at once

	abort, cancel := context.WithCancel(t.Context())
	busy := havoc(p, "w1.1", true)
	p.note(p.workers[0], report{Epoch: 2, Session: 8, Timeout: time.Hour})
	require.True(t, busy.carryOut(abort, kind{pause, aWorker}))
	_, found := p.choose(anybody)
	require.False(t, found)
	cancel()
	busy.pauses.Wait()
	eventually(t, p, anybody)
}

func TestChaosCarriesOutItsPlan(t *testing.T) {
	t.Parallel()
	p, failures := team(t, 2, "obeys")
	eventually(t, p, func(name string) bool { return name == "w1.1" })
	eventually(t, p, func(name string) bool { return name == "w2.1" })
	expired := make(chan int64, 2)
	c := havoc(p, "w1.1", true)
	c.expire = func(session int64) { expired <- session }
	plan := []strike{{kind{expire, theCoordinator}, 0.1}, {kind{pause, theCoordinator}, 0.2}, {kind{kill, aWorker}, 0.3}, {kind{expire, aWorker}, 2}}
	ctx, finished := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { // ends with ctx
		defer close(over)
		c.run(ctx, t.Context(), plan)
	}()
	eventually(t, p, func(name string) bool { return name == "w2.2" })
	finished() // the last strike is never due
	<-over
	require.EqualValues(t, 7, <-expired)
	require.Equal(t, []kind{{expire, theCoordinator}, {pause, theCoordinator}, {kill, aWorker}}, c.done)
	require.Empty(t, failures)
}
