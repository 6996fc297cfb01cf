// Answers that are lost: what is asked again, what a read tells behind ErrUnknownOutcome, and that
// what was said not to be carried out is not carried out late. Helpers: helper_test.go, and misled
// in expired_test.go.

package session_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAWriteWhoseAnswerIsLostIsOfUnknownOutcome(t *testing.T) {
	each(t, map[string]zktest.Verdict{"request lost": zktest.CutBefore, "answer lost": zktest.CutAfter}, func(w *harness, verdict zktest.Verdict) {
		s := w.open()
		w.create(s, "/a", nil)
		for name, call := range map[string]func() error{
			"create": func() error { return errOf(s.Create(w.ctx, "/b", nil)) },
			"set":    func() error { return errOf(s.Set(w.ctx, "/a", []byte("x"), -1)) },
			"acl":    func() error { return errOf(s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermAll), -1)) },
			"multi":  func() error { return errOf(s.Multi(w.ctx, session.CreateOp("/c", nil))) },
			"delete": func() error { return s.Delete(w.ctx, "/a", -1) },
			"client": func() error { return w.client(s).commit(w, 1, session.CreateOp("/d", nil)) },
		} {
			w.cutOnce(verdict, func(r *zktest.Request) bool { return r.Op.Writes() })
			w.requests()
			require.ErrorIs(w, call(), session.ErrUnknownOutcome, name)
			ops := w.requests()
			require.Len(w, ops, 2, "it is sent once, and then a quorum is asked for a sign: %v", ops)
			require.Contains(w, ops[1], "multi")
		}
		require.Equal(w, verdict == zktest.CutAfter, w.exists(s, "/b"), "a read tells the truth")
	})
}

func TestAnUnknownOutcomeIsToldWhenTheContextEnds(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool {
			if r.Op == zktest.OpCreate {
				w.srv.Stop(0) // no sync to be had
				return true
			}
			return false
		})
		_, err := s.Create(w.within(3*time.Second), "/a", nil)
		isAll(w, err, session.ErrUnknownOutcome, context.DeadlineExceeded)
		w.srv.Continue(0)
	})
}

func TestReadsAreAskedAgain(t *testing.T) {
	inBubble(t, func(w *harness) {
		for _, c := range []struct {
			name   string
			policy session.RetryPolicy
			lost   int
			err    error
		}{
			{"by default", session.RetryTimes(12), 5, nil},
			{"as often as it says", session.RetryTimes(3), 3, nil},
			{"and no more", session.RetryTimes(3), 4, session.ErrSuspended},
			{"not at all", session.RetryPolicy{}, 1, session.ErrSuspended},
			{"until it is late", session.RetryElapsed(time.Minute), 1000, session.ErrSuspended},
			{"for ever", session.RetryForever(), 300, nil},
		} {
			s := w.open(session.WithRetry(c.policy))
			stop := w.meets(zktest.CutAfter, first(c.lost, func(r *zktest.Request) bool { return r.Op == zktest.OpExists }))
			require.ErrorIs(w, errOf(s.Exists(w.ctx, "/a")), c.err, c.name)
			stop()
		}
	})
}

// The pause before another try ends with the call's context, however long it is.
func TestAPauseBetweenTriesEndsWithTheContext(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open(session.WithRetry(session.RetryGrowing(9, time.Hour))) // the first at once, the second after an hour
		w.meets(zktest.CutAfter, first(2, func(r *zktest.Request) bool { return r.Op == zktest.OpGetData }))
		began := time.Now()
		require.ErrorIs(w, errOf(s.Get(w.within(time.Minute), "/a")), context.DeadlineExceeded)
		require.Equal(w, time.Minute, time.Since(began))
	})
}

func TestAnOverloadedServerIsAskedAgain(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		overload := func() {
			w.meets(zktest.Fail(zktest.ErrThrottled), first(3, func(r *zktest.Request) bool { return r.Op != zktest.OpPing && r.Op != zktest.OpConnect }))
		}
		overload()
		require.NoError(w, errOf(s.Children(w.ctx, "/")))
		overload()
		t := w.client(s)
		t.inQueue(w)
		for _, watch := range []bool{false, true} {
			overload()
			require.NoError(w, t.list(w, 1, "/queue", watch).Err)
			overload()
			require.NoError(w, t.read(w, 1, "/queue", watch).Err)
		}
		overload()
		require.NoError(w, t.multiRead(w, 1, session.Query{Path: "/queue"}).found[0].Err)
		overload()
		states := s.WatchData(w.ctx, "/missing") // whose birth is watched
		require.False(w, (<-states).Exists)
		w.create(s, "/missing", nil)
		require.True(w, (<-states).Exists)
	})
}

// With any single request or answer lost, the outcome is right and nothing stays behind.
func TestAnySingleLossIsResolved(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(b *bubble.World, _ int, strike func(s *session.Session)) {
		w := harnessOf(b)
		s, t := w.openClient(session.WithNamespace("/ns"))
		synctest.Wait()
		strike(s)
		var listed session.Listed
		j := wait(w, func(done func(session.Joined)) {
			t.JoinList(1, session.Join{Parent: "/a/queue", Name: "lock-"}, done, func(l session.Listed) { listed = l })
		})
		require.NoError(w, j.Err)
		require.True(w, t.read(w, 1, j.Path, true).Exists)
		synctest.Wait()
		require.NoError(w, listed.Err)
		require.Len(w, listed.Names, 1)
		next := t.join(w, 1, session.Join{Parent: "/a/queue", Name: "lock-", Replace: j.Path})
		require.NoError(w, next.Err)
		require.False(w, t.read(w, 1, j.Path, false).Exists)
		require.Contains(w, t.told(), "fired deleted "+j.Path)
		require.Equal(w, []string{s.Path(next.Path)}, w.ephemerals(id(s)))
		require.Equal(w, []string{next.Path}, t.Leftovers())
		t.remove(w, 1, next.Path)
		require.Empty(w, w.ephemerals(id(s)))
		require.Zero(w, session.RecordLen(s))
		require.EqualValues(w, 1, s.Status().Epoch)
	})
}

func TestACommitWhoseAnswerIsLostIsOfUnknownOutcome(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding()
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
		back := time.Now().Add(2 * time.Second) // until then there is no connection to be had
		w.meets(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpConnect && time.Now().Before(back) })
		require.ErrorIs(w, errOf(h.Commit(w.ctx, session.CreateOp("/a", nil))), session.ErrUnknownOutcome)
		require.False(w, time.Now().Before(back), "a read could not have told")
		require.True(w, w.exists(s, "/a"))
		require.NoError(w, h.Err())
	})
}

// The answer to a write is lost, and the server to come back to is a leader that was deposed and
// wakes. It answers a sync by itself and shows what was before the write. A read behind
// ErrUnknownOutcome must not show that.
func TestAReadBehindAnUnknownOutcomeIsNotOfThePast(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w *harness, s *session.Session) error{
		"create": func(w *harness, s *session.Session) error { return errOf(s.Create(w.ctx, "/new", nil)) },
		"multi": func(w *harness, s *session.Session) error {
			return errOf(s.Multi(w.ctx, session.CreateOp("/new", nil)))
		},
		"multi of a client": func(w *harness, s *session.Session) error {
			return w.client(s).commit(w, s.Status().Epoch, session.CreateOp("/new", nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range uint64(8) {
				inBubbleHere(t, func(w *harness) { w.pastAnswer(write) }, zktest.WithServers(3), zktest.WithSeed(round+1))
			}
		})
	}
}

func (w *harness) pastAnswer(write func(w *harness, s *session.Session) error) {
	const old, other = int64(0), int64(1) // servers; old is the leader that is deposed
	f := &misled{harness: w}
	f.reachable.Store(other)
	s := w.session(session.WithDialer(f.dial))
	require.NoError(w, s.Sync(w.ctx, "/"))
	w.srv.Depose(int(old))
	w.pass(20 * time.Second)

	remove := w.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		switch r.Op {
		case zktest.OpCreate, zktest.OpCreate2, zktest.OpMulti:
			f.reachable.Store(old)
			return zktest.CutAfter
		}
		return zktest.Pass
	})
	outcome := bubble.Begin(func() error { return write(w, s) })
	synctest.Wait()
	remove()
	require.Equal(w, old, f.reachable.Load())
	w.srv.Continue(int(old))
	require.ErrorIs(w, bubble.Within(w, time.Minute, outcome, "the write does not end"), session.ErrUnknownOutcome)
	require.True(w, w.exists(s, "/new"), "it was carried out")
}

// The leader, which is the second of two here, answers a sync from its own tree, which may be older
// than what a follower has answered. A transaction of its own comes behind that, with either
// result, and if its answer is lost another one does.
func TestSyncQuorumIsUpToDateAtTheLeaderToo(t *testing.T) {
	inBubble(t, func(w *harness) {
		follower, leader := w.openAt(0), w.openAt(1)
		create := func(s *session.Session, path string) {
			w.create(s, path, nil, session.WithNodeACL(session.AnyoneACL(session.PermCreate)...))
		}
		w.srv.Lag(0, 100)
		create(leader, "/a")
		require.False(w, w.exists(follower, "/a"))
		require.NoError(w, follower.Sync(w.ctx, "/"))
		require.True(w, w.exists(follower, "/a"))
		w.srv.Lag(0, 0)

		for path, at := range map[string]string{"/b": "/", "/c": "/c", "/d": "/missing"} {
			w.srv.Lag(1, 100)
			create(follower, path)
			require.NoError(w, leader.Sync(w.ctx, "/"))
			require.False(w, w.exists(leader, path))
			w.cutOnce(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			require.NoError(w, leader.SyncQuorum(w.ctx, at))
			require.True(w, w.exists(leader, path))
		}
		require.ErrorIs(w, leader.SyncQuorum(w.ctx, "a"), session.ErrInvalidPath)
	}, zktest.WithServers(2), zktest.WithVersion("3.8.0")) // where exists needs no permission
}

// The answer to a transaction is lost, and the check that makes its outcome visible is refused.
// That says nothing of the transaction.
func TestARefusedCheckSaysNothingOfALostTransaction(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		w.refuseAfterLoss(func(r *zktest.Request) bool { return r.Op == zktest.OpMulti }, zktest.OpMulti, zktest.Fail(zktest.ErrSystem))
		err := t.commit(w, 1, session.CreateOp("/a", nil))
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.NotContains(w, err.Error(), "went wrong in the server")
		require.True(w, w.exists(s, "/a"))
		w.refuseAfterLoss(func(r *zktest.Request) bool { return r.Op == zktest.OpSetData }, zktest.OpMulti, zktest.Fail(zktest.ErrSystem))
		w.requests()
		require.ErrorIs(w, errOf(s.Set(w.ctx, "/a", nil, -1)), session.ErrUnknownOutcome)
		require.Len(w, w.requests(), 1+5+1, "the write, the refused checks and the one that was not")
	})
}

// A server keeps a write, and its connection is lost. The session goes on at another server, where
// a read says that the write was not carried out. Then the first server is asked for the session
// once more, and again, and its link to the leader heals.
func TestAWriteThatWasDeniedIsNotCarriedOutLate(t *testing.T) {
	each(t, map[string]func(f *misled, file string) (closed bool){
		"the session goes on": func(f *misled, _ string) bool {
			f.srv.Disconnect(f.id)
			return false
		},
		"it is closed": func(f *misled, _ string) bool {
			f.srv.Disconnect(f.id)
			go func() { _ = f.s.Close(f.ctx) }() // the end of the test waits for it
			return true
		},
		"it is closed by the process after one that was killed": func(f *misled, file string) bool {
			next := filepath.Join(f.TempDir(), "next")
			text, err := os.ReadFile(file)
			require.NoError(f, err)
			require.NoError(f, os.WriteFile(next, text, 0o600))
			var first atomic.Bool
			session.Start(f.session(session.WithSessionFile(next), session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				if first.CompareAndSwap(false, true) {
					return f.srv.Dialer()(ctx, network, f.srv.Hosts()[1])
				}
				return f.dial(ctx, network, addr)
			})))
			return true
		},
	}, func(w *harness, again func(f *misled, file string) (closed bool)) {
		file := filepath.Join(w.TempDir(), "session")
		f := w.atALeader(session.WithSessionFile(file))
		heal := w.srv.HoldUp(0)
		outcome := bubble.Begin(func() error { return errOf(f.s.Create(w.ctx, "/late", nil)) })
		synctest.Wait()
		w.srv.Disconnect(f.id)
		time.Sleep(timeout / 10)
		f.reachable.Store(1)
		require.ErrorIs(w, <-outcome, session.ErrUnknownOutcome)
		require.False(w, w.exists(f.s, "/late"))

		f.reachable.Store(0)
		closed := again(f, file)
		time.Sleep(timeout / 10)
		heal()
		time.Sleep(timeout)
		require.ErrorIs(w, errOf(w.srv.Znodes(w).Get("/late")), zktest.ErrNoNode)
		lives := slices.ContainsFunc(w.srv.Sessions(), func(s zktest.Session) bool { return s.ID == f.id })
		require.Equal(w, closed, !lives)
	}, zktest.WithServers(3))
}
