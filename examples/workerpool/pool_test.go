//go:build unix

package main

import (
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

func TestWorkerThatEndsByItselfIsAFailure(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	_, failures := team(t, 1, "quits")
	require.ErrorContains(t, <-failures, "worker w1.1 ended unexpectedly: exit status 0")
}

func TestWorkerThatDoesNotStopIsKilledAndAFailure(t *testing.T) {
	tier.Real(t)
	t.Parallel()
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
