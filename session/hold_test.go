// Holds, wholes of several holds, the transactions that they guard; and that nothing that is
// written under a hold is carried out behind its end. Helpers: helper_test.go.

package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAHoldEndsOnceWithItsCause(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		j := t.inQueue(w)
		var causes []error
		h, err := t.Hold(1, j.Path, 42, func(cause error) { causes = append(causes, cause) })
		require.NoError(w, err)
		require.Equal(w, j.Path, h.Path())
		require.EqualValues(w, 42, h.Token())
		require.Same(w, s, h.Session())
		require.True(w, h.Valid())
		require.NoError(w, h.Err())
		bubble.Never(w, h.Done())
		// Err is there before Done, and the context's cause is the same.
		seen := bubble.Begin(func() error { <-h.Done(); return h.Err() })
		require.True(w, t.End(h, session.ErrReleased))
		require.Equal(w, session.ErrReleased, <-seen)
		require.Equal(w, session.ErrReleased, context.Cause(h.Context()))
		require.False(w, t.End(h, session.ErrDeleted), "once")
		require.Equal(w, session.ErrReleased, h.Err())
		require.Equal(w, []error{session.ErrReleased}, causes)
		require.False(w, h.Valid())

		h, err = t.Hold(1, j.Path, 42, func(error) {})
		require.NoError(w, err)
		require.True(w, t.End(h, session.ErrRestarted))
		isAll(w, h.Err(), session.ErrLost, session.ErrRestarted)
	})
}

func TestACommitIsCarriedOutWhileItsHoldStands(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		t := w.client(s)
		h := t.hold(w, 1, "/queue")
		results, err := h.Commit(w.ctx, session.CreateOp("/n-", []byte("x"), session.Sequential()), session.CheckOp("/queue", -1))
		require.NoError(w, err)
		require.Len(w, results, 2, "without the guard's")
		require.Regexp(w, `^/n-\d{10}$`, results[0].Path)
		results, err = h.Commit(w.ctx, session.CheckOp("/queue", 99), session.DeleteOp("/queue", -1))
		require.ErrorIs(w, err, session.ErrBadVersion)
		require.NotErrorIs(w, err, session.ErrLost)
		require.Len(w, results, 2)
		require.ErrorIs(w, results[0].Err, session.ErrBadVersion)
		require.True(w, h.Valid())

		require.True(w, t.End(h, session.ErrReleased))
		_, err = h.Commit(w.ctx, session.CreateOp("/late", nil))
		isAll(w, err, session.ErrLost, session.ErrReleased)
	})
}

func TestContextsKnowTheirHolds(t *testing.T) {
	inBubble(t, func(w *harness) {
		_, t := w.openClient()
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		require.Empty(w, slices.Collect(session.HoldsFrom(w.ctx)))
		require.Equal(w, []*session.Hold{a}, slices.Collect(session.HoldsFrom(a.Context())))
		type key struct{}
		outer, cancelOuter := session.Within(context.WithValue(w.ctx, key{}, "kept"), a)
		defer cancelOuter()
		inner, cancel := session.Within(outer, b)
		defer cancel()
		require.Equal(w, []*session.Hold{b, a}, slices.Collect(session.HoldsFrom(inner)))
		require.Equal(w, "kept", inner.Value(key{}))
		require.NoError(w, inner.Err())

		t.End(a, session.ErrDeleted)
		synctest.Wait()
		require.ErrorIs(w, context.Cause(inner), session.ErrDeleted)
		require.ErrorIs(w, context.Cause(outer), session.ErrDeleted)
		require.NoError(w, b.Err())
		third, cancel := session.Within(w.ctx, b)
		cancel()
		require.ErrorIs(w, third.Err(), context.Canceled)

		c, d := t.hold(w, 1, "/c"), t.hold(w, 1, "/d")
		all, end, _ := joined(b, c)
		require.Equal(w, []*session.Hold{b, c}, slices.Collect(session.HoldsFrom(all.Context())))
		within, cancel := session.Within(d.Context(), all)
		defer cancel()
		require.Equal(w, []*session.Hold{b, c, d}, slices.Collect(session.HoldsFrom(within)))
		end(session.ErrRestarted)
		<-within.Done()
		require.ErrorIs(w, context.Cause(within), session.ErrRestarted)
	})
}

func TestAWholeEndsWithItsFirstPart(t *testing.T) {
	inBubble(t, func(w *harness) {
		_, t := w.openClient()
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, end, causes := joined(a, b)
		require.True(w, h.Valid())
		require.NoError(w, h.Err())
		require.Equal(w, a.Path(), h.Path())
		require.Equal(w, a.Token(), h.Token())
		require.Same(w, a.Session(), h.Session())
		seen := bubble.Begin(func() error { <-h.Done(); return h.Err() })
		require.True(w, t.End(b, session.ErrRestarted))
		require.False(w, h.Valid())
		require.ErrorIs(w, <-seen, session.ErrRestarted)
		require.Equal(w, b.Err(), h.Err())
		require.Equal(w, []error{h.Err()}, *causes)
		require.True(w, a.Valid(), "the other part goes on")
		require.True(w, t.End(a, session.ErrReleased))
		require.False(w, end(session.ErrReleased), "once")
		require.ErrorIs(w, h.Err(), session.ErrRestarted)
		require.Len(w, *causes, 1)
	})
}

func TestAWholeThatIsEndedLeavesItsParts(t *testing.T) {
	inBubble(t, func(w *harness) {
		_, t := w.openClient()
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, end, causes := joined(a, b)
		require.True(w, end(session.ErrReleased))
		require.Equal(w, session.ErrReleased, h.Err())
		require.True(w, a.Valid() && b.Valid())
		t.End(a, session.ErrDeleted)
		require.Equal(w, []error{session.ErrReleased}, *causes)

		late, _, causes := joined(b, a)
		<-late.Done()
		require.ErrorIs(w, late.Err(), session.ErrDeleted)
		require.Len(w, *causes, 1)
		t.End(b, session.ErrReleased)
		require.Len(w, *causes, 1)
	})
}

func TestACommitOfAWholeChecksEachPart(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		t := w.client(s)
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, _, _ := joined(a, b)
		results, err := h.Commit(w.ctx, session.CreateOp("/done", nil), session.CheckOp("/a", -1))
		require.NoError(w, err)
		require.Len(w, results, 2, "without the guards'")
		require.Equal(w, "/done", results[0].Path)

		require.NoError(w, s.Delete(w.ctx, b.Path(), -1)) // and nothing watches it
		_, err = h.Commit(w.ctx, session.CreateOp("/late", nil))
		isAll(w, err, session.ErrLost, session.ErrDeleted)
		require.ErrorIs(w, b.Err(), session.ErrDeleted, "the part that is gone")
		require.NoError(w, a.Err())
		require.False(w, w.exists(s, "/late"))
	})
}

// guardedWrite creates a znode under a hold.
type guardedWrite func(w *harness, t *client, h *session.Hold, path string) error

// guardedWrites are the ways to do so.
var guardedWrites = map[string]guardedWrite{
	"commit": func(w *harness, _ *client, h *session.Hold, path string) error {
		return errOf(h.Commit(w.ctx, session.CreateOp(path, nil)))
	},
	"multi": func(w *harness, _ *client, h *session.Hold, path string) error {
		return errOf(h.Session().Multi(w.ctx, session.CreateOp(path, nil), session.Under(session.CheckOp(h.Path(), -1), h)))
	},
	"commit of another hold": func(w *harness, t *client, h *session.Hold, path string) error {
		return errOf(t.hold(w, 1, "/other").Commit(w.ctx, session.CreateOp(path, nil), session.Under(session.CheckOp(h.Path(), -1), h)))
	},
	"transaction of a client": func(w *harness, t *client, h *session.Hold, path string) error {
		ops := []session.Op{session.CreateOp(path, nil), session.Under(session.CheckOp(h.Path(), -1), h), session.CreateOp("/z", nil, session.Sequential())}
		return wait(w, func(done func(error)) {
			t.Commit(1, ops, func(results []session.Result, err error) {
				if errors.Is(err, session.ErrNoNode) { // the check has failed, or would have
					require.Len(w, results, 3)
					require.ErrorIs(w, results[1].Err, session.ErrNoNode)
					require.ErrorIs(w, results[2].Err, session.ErrRolledBack)
					<-h.Done()
					err = fmt.Errorf("%w: %w", session.ErrLost, h.Err())
				}
				done(err)
			})
		})
	},
}

// A transaction that was begun while the hold stood, and has not been handed to the connection when
// it ends, is not sent behind what is sent after the end. Neither the end nor what is told of it
// waits for the network. The second table has what the write is under, and what ends that.
func TestAHoldEndsAheadOfWhatWasNotSent(t *testing.T) {
	pairs(t, guardedWrites, map[string]func(t *client, h *session.Hold) (*session.Hold, func() bool){
		"a hold": func(t *client, h *session.Hold) (*session.Hold, func() bool) {
			return h, func() bool { return t.End(h, session.ErrReleased) }
		},
		"a whole": func(_ *client, h *session.Hold) (*session.Hold, func() bool) {
			joint, end := session.JoinHolds([]*session.Hold{h}, func(error) {})
			return joint, func() bool { return end(session.ErrReleased) }
		},
		"a part": func(t *client, h *session.Hold) (*session.Hold, func() bool) {
			joint, _ := session.JoinHolds([]*session.Hold{h}, func(error) {})
			return joint, func() bool { return t.End(h, session.ErrReleased) }
		},
	}, func(w *harness, write guardedWrite, ends func(t *client, h *session.Hold) (*session.Hold, func() bool)) {
		var n network
		s, t := w.openClient(n.dialer(w.srv))
		h, end := ends(t, t.hold(w, 1, "/queue"))
		unclog := n.clog()
		ahead := bubble.Begin(func() error { return s.Sync(w.ctx, "/") }) // it keeps the connection busy
		synctest.Wait()
		written := bubble.Begin(func() error { return write(w, t, h, "/late") })
		synctest.Wait()
		require.Empty(w, written)
		begun := time.Now()
		require.True(w, end())
		require.Zero(w, time.Since(begun), "it waits for nothing")
		unclog()
		require.NoError(w, <-ahead)
		require.ErrorIs(w, <-written, session.ErrLost)
		require.False(w, w.exists(s, "/late"))
	})
}

// A transaction that waits for a connection when the hold ends is not sent, and one that was sent
// is not sent again.
func TestAHoldEndsWithoutAConnection(t *testing.T) {
	pairs(t, guardedWrites, map[string]bool{"waiting": false, "lost": true}, func(w *harness, write guardedWrite, sent bool) {
		s, t, h := w.holding()
		if !sent {
			w.srv.Kill(0)
			synctest.Wait()
		}
		tries := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			for _, op := range r.Ops {
				if op.Path == "/late" {
					tries++
					return zktest.CutBefore
				}
			}
			return zktest.Pass
		})
		written := bubble.Begin(func() error { return write(w, t, h, "/late") })
		if sent {
			time.Sleep(time.Millisecond)
			w.srv.Kill(0)
		}
		synctest.Wait()
		require.True(w, t.End(h, session.ErrReleased))
		require.NoError(w, w.srv.Restart(0))
		if sent {
			require.ErrorIs(w, <-written, session.ErrUnknownOutcome)
		} else {
			require.ErrorIs(w, <-written, session.ErrLost)
		}
		time.Sleep(time.Minute)
		require.False(w, w.exists(s, "/late"))
		w.script(func() { require.Equal(w, map[bool]int{true: 1}[sent], tries) })
	})
}

// The znode is gone, and word of it is slow: the check that fails is how the hold learns of it.
func TestWhatIsUnderAHoldIsLostWithItsZnode(t *testing.T) {
	each(t, guardedWrites, func(w *harness, write guardedWrite) {
		s, other := w.open(session.WithNamespace("/ours")), w.open()
		t := w.client(s)
		j := t.inQueue(w)
		h, err := t.Hold(1, j.Path, 1, func(error) {}) // nothing watches the znode
		require.NoError(w, err)
		require.NoError(w, write(w, t, h, "/early"))
		require.NoError(w, other.Delete(w.ctx, "/ours"+j.Path, -1))
		require.True(w, h.Valid())
		err = write(w, t, h, "/late")
		isAll(w, err, session.ErrLost, session.ErrDeleted)
		require.ErrorIs(w, h.Err(), session.ErrDeleted)
		require.False(w, w.exists(s, "/late"))
	})
}

// Another operation of the transaction that fails is no loss; nor is one under the hold that does
// not check its znode.
func TestAnOperationUnderAHoldMayFailWithoutItsLoss(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding()
		results, err := s.Multi(w.ctx, session.Under(session.CheckOp(h.Path(), -1), h), session.Under(session.DeleteOp("/nothing", -1), h))
		require.ErrorIs(w, err, session.ErrNoNode)
		require.NotErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, results[1].Err, session.ErrNoNode)
		require.ErrorIs(w, errOf(s.Multi(w.ctx, session.Under(session.CheckOp(h.Path(), 7), h))), session.ErrBadVersion)
		require.True(w, h.Valid())
	})
}

// No transaction of one session can check what belongs to another.
func TestATransactionUnderAHoldOfAnotherSessionIsRefused(t *testing.T) {
	inBubble(t, func(w *harness) {
		one, two := w.open(), w.open()
		t := w.client(one)
		h := t.hold(w, 1, "/queue")
		theirs := w.client(two).hold(w, 1, "/queue")
		joint, _ := session.JoinHolds([]*session.Hold{theirs, h}, func(error) {})
		for _, other := range []*session.Hold{h, joint} {
			check := session.Under(session.CheckOp(other.Path(), -1), other)
			require.ErrorIs(w, errOf(two.Multi(w.ctx, check)), session.ErrUnsupported)
			require.ErrorIs(w, errOf(theirs.Commit(w.ctx, check)), session.ErrUnsupported)
			require.ErrorIs(w, w.client(two).commit(w, 1, check), session.ErrUnsupported)
		}
		require.ErrorIs(w, errOf(joint.Commit(w.ctx, session.CreateOp("/done", nil))), session.ErrUnsupported)
		require.True(w, joint.Valid())
		require.True(w, t.End(h, session.ErrDeleted))
		require.ErrorIs(w, joint.Err(), session.ErrDeleted)
	})
}

// A transaction that waits for a connection waits with its hold: it never acts in another epoch.
func TestACommitThatWaitsForAConnectionEndsWithItsHold(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		w.srv.Kill(0)
		synctest.Wait()
		begun := time.Now()
		_, err := h.Commit(w.ctx, session.CreateOp("/late", nil))
		isAll(w, err, session.ErrLost, session.ErrUntrusted)
		require.Equal(w, timeout/2, time.Since(begun))
		require.NoError(w, w.srv.Restart(0))
		require.False(w, w.exists(s, "/late"))
	})
}

// What the record knows to be gone, or to be going, is not held, though the client has not heard of
// that: its watch waits behind the answer to another client, which is slow.
func TestWhatIsKnownToBeGoneIsNotHeld(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session, t *client, path string){
		"deleted by the session's user": func(w *harness, s *session.Session, _ *client, path string) {
			require.NoError(w, s.Delete(w.ctx, path, -1))
		},
		"being deleted": func(w *harness, _ *session.Session, t *client, path string) {
			w.meets(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpDelete })
			t.Remove(1, path, func(error) {})
			synctest.Wait()
		},
	}, func(w *harness, gone func(w *harness, s *session.Session, t *client, path string)) {
		s, t := w.openClient()
		w.create(s, "/slow", nil)
		j := t.inQueue(w)
		require.True(w, t.read(w, 1, j.Path, true).Exists)
		free := make(chan struct{})
		t.Read(1, "/slow", true, func(session.Seen) { <-free })
		synctest.Wait()
		t.told()
		gone(w, s, t, j.Path)
		require.Empty(w, t.told(), "it has heard nothing")
		require.ErrorIs(w, errOf(t.Hold(1, j.Path, j.Stat.Czxid, func(error) {})), session.ErrDeleted)
		close(free)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"fired deleted " + j.Path}, t.told())
	})
}

// grant is a possession as recipes have it; own and fake are what an application makes of one.
type (
	grant struct{ *session.Hold }
	own   struct{ *grant }
	fake  struct{ session.Possession }
)

func TestWhatHasAHoldInItIsAPossession(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding()
		for name, p := range map[string]session.Possession{"a hold": h, "a grant": &grant{h}, "a grant by value": grant{h}, "a type of one's own": &own{&grant{h}}, "a fake": fake{h}} {
			require.Same(w, h, session.HoldOf(p), name)
			require.NoError(w, errOf(s.Multi(w.ctx, session.Under(session.CheckOp(h.Path(), -1), p))), name)
			ctx, cancel := session.Within(w.ctx, p)
			require.NoError(w, ctx.Err(), name)
			cancel()
		}
		for name, p := range map[string]session.Possession{
			"nil": nil, "no hold": (*session.Hold)(nil), "no grant": (*grant)(nil), "a grant without a hold": &grant{}, "the same by value": grant{},
			"a type of one's own without a grant": own{}, "the same by pointer": &own{}, "an empty fake": fake{}, "a fake of nothing": fake{(*grant)(nil)},
		} {
			require.Nil(w, session.HoldOf(p), name)
		}
	})
}
