package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// cutOnce cuts the connection once, at the first request for which when is true.
func (w *world) cutOnce(verdict zktest.Verdict, when func(r *zktest.Request) bool) {
	done := false
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		if done || !when(r) {
			return zktest.Pass
		}
		done = true
		return verdict
	})
}

func TestAWriteWhoseAnswerIsLostIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]zktest.Verdict{"request lost": zktest.CutBefore, "answer lost": zktest.CutAfter} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				_, err := s.Create(w.ctx, "/a", nil)
				require.NoError(w, err)
				for name, call := range map[string]func() error{
					"create": func() error { _, err := s.Create(w.ctx, "/b", nil); return err },
					"set":    func() error { _, err := s.Set(w.ctx, "/a", []byte("x"), -1); return err },
					"acl":    func() error { _, err := s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermAll), -1); return err },
					"multi":  func() error { _, err := s.Multi(w.ctx, session.CreateOp("/c", nil)); return err },
					"delete": func() error { return s.Delete(w.ctx, "/a", -1) },
				} {
					w.cutOnce(verdict, func(r *zktest.Request) bool { return r.Op.Writes() })
					w.requests()
					err := call()
					require.ErrorIs(w, err, session.ErrUnknownOutcome, name)
					ops := w.requests()
					require.Len(w, ops, 2, "it is sent once, and then a quorum is asked for a sign: %v", ops)
					require.Contains(w, ops[1], "multi")
				}
				_, exists, err := s.Exists(w.ctx, "/b")
				require.NoError(w, err)
				require.Equal(w, verdict == zktest.CutAfter, exists, "a read tells the truth")
			})
		})
	}
}

func TestUnknownOutcomeAndTheEndOfThePatience(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool {
			if r.Op == zktest.OpCreate {
				w.srv.Stop(0) // no sync to be had
				return true
			}
			return false
		})
		ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
		defer cancel()
		_, err := s.Create(ctx, "/a", nil)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.srv.Continue(0)
	})
}

func TestReadsAreAskedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		lost := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpExists && lost > 0 {
				lost--
				return zktest.CutAfter
			}
			return zktest.Pass
		})
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
			w.script(func() { lost = c.lost })
			_, _, err := s.Exists(w.ctx, "/a")
			require.ErrorIs(w, err, c.err, c.name)
			w.script(func() { lost = 0 })
		}
	})
}

func TestAnOverloadedServerIsAskedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		throttled := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op != zktest.OpPing && r.Op != zktest.OpConnect && throttled < 3 {
				throttled++
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		})
		_, _, err := s.Children(w.ctx, "/")
		require.NoError(w, err)
		w.script(func() { throttled = 0 })
		require.NoError(w, w.client(s).join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Err)
		t := w.client(s)
		for _, watch := range []bool{false, true} {
			w.script(func() { throttled = 0 })
			require.NoError(w, t.list(w, 1, "/line", watch).Err)
			w.script(func() { throttled = 0 })
			require.NoError(w, t.read(w, 1, "/line", watch).Err)
		}
		w.script(func() { throttled = 0 })
		states := s.WatchData(w.ctx, "/missing") // whose birth is watched
		require.False(w, (<-states).Exists)
		_, err = s.Create(w.ctx, "/missing", nil)
		require.NoError(w, err)
		require.True(w, (<-states).Exists)
	})
}

// B75, B03: whatever single answer is lost on the way, a protected create makes one znode, and one
// that is given up leaves none.
func TestB75_ProtectedCreateIsResolvedByLooking(t *testing.T) {
	t.Parallel()
	for _, verdict := range []zktest.Verdict{zktest.CutBefore, zktest.CutAfter} {
		for k := 1; k <= 6; k++ {
			t.Run(fmt.Sprintf("%v of request %d", verdict, k), func(t *testing.T) {
				inBubble(t, func(w *world) {
					s := w.open()
					n := 0
					w.intercept(func(r *zktest.Request) zktest.Verdict {
						if r.SessionID != id(s) || r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
							return zktest.Pass
						}
						if n++; n == 1 { // the reconnection is to a server that lags behind, and only a sync gets it up to date
							w.srv.Lag(1, 1000)
							return zktest.CutAfter
						}
						if n == k {
							return verdict
						}
						return zktest.Pass
					})
					path, err := s.Create(w.ctx, "/box/p-", nil, session.Parents(), session.Protected(), session.Sequential(), session.Ephemeral())
					require.NoError(w, err)
					require.Equal(w, []string{path}, w.ephemerals(id(s)))
				}, zktest.WithServers(2))
			})
		}
	}
}

// B02: the znode that is found belongs to the session before. It is not one's own, and does not
// stay.
func TestB02_AFoundZnodeOfAnotherSessionIsNotOnesOwn(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/box"))
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool {
			if r.Op != zktest.OpCreate || r.SessionID != id(s) {
				return false
			}
			go func() { // ends at once: it needs the server, which is busy with this request
				names, _, _ := other.Children(w.ctx, "/box")
				for len(names) == 0 {
					names, _, _ = other.Children(w.ctx, "/box")
				}
				// The session ends, but its znode is still seen: here, since it is made again under
				// its name by somebody else.
				w.srv.Expire(r.SessionID)
				_, err := other.Create(w.ctx, "/box/"+names[0], nil, session.Ephemeral())
				assert.NoError(w, err)
			}()
			return true
		})
		path, err := s.Create(w.ctx, "/box/p-", nil, session.Protected(), session.Ephemeral(), session.Sequential())
		require.NoError(w, err)
		stat, exists, err := s.Exists(w.ctx, path)
		require.NoError(w, err)
		require.True(w, exists)
		require.Equal(w, id(s), stat.EphemeralOwner)
		names, _, err := s.Children(w.ctx, "/box")
		require.NoError(w, err)
		require.Len(w, names, 1)
	})
}

// B03: the caller has left when the answer, or word of it, comes: nothing stays.
func TestB03_AProtectedCreateThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]session.CreateOption{
		"ephemeral":  {session.Ephemeral(), session.Sequential()},
		"persistent": nil,
	} {
		for _, verdict := range []zktest.Verdict{zktest.Delay(3 * time.Second), zktest.CutBefore, zktest.CutAfter} {
			t.Run(fmt.Sprint(name, " ", verdict), func(t *testing.T) {
				inBubble(t, func(w *world) {
					s, other := w.open(), w.open()
					var down time.Time // until when there is no connection to be had
					w.intercept(func(r *zktest.Request) zktest.Verdict {
						switch {
						case r.Op == zktest.OpConnect && time.Now().Before(down):
							return zktest.CutBefore
						case r.Op == zktest.OpCreate && down.IsZero():
							down = time.Now().Add(3 * time.Second)
							return verdict
						}
						return zktest.Pass
					})
					ctx, cancel := context.WithTimeout(w.ctx, time.Millisecond)
					defer cancel()
					_, err := s.Create(ctx, "/p-", nil, append(opts, session.Protected())...)
					require.ErrorIs(w, err, context.DeadlineExceeded)
					time.Sleep(10 * time.Second)
					names, _, err := other.Children(w.ctx, "/")
					require.NoError(w, err)
					require.NotContains(w, strings.Join(names, " "), "p-")
					require.EqualValues(w, 1, s.Status().Epoch)
				})
			})
		}
	}
}

// With any single answer lost, whichever it is, the outcome is right and nothing stays behind: the
// k-th, for every k.
func TestAnySingleLossIsResolved(t *testing.T) {
	t.Parallel()
	for _, verdict := range []zktest.Verdict{zktest.CutBefore, zktest.CutAfter} {
		for k := 1; k <= 20; k++ {
			t.Run(fmt.Sprintf("%v of request %d", verdict, k), func(t *testing.T) {
				inBubble(t, func(w *world) {
					s := w.open(session.WithNamespace("/ns"))
					t := w.client(s)
					synctest.Wait()
					n := 0
					remove := w.intercept(func(r *zktest.Request) zktest.Verdict {
						if r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
							return zktest.Pass
						}
						if n++; n == k {
							return verdict
						}
						return zktest.Pass
					})
					var listed session.Listed
					j := wait(w, func(done func(session.Joined)) {
						t.JoinList(1, session.Join{Parent: "/a/line", Name: "lock-"}, done, func(l session.Listed) { listed = l })
					})
					require.NoError(w, j.Err)
					seen := t.read(w, 1, j.Path, true)
					require.True(w, seen.Exists)
					synctest.Wait()
					require.NoError(w, listed.Err)
					require.Len(w, listed.Names, 1)
					next := t.join(w, 1, session.Join{Parent: "/a/line", Name: "lock-", Replace: j.Path})
					require.NoError(w, next.Err)
					require.False(w, t.read(w, 1, j.Path, false).Exists)
					require.Contains(w, t.told(), "fired NodeDeleted "+j.Path)
					require.Equal(w, []string{s.Path(next.Path)}, w.ephemerals(id(s)))
					require.Equal(w, []string{next.Path}, t.Leftovers())
					t.remove(w, 1, next.Path)
					require.Empty(w, w.ephemerals(id(s)))
					require.Zero(w, session.LedgerLen(s))
					remove()
					require.Less(w, n, 20, "not every request had its turn")
					require.EqualValues(w, 1, s.Status().Epoch)
				})
			})
		}
	}
}

func TestACommitWhoseAnswerIsLost(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
		_, err := h.Commit(w.ctx, session.CreateOp("/a", nil))
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		_, exists, err := s.Exists(w.ctx, "/a")
		require.NoError(w, err)
		require.True(w, exists)

		w.cutOnce(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
		type committed struct {
			results []session.Result
			err     error
		}
		c := wait(w, func(done func(committed)) {
			t.Commit(1, []session.Op{session.CreateOp("/b", nil)}, func(r []session.Result, err error) { done(committed{r, err}) })
		})
		require.ErrorIs(w, c.err, session.ErrUnknownOutcome)
		c = wait(w, func(done func(committed)) {
			t.Commit(1, []session.Op{session.CreateOp("/b", nil)}, func(r []session.Result, err error) { done(committed{r, err}) })
		})
		require.NoError(w, c.err)
		require.Equal(w, "/b", c.results[0].Path)
		require.NotErrorIs(w, h.Err(), session.ErrLost)
	})
}

// The answer to a create is lost, and looking for the znode is refused too, for a while or for
// good. That says nothing of the create: an error that does would leave a znode that nobody knows
// of.
func TestALostCreateThatCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]zktest.Verdict{"overloaded": zktest.Fail(zktest.ErrThrottled), "not permitted": zktest.Fail(zktest.ErrNoAuth)} {
		refuse := func(w *world, s *session.Session, times int) {
			lost, refused := false, 0
			w.intercept(func(r *zktest.Request) zktest.Verdict {
				switch {
				case r.SessionID != id(s) || r.Op == zktest.OpConnect:
				case creates(r) && !lost:
					lost = true
					return zktest.CutAfter
				case lost && r.Op == zktest.OpGetChildren2 && refused != times:
					refused++
					return refusal
				}
				return zktest.Pass
			})
		}
		t.Run("contender, "+name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				require.NoError(w, s.EnsurePath(w.ctx, "/line"))
				refuse(w, s, 5)
				j := w.client(s).join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
				require.NoError(w, j.Err)
				require.Equal(w, []string{j.Path}, w.ephemerals(id(s)))
			})
		})
		t.Run("protected, "+name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				refuse(w, s, 5)
				path, err := s.Create(w.ctx, "/p-", nil, session.Protected(), session.Ephemeral())
				if name == "overloaded" {
					require.NoError(w, err)
					require.Equal(w, []string{path}, w.ephemerals(id(s)))
					return
				}
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
				require.ErrorIs(w, err, session.ErrNoAuth)
			})
		})
	}
}
