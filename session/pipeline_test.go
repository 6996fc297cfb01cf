// Pipelines: what is carried out, in which order, and what each operation is told when the
// connection, the epoch or the caller's context ends. Helpers: helper_test.go.

package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// creations are n creates, in order, below /.
func creations(n int, opts ...session.CreateOption) []session.Op {
	ops := make([]session.Op, n)
	for i := range ops {
		ops[i] = session.CreateOp(nth(i), nil, opts...)
	}
	return ops
}

func nth(i int) string { return "/n" + strconv.Itoa(i) }

// outcomes counts what became of operations. They were done in order, then some are unknown, and
// the others were not sent; each that was not done comes with all of these.
func (w *harness) outcomes(results []session.Result, all ...error) (done, unknown, unsent int) {
	w.Helper()
	for i, r := range results {
		switch {
		case r.Err == nil:
			require.Equal(w, i, done, "one behind another that was not done")
			done++
			continue
		case errors.Is(r.Err, session.ErrUnknownOutcome):
			require.Zero(w, unsent, "sent behind one that was not")
			unknown++
		default:
			require.ErrorIs(w, r.Err, session.ErrNotSent)
			unsent++
		}
		isAll(w, r.Err, all...)
	}
	return done, unknown, unsent
}

// truthful fails unless the znodes of creates are as the results say. It returns how many of
// unknown outcome there are.
func (w *harness) truthful(s *session.Session, results []session.Result) (found int) {
	w.Helper()
	names := map[string]bool{}
	for _, name := range w.children(s, "/") {
		names["/"+name] = true
	}
	for i, r := range results {
		switch {
		case errors.Is(r.Err, session.ErrUnknownOutcome):
			if names[nth(i)] {
				found++
			}
		default:
			require.Equal(w, r.Err == nil, names[nth(i)], "%d: %v", i, r.Err)
		}
	}
	return found
}

func TestAPipelineCarriesOutItsOperationsInOrder(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		results, err := s.Pipeline(w.ctx,
			session.CreateOp("/a", []byte("x")), session.CreateOp("/a", nil), session.SetOp("/a", []byte("y"), 0), session.GetOp("/a"),
			session.CreateOp("/a/n-", nil, session.Sequential(), session.Ephemeral()), session.ChildrenOp("/a"), session.DeleteOp("/a", -1),
			session.CreateOp("/own", nil, session.WithNodeACL(session.AnyoneACL(session.PermRead)...)), session.SetOp("/own", nil, -1))
		isAll(w, err, session.ErrNodeExists)
		require.ErrorContains(w, err, "pipeline "+s.Path("/a")+": ops[1]: ")
		for i, is := range []error{1: session.ErrNodeExists, 6: session.ErrNotEmpty, 8: session.ErrNoAuth} {
			require.ErrorIs(w, results[i].Err, is)
		}
		require.Len(w, results, 9)
		require.Equal(w, "/a", results[0].Path)
		require.EqualValues(w, 1, results[2].Stat.Version)
		require.Equal(w, "y", string(results[3].Data))
		require.EqualValues(w, 1, results[3].Stat.Version)
		require.Equal(w, "/a/n-0000000000", results[4].Path)
		require.Equal(w, []string{"n-0000000000"}, results[5].Names)
		require.EqualValues(w, 1, results[5].Stat.NumChildren)

		results, err = s.Pipeline(w.ctx, creations(1000)...)
		require.NoError(w, err)
		require.Len(w, results, 1000)
		require.Zero(w, w.truthful(s, results))
	})
}

func TestAPipelineOfNothingSucceeds(t *testing.T) {
	inBubble(t, func(w *harness) {
		results, err := w.session().Pipeline(w.ctx)
		require.NoError(w, err)
		require.Empty(w, results)
	})
}

func TestAPipelineWithABadOperationIsNotSent(t *testing.T) {
	large := session.SetOp("/a", make([]byte, 1<<20), -1)
	each(t, map[string]struct {
		op   func(h *session.Hold) session.Op
		is   error
		text string
	}{
		"path":       {func(*session.Hold) session.Op { return session.GetOp("a") }, session.ErrInvalidPath, "path"},
		"check":      {func(*session.Hold) session.Op { return session.CheckOp("/a", 1) }, session.ErrUnsupported, "no checks"},
		"possession": {func(h *session.Hold) session.Op { return session.Under(session.SetOp("/a", nil, 1), h) }, session.ErrUnsupported, "no possession"},
		"parents":    {func(*session.Hold) session.Op { return session.CreateOp("/a/b", nil, session.Parents()) }, session.ErrUnsupported, "only Ephemeral"},
		"size":       {func(*session.Hold) session.Op { return large }, session.ErrTooLarge, "bytes"},
		"nothing":    {func(*session.Hold) (none session.Op) { return none }, nil, "SetOp"},
	}, func(w *harness, bad struct {
		op   func(h *session.Hold) session.Op
		is   error
		text string
	},
	) {
		s, _, h := w.holding()
		w.requests()
		results, err := s.Pipeline(w.ctx, session.CreateOp("/a", nil), bad.op(h), session.CreateOp("/b", nil))
		require.ErrorContains(w, err, "ops[1]: ")
		require.ErrorContains(w, err, bad.text)
		require.Len(w, results, 3)
		if bad.is != nil {
			require.ErrorIs(w, err, bad.is)
			require.ErrorIs(w, results[1].Err, bad.is)
		}
		require.Equal(w, []error{session.ErrNotSent, session.ErrNotSent}, []error{results[0].Err, results[2].Err})
		require.Empty(w, w.requests())
	})
}

// A server's limit that is smaller than the session was told is found out, and blamed on no request
// that is as small as others.
func TestAPipelineThatAServerHangsUpAtIsRefused(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/a", make([]byte, 2000))
		small := session.SetOp("/a", make([]byte, 2000), -1)
		for range 3 {
			require.ErrorIs(w, errOf(s.Pipeline(w.ctx, small, small, session.SetOp("/a", make([]byte, 30_000), -1), small)), session.ErrUnknownOutcome)
		}
		w.requests()
		results, err := s.Pipeline(w.ctx, small, session.SetOp("/a", make([]byte, 30_000), -1))
		isAll(w, err, session.ErrNotSent, session.ErrTooLarge)
		_, _, unsent := w.outcomes(results, session.ErrTooLarge)
		require.Equal(w, 2, unsent)
		require.Empty(w, w.requests())
		require.NoError(w, errOf(s.Pipeline(w.ctx, small, session.SetOp("/a", make([]byte, 9000), -1))))
	}, zktest.WithMaxPacket(10_000))
}

func TestATransactionHasNoReads(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding()
		for _, op := range []session.Op{session.GetOp("/"), session.ChildrenOp("/")} {
			for _, err := range []error{errOf(s.Multi(w.ctx, session.CreateOp("/a", nil), op)), errOf(h.Commit(w.ctx, session.CreateOp("/a", nil), op))} {
				require.ErrorIs(w, err, session.ErrUnsupported)
				require.ErrorContains(w, err, "ops[1]: ")
			}
		}
		require.False(w, w.exists(s, "/a"))
	})
}

// The 300th of 1,000 requests, or its reply, is lost, or the connection with it. Some of those
// behind it were sent already.
func TestAPipelineTellsTheTruthWhenItsConnectionIsLost(t *testing.T) {
	each(t, bubble.Fates, func(w *harness, fate zktest.Verdict) {
		s := w.open()
		n := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpCreate {
				if n++; n == 300 {
					return fate
				}
			}
			return zktest.Pass
		})
		results, err := s.Pipeline(w.ctx, creations(1000)...)
		done, unknown, unsent := w.outcomes(results)
		require.Equal(w, 1000, done+unknown+unsent)
		require.LessOrEqual(w, done, 299)
		require.LessOrEqual(w, unknown, 256)
		require.NotZero(w, unsent)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorContains(w, err, fmt.Sprintf("ops[%d]: ", done))
		found := w.truthful(s, results)
		w.pass(time.Minute)
		require.Equal(w, found, w.truthful(s, results), "something was carried out late")
		require.ErrorIs(w, results[999].Err, session.ErrSuspended)
	})
}

// A read tells the truth only when the session is connected again.
func TestAPipelineReturnsWhenAReadTellsTheOutcome(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Path == nth(1) })
		back := time.Now().Add(2 * time.Second)
		w.meets(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpConnect && time.Now().Before(back) })
		results, err := s.Pipeline(w.ctx, creations(3)...)
		require.Equal(w, session.ErrUnknownOutcome, results[1].Err, "no other cause: it is certain")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.False(w, time.Now().Before(back))
		require.Positive(w, w.truthful(s, results))
	})
}

func TestAPipelineIsToldThatItsEpochEnded(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		first := id(s)
		n := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpCreate && r.SessionID == first {
				if n++; n == 300 {
					w.srv.Expire(first)
				}
			}
			return zktest.Pass
		})
		results, err := s.Pipeline(w.ctx, creations(1000, session.Ephemeral())...)
		require.ErrorIs(w, err, session.ErrExpired)
		done, unknown, unsent := w.outcomes(results, session.ErrExpired)
		require.NotZero(w, done)
		require.NotZero(w, unknown)
		require.NotZero(w, unsent)
		require.EqualValues(w, 2, s.Status().Epoch)
		require.Equal(w, []string{"zookeeper"}, w.children(s, "/"), "nothing of it is carried out in the next epoch")
	})
}

func TestAPipelineEndsWithItsContext(t *testing.T) {
	each(t, map[string]func(w *harness) (ctx context.Context, cause error){
		"ended before": func(w *harness) (context.Context, error) {
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			return ctx, context.Canceled
		},
		"no connection": func(w *harness) (context.Context, error) {
			w.srv.Kill(0)
			synctest.Wait()
			return w.within(time.Second), context.DeadlineExceeded
		},
		"for the loss of another request": func(w *harness) (context.Context, error) {
			s := w.open(session.WithRetry(session.RetryTimes(0)))
			w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Path == "/other" })
			lost := errOf(s.Get(w.ctx, "/other"))
			require.ErrorIs(w, lost, session.ErrSuspended)
			ctx, cancel := context.WithCancelCause(w.ctx)
			time.AfterFunc(time.Second, func() { cancel(lost) })
			w.srv.Kill(0)
			synctest.Wait()
			return ctx, lost
		},
	}, func(w *harness, end func(w *harness) (ctx context.Context, cause error)) {
		s := w.open()
		ctx, cause := end(w)
		w.requests()
		results, err := s.Pipeline(ctx, creations(3)...)
		isAll(w, err, session.ErrNotSent, cause)
		_, _, unsent := w.outcomes(results, cause)
		require.Equal(w, 3, unsent)
		require.Empty(w, w.requests())
	})
}

// What is asked before the operations, for the namespace's sake, may be lost as well.
func TestAPipelineWhoseNamespaceIsNotFoundIsNotSent(t *testing.T) {
	each(t, bubble.Fates, func(w *harness, fate zktest.Verdict) {
		s := w.open(session.WithNamespace("/some/where"), session.WithRetry(session.RetryTimes(0)))
		w.cutOnce(fate, func(r *zktest.Request) bool { return r.Op == zktest.OpExists })
		results, err := s.Pipeline(w.ctx, creations(3)...)
		isAll(w, err, session.ErrNotSent, session.ErrSuspended)
		_, _, unsent := w.outcomes(results, session.ErrSuspended)
		require.Equal(w, 3, unsent)
		require.Empty(w, w.children(s, "/"))
	})
}

// The caller leaves in the middle, and uses its memory for something else.
func TestAPipelineThatIsLeftSendsNothingMore(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.meets(zktest.Delay(10*time.Millisecond), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate })
		data := []byte("mine")
		ops := creations(1000)
		for i := range ops {
			ops[i] = session.CreateOp(nth(i), data)
		}
		began := time.Now()
		results, err := s.Pipeline(w.within(time.Second), ops...)
		require.Equal(w, time.Second, time.Since(began))
		copy(data, "else")
		isAll(w, err, session.ErrUnknownOutcome, context.DeadlineExceeded)
		done, unknown, unsent := w.outcomes(results, context.DeadlineExceeded)
		require.Positive(w, done)
		require.Positive(w, unsent)
		w.pass(time.Minute)
		require.Equal(w, unknown, w.truthful(s, results))
		got, _, err := s.Get(w.ctx, nth(done))
		require.NoError(w, err)
		require.Equal(w, "mine", string(got))
	})
}

func TestAPipelineEndsWithItsSession(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.meets(zktest.Delay(10*time.Millisecond), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate })
		results := bubble.Begin(func() []session.Result {
			results, err := s.Pipeline(context.Background(), creations(1000)...)
			require.Error(w, err)
			return results
		})
		time.Sleep(time.Second)
		require.NoError(w, s.Close(w.ctx))
		all := bubble.Within(w, time.Minute, results, "the pipeline does not end")
		done, _, unsent := w.outcomes(all, session.ErrClosed)
		require.Positive(w, done)
		require.Positive(w, unsent)
		w.truthful(w.open(), all)
	})
}

// A server takes its time for each request. What the session holds depends on requests between
// those of the pipelines, and so does the application.
func TestLongPipelinesOnASlowServerLoseNothing(t *testing.T) {
	each(t, map[string]struct {
		pipelines, operations int
		delay, longest        time.Duration
	}{
		"a long one":    {1, 10_000, 10 * time.Millisecond, timeout / 8},
		"a slow server": {1, 200, 100 * time.Millisecond, timeout / 6},
		"many":          {100, 100, 10 * time.Millisecond, timeout / 4},
	}, func(w *harness, row struct {
		pipelines, operations int
		delay, longest        time.Duration
	},
	) {
		s, _, h := w.holding(session.WithTimeout(timeout))
		w.meets(zktest.Delay(row.delay), func(r *zktest.Request) bool { return r.Op != zktest.OpConnect })
		ops := creations(row.pipelines * row.operations)
		all := make(chan error, row.pipelines)
		for some := range slices.Chunk(ops, row.operations) {
			go func() { all <- errOf(s.Pipeline(w.ctx, some...)) }()
		}
		longest, reads := time.Duration(0), 0
		for ; len(all) < row.pipelines; reads++ {
			began := time.Now()
			require.True(w, w.exists(s, "/queue"))
			longest = max(longest, time.Since(began))
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(w, longest, row.longest)
		require.Greater(w, reads, 10)
		require.True(w, h.Valid())
		require.EqualValues(w, 1, s.Status().Epoch)
		for range row.pipelines {
			require.NoError(w, <-all)
		}
		require.Zero(w, w.truthful(s, make([]session.Result, len(ops))), "each is there")
	})
}

// As the paper on ZooKeeper has it, a new configuration is written with many requests, and the
// znode "ready" tells that it is whole. It must not be there if one of the writes was refused.
func TestWhatIsReadyIsWhole(t *testing.T) {
	each(t, map[string]bool{"each write succeeds": true, "one is refused": false}, func(w *harness, well bool) {
		s := w.open(session.WithNamespace("/config"))
		ops := creations(100)
		if !well {
			ops[50] = session.SetOp(nth(1), nil, 7)
		}
		results, err := s.Pipeline(w.ctx, ops...)
		if err == nil {
			w.create(s, "/ready", nil)
		}
		require.Equal(w, well, w.exists(s, "/ready"))
		require.True(w, w.exists(s, nth(99)), "the others were carried out")
		if !well {
			require.ErrorIs(w, results[50].Err, session.ErrBadVersion)
			require.ErrorContains(w, err, "ops[50]: ")
		}
	})
}

// A real server, and connections that break again and again: what was not sent is not carried out,
// and what was is as a read tells.
func TestRealPipelinesTellTheTruth(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, servers := onEnsemble(t, 1)
	s := w.openOn(servers.Proxied(), session.WithTimeout(20*time.Second))
	for round := range 20 {
		at := fmt.Sprint("/r", round)
		w.create(s, at, nil)
		ops := make([]session.Op, 2000)
		for i := range ops {
			ops[i] = session.CreateOp(at+nth(i), nil)
		}
		cut := time.AfterFunc(time.Duration(round)*5*time.Millisecond, func() { servers.Proxies()[0].Reset() })
		results, err := s.Pipeline(w.ctx, ops...)
		cut.Stop()
		done, unknown, unsent := w.outcomes(results)
		require.Equal(w, err == nil, done == len(ops))
		names := strings.Join(w.children(s, at), " ") + " "
		for i, r := range results {
			if !errors.Is(r.Err, session.ErrUnknownOutcome) {
				require.Equal(w, r.Err == nil, strings.Contains(names, nth(i)[1:]+" "), "%d: %v", i, r.Err)
			}
		}
		w.Logf("%d done, %d unknown, %d not sent: %v", done, unknown, unsent, err)
	}
}
