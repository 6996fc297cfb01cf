//go:build unix

package main

// The pool of worker processes: whom it starts, replaces and stops.

import (
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
)

// team is a pool of helpers in the given role, and what it was told about failures.
func team(t *testing.T, size int, role string) (*pool, chan error) {
	t.Helper()
	failures := make(chan error, 10)
	p := &pool{
		failed: func(err error) { failures <- err },
		command: func(string) *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), helperRole+"="+role)
			return c
		},
	}
	require.NoError(t, p.fill(size))
	t.Cleanup(func() { p.stop(time.Minute) })
	return p, failures
}

func anybody(string) bool { return true }

// eventually waits for a worker that pleases.
func eventually(t *testing.T, p *pool, pleases func(name string) bool) target {
	t.Helper()
	var found target
	require.Eventually(t, func() bool {
		var ok bool
		found, ok = p.choose(pleases)
		return ok
	}, time.Minute, 5*time.Millisecond)
	return found
}

func TestPoolReplacesWhomItKilled(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	p, failures := team(t, 1, "obeys")
	first := eventually(t, p, anybody)
	require.Equal(t, "w1.1", first.name)
	require.EqualValues(t, 7, first.session)
	require.NoError(t, p.kill(first.process))
	second := eventually(t, p, func(name string) bool { return name == "w1.2" })
	require.NotEqual(t, first.cmd.Process.Pid, second.cmd.Process.Pid)
	started, epochs, _ := p.counts()
	require.Equal(t, []int{2, 2}, []int{started, epochs})
	require.Empty(t, failures)
}

func TestPoolStopsAlsoWhoIsPaused(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	p, failures := team(t, 2, "obeys")
	w := eventually(t, p, anybody)
	require.NoError(t, p.pause(w.process))
	_, found := p.choose(func(name string) bool { return name == w.name })
	require.False(t, found, "who is paused is not chosen")
	p.stop(time.Minute)
	require.Empty(t, failures)
	_, _, refused := p.counts()
	require.Equal(t, []refusal{{3, 9}, {3, 9}}, refused)
}

func TestWorkerThatEndsOrDoesNotStopIsAFailure(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	_, failures := team(t, 1, "quits")
	require.ErrorContains(t, <-failures, "worker w1.1 ended unexpectedly: exit status 0")
	p, failures := team(t, 3, "deaf")
	p.stop(time.Millisecond)
	for range 3 {
		require.ErrorContains(t, <-failures, "did not stop within 1ms")
	}
}

func TestPoolThatCannotStart(t *testing.T) {
	t.Parallel()
	var failed atomic.Bool
	p := &pool{failed: func(error) { failed.Store(true) }, command: func(string) *exec.Cmd { return exec.Command("/nowhere/at/all") }}
	require.Error(t, p.fill(2))
	p.stop(time.Minute)
	require.False(t, failed.Load())
}

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

func TestPauseCountsOnlyIfTheWorkerIsCaughtAtWork(t *testing.T) {
	t.Parallel()
	p, _ := team(t, 1, "obeys")
	eventually(t, p, anybody)
	for _, k := range possible(true, true) {
		require.False(t, havoc(p, "", true).carryOut(t.Context(), k), "nobody leads: %v", k)
	}
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
