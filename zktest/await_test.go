package zktest_test

// Waits and checks, in a bubble and in real time, and what they say when they fail.

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// waits are all waits, each for what happens does.
var waits = map[string]struct {
	happens func(z zktest.Znodes, c *raw)
	await   func(ctx context.Context, z zktest.Znodes)
	missing string // what a wait says that ends in vain
}{
	"a znode": {
		func(z zktest.Znodes, _ *raw) { _ = z.Create("/jobs/1", nil) },
		func(ctx context.Context, z zktest.Znodes) { z.Await(ctx, "/jobs/1") },
		`Await "/jobs/1": context deadline exceeded: there are 0`,
	},
	"children": {
		func(z zktest.Znodes, _ *raw) { _, _ = z.Create("/jobs/1", nil), z.Create("/jobs/2", nil) },
		func(ctx context.Context, z zktest.Znodes) { z.AwaitChildren(ctx, "/jobs", 2) },
		`AwaitChildren "/jobs", 2: context deadline exceeded: there are 0`,
	},
	"sessions": {
		func(_ zktest.Znodes, c *raw) { _, _ = c.do(jute.Request{Op: jute.OpCloseSession}) },
		func(ctx context.Context, z zktest.Znodes) { z.AwaitSessions(ctx, 0) },
		`AwaitSessions 0: context deadline exceeded: there are 1`,
	},
}

func TestAWaitEndsWhenItHappens(t *testing.T) {
	t.Parallel()
	for name, w := range waits {
		test := func(t *testing.T, after time.Duration) {
			s := zktest.Start(t)
			z, c := s.Znodes(t), client(t, s, 40*time.Second)
			require.NoError(t, z.Create("/there", nil))
			began := time.Now()
			done := make(chan struct{})
			time.AfterFunc(after, func() { // ends with the test, which waits for it
				defer close(done)
				w.happens(z, c)
			})
			w.await(t.Context(), z)
			require.GreaterOrEqual(t, time.Since(began), after)
			<-done
			w.await(t.Context(), z) // at once
			require.NoError(t, c.conn.Close())
		}
		t.Run(name+", in a bubble", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				test(t, 10*time.Second)
				require.Equal(t, 10*time.Second, time.Since(began), "at the transaction, not later")
			})
		})
		t.Run(name+", in real time", func(t *testing.T) { t.Parallel(); test(t, time.Millisecond) })
	}
}

func TestAWaitInVainFailsTheTestAndSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	for name, w := range waits {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				client(t, s, 40*time.Second)
				require.NoError(t, s.Znodes(t).Create("/there", nil))
				began := time.Now()
				var r recorder
				r.run(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					w.await(ctx, s.Znodes(&r))
				})
				require.Equal(t, 10*time.Second, time.Since(began))
				require.Contains(t, r.failed, "zktest: "+w.missing)
				require.Contains(t, r.failed, s.Dump())

				time.AfterFunc(time.Second, func() { _ = s.Close() })
				r = recorder{}
				r.run(func() { w.await(t.Context(), s.Znodes(&r)) })
				require.Contains(t, r.failed, "closed", "a server that is closed ends the wait")
			})
		})
	}
}

func TestChecksSayWhatThereIs(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		z := s.Znodes(t)
		require.NoError(t, z.Create("/jobs/b", []byte("two")))
		require.NoError(t, z.Create("/jobs/a", nil))
		z.CheckData("/jobs/b", "two")
		z.CheckData("/jobs/a", "")
		z.CheckChildren("/jobs", "b", "a")
		z.CheckChildren("/jobs/a")
		z.CheckAbsent("/jobs/c")
		for says, check := range map[string]func(z zktest.Znodes){
			`data of "/jobs/b": "two", not "three"`:             func(z zktest.Znodes) { z.CheckData("/jobs/b", "three") },
			`get "/jobs/c"`:                                     func(z zktest.Znodes) { z.CheckData("/jobs/c", "") },
			`children of "/jobs": ["a" "b"], not ["a"]`:         func(z zktest.Znodes) { z.CheckChildren("/jobs", "a") },
			`children of "/jobs/c"`:                             func(z zktest.Znodes) { z.CheckChildren("/jobs/c") },
			`"/jobs/b" exists`:                                  func(z zktest.Znodes) { z.CheckAbsent("/jobs/b") },
			`children of "/jobs": ["a" "b"], not ["a" "a" "b"]`: func(z zktest.Znodes) { z.CheckChildren("/jobs", "a", "b", "a") },
		} {
			var r recorder
			r.run(func() { check(s.Znodes(&r)) })
			require.Contains(t, r.failed, says)
		}
	})
}

// A server that was made without a test has no test to fail.
func TestZnodesWithoutATest(t *testing.T) {
	t.Parallel()
	s, err := zktest.New()
	require.NoError(t, err)
	defer s.Close()
	z := s.Znodes(nil)
	require.NoError(t, z.Create("/a", nil))
	require.True(t, z.Exists("/a"))
	require.False(t, z.Exists("/b"))
}

// The head of the package.
func TestAServiceIsAwaitedAndChecked(t *testing.T) {
	bubble(t, func(t *testing.T, server *zktest.Server) {
		ctx := t.Context()
		z := server.Znodes(t)
		err := z.Create("/jobs/1", []byte("resize")) // for your service
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { _ = z.Create("/results/1", []byte("done")) })
		z.Await(ctx, "/results/1") // it has done the job
		z.CheckData("/results/1", "done")
	})
}

// A wait ends at the transaction that makes the state as asked, also if the next one changes it.
func TestAWaitMissesNoState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		z := srv.Znodes(t)
		go func() {
			time.Sleep(time.Second)
			p := srv.Join()
			_ = p.Create("/leader", nil)
			p.Leave()
			for i := range 3 {
				_ = z.Create(fmt.Sprint("/jobs/", i), nil)
			}
		}()
		var waits sync.WaitGroup
		waits.Go(func() { z.Await(t.Context(), "/leader") })
		z.AwaitChildren(t.Context(), "/jobs", 1)
		waits.Wait()
	})
}

// A wait in a bubble leaves nothing in a server outside.
func TestAWaitInABubbleForAServerOutside(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, srv.Znodes(t).Create("/a", nil))
		srv.Znodes(t).Await(t.Context(), "/a")
	})
	require.NoError(t, srv.Znodes(t).Create("/b", nil))
}

func TestTheTreeDoesNotShareTheDataOfItsMaker(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	z, data := srv.Znodes(t), []byte("old")
	require.NoError(t, z.Create("/a", data))
	require.NoError(t, z.Create("/b", nil))
	require.NoError(t, z.Set("/b", data))
	require.NoError(t, srv.Join().Create("/c", data))
	copy(data, "new")
	for _, path := range []string{"/a", "/b", "/c"} {
		z.CheckData(path, "old")
	}
}
