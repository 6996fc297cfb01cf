package lock_test

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var deposedRounds = flag.Int("deposed-rounds", 3, "how often a real leader is frozen, deposed and woken")

// The same as in virtual time, on three real servers: the leader is stopped when it has carried out
// a release of which the waiter does not hear; the others elect another, which ends the waiter's
// session; a rival is granted; the old leader goes on, and takes itself for the leader for up to a
// tick. Where there is a C compiler its clock stands still meanwhile, as that of a machine does
// that is suspended.
func TestADeposedRealLeaderThatWakesVouchesForNoWaiter(t *testing.T) {
	tier.Soak(t)
	if so := frozenClock(t); so != "" {
		t.Setenv("LD_PRELOAD", so)
	}
	e := ensemble.Start(t, 3, ensemble.WithTick(tick), ensemble.WithSyncLimit(3))
	for round := range *deposedRounds {
		overlap := deposedRound(t, e, fmt.Sprintf("/deposed/%d", round))
		t.Logf("round %d: overlap %v", round, overlap.Round(time.Millisecond))
		require.Zero(t, overlap)
	}
}

// frozenClock compiles what lets the clock of a process stand still with it; "" where that can't
// be.
func frozenClock(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Log("without a C compiler, or not on Linux, the clock of a stopped server goes on")
		return ""
	}
	so := filepath.Join(t.TempDir(), "frozen.so")
	said, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O2", "-o", so, "testdata/frozen.c", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", said)
	return so
}

const tick = time.Second

func deposedRound(t *testing.T, e *ensemble.Ensemble, path string) (overlap time.Duration) {
	const timeout = 6 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, e.Await(ctx))
	leader := bubble.Leader(t, e)
	others := append(append([]string(nil), e.Servers()[:leader]...), e.Servers()[leader+1:]...)
	proxy, err := ensemble.NewProxy(e.Servers()[leader])
	require.NoError(t, err)
	defer proxy.Close()
	holder := newLock(t, bubble.Open(t, others, session.WithTimeout(timeout)), path)
	waiters := bubble.Open(t, []string{proxy.Addr()}, session.WithTimeout(timeout))
	waiter := newLock(t, waiters, path)
	rival := newLock(t, bubble.Open(t, others, session.WithTimeout(timeout)), path)
	holder.Acquire()
	soon(t, holder.Acquired(), "the holder")
	for _, l := range []*lock.Lock{waiter, rival} {
		l.Acquire()
		inLine(t, l)
	}
	before := waiters.Status().Epoch

	proxy.Blackhole(ensemble.ToClient)
	release(t, holder)
	e.Stop(leader)
	proxy.Reset()
	proxy.Heal()
	granted := soon(t, rival.Acquired(), "the rival")
	e.Continue(leader)
	select {
	case g := <-waiter.Acquired():
		began := time.Now()
		if !granted.Valid() {
			break // the rival has lost it by itself, on a machine that is too busy, and the waiter has it by right
		}
		select {
		case <-g.Done():
		case <-granted.Done():
		}
		overlap = time.Since(began)
	case <-time.After(4 * tick): // the old leader knows long since
		require.NoError(t, rival.Close(ctx))
		soon(t, waiter.Acquired(), "the waiter, in its next session")
		require.Greater(t, waiters.Status().Epoch, before)
	}
	for _, l := range []*lock.Lock{waiter, rival} {
		require.NoError(t, l.Close(ctx))
	}
	return overlap
}
