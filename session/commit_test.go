// Nothing that is written under a hold is carried out behind its end.

package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// guardedWrites are the ways to write under a hold.
var guardedWrites = map[string]guardedWrite{
	"commit": func(w *world, _ *client, h *session.Hold, path string) error {
		_, err := h.Commit(w.ctx, session.CreateOp(path, nil))
		return err
	},
	"multi": func(w *world, _ *client, h *session.Hold, path string) error {
		_, err := h.Session().Multi(w.ctx, session.CreateOp(path, nil), session.CheckOp(h.Path(), -1).Under(h))
		return err
	},
	"commit of another hold": func(w *world, t *client, h *session.Hold, path string) error {
		_, err := t.hold(w, 1, "/other").Commit(w.ctx, session.CreateOp(path, nil), session.CheckOp(h.Path(), -1).Under(h))
		return err
	},
	"transaction of a client": func(w *world, t *client, h *session.Hold, path string) error {
		ops := []session.Op{session.CreateOp(path, nil), session.CheckOp(h.Path(), -1).Under(h), session.CreateOp("/z", nil, session.Sequential())}
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
// waits for the network.
func TestAHoldEndsAheadOfWhatWasNotSent(t *testing.T) {
	t.Parallel()
	for name, write := range guardedWrites {
		for part, ends := range map[string]func(t *client, h *session.Hold) (*session.Hold, func() bool){
			"a hold": func(t *client, h *session.Hold) (*session.Hold, func() bool) {
				return h, func() bool { return t.End(h, session.ErrReleased) }
			},
			"a whole": func(_ *client, h *session.Hold) (*session.Hold, func() bool) {
				whole, end := session.JoinHolds([]*session.Hold{h}, func(error) {})
				return whole, func() bool { return end(session.ErrReleased) }
			},
			"a part": func(t *client, h *session.Hold) (*session.Hold, func() bool) {
				whole, _ := session.JoinHolds([]*session.Hold{h}, func(error) {})
				return whole, func() bool { return t.End(h, session.ErrReleased) }
			},
		} {
			t.Run(name+" of "+part, func(t *testing.T) {
				inBubble(t, func(w *world) {
					var n network
					s, t := w.openClient(n.dialer(w.srv))
					h, end := ends(t, t.hold(w, 1, "/line"))
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
			})
		}
	}
}

// A transaction that waits for a connection when the hold ends is not sent, and one that was sent
// is not sent again.
func TestAHoldEndsWithoutAConnection(t *testing.T) {
	t.Parallel()
	for name, write := range guardedWrites {
		for fate, sent := range map[string]bool{"waiting": false, "lost": true} {
			t.Run(name+" "+fate, func(t *testing.T) {
				inBubble(t, func(w *world) {
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
			})
		}
	}
}

// Whoever has ended a hold, and then lets another one have what it stood for, finds that nothing is
// carried out under it any more.
func TestWhatIsSentBehindTheEndOfAHoldIsCarriedOutBehindItsWrites(t *testing.T) {
	each(t, guardedWrites, func(w *world, write guardedWrite) {
		s, t := w.openClient()
		j := t.join(w, 1, session.Join{Parent: "/alive", Name: "this-"}) // which goes on standing
		carriedOut := 0
		for round := range 300 {
			h, err := t.Hold(1, j.Path, 1, func(error) {})
			require.NoError(w, err)
			late, back := fmt.Sprint("/late-", round), fmt.Sprint("/back-", round)
			written := bubble.Begin(func() error { return write(w, t, h, late) })
			for range round % 50 {
				runtime.Gosched()
			}
			require.True(w, t.End(h, session.ErrReleased))
			require.NoError(w, t.commit(w, 1, session.CreateOp(back, nil)))
			err = <-written
			ours, exists, look := s.Exists(w.ctx, late)
			require.NoError(w, look)
			require.Equal(w, err == nil, exists)
			if !exists {
				require.ErrorIs(w, err, session.ErrLost)
				continue
			}
			carriedOut++
			next, _, err := s.Exists(w.ctx, back)
			require.NoError(w, err)
			require.Less(w, ours.Czxid, next.Czxid)
		}
		w.Log("carried out:", carriedOut)
	})
}

// The znode is gone, and word of it is slow: the check that fails is how the hold learns of it.
func TestWhatIsUnderAHoldIsLostWithItsZnode(t *testing.T) {
	each(t, guardedWrites, func(w *world, write guardedWrite) {
		s, other := w.open(session.WithNamespace("/ours")), w.open()
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		h, err := t.Hold(1, j.Path, 1, func(error) {}) // nothing watches the znode
		require.NoError(w, err)
		require.NoError(w, write(w, t, h, "/early"))
		require.NoError(w, other.Delete(w.ctx, "/ours"+j.Path, -1))
		require.True(w, h.Valid())
		err = write(w, t, h, "/late")
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrDeleted)
		require.ErrorIs(w, h.Err(), session.ErrDeleted)
		require.False(w, w.exists(s, "/late"))
	})
}

// Another operation of the transaction that fails is no loss; nor is one under the hold that does
// not check its znode.
func TestAnOperationUnderAHoldMayFailWithoutItsLoss(t *testing.T) {
	inBubble(t, func(w *world) {
		s, _, h := w.holding()
		results, err := s.Multi(w.ctx, session.CheckOp(h.Path(), -1).Under(h), session.DeleteOp("/nothing", -1).Under(h))
		require.ErrorIs(w, err, session.ErrNoNode)
		require.NotErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, results[1].Err, session.ErrNoNode)
		_, err = s.Multi(w.ctx, session.CheckOp(h.Path(), 7).Under(h))
		require.ErrorIs(w, err, session.ErrBadVersion)
		require.True(w, h.Valid())
	})
}

// No transaction of one session can check what belongs to another.
func TestATransactionUnderAHoldOfAnotherSessionIsRefused(t *testing.T) {
	inBubble(t, func(w *world) {
		one, two := w.open(), w.open()
		h := w.client(one).hold(w, 1, "/line")
		own := w.client(two).hold(w, 1, "/line")
		whole, _ := session.JoinHolds([]*session.Hold{own, h}, func(error) {})
		for _, other := range []*session.Hold{h, whole} {
			check := session.CheckOp(other.Path(), -1).Under(other)
			_, err := two.Multi(w.ctx, check)
			require.ErrorIs(w, err, session.ErrUnsupported)
			_, err = own.Commit(w.ctx, check)
			require.ErrorIs(w, err, session.ErrUnsupported)
			require.ErrorIs(w, w.client(two).commit(w, 1, check), session.ErrUnsupported)
		}
	})
}

// A transaction that waits for a connection waits with its hold: it never acts in another epoch.
func TestACommitThatWaitsForAConnectionEndsWithItsHold(t *testing.T) {
	inBubble(t, func(w *world) {
		s, t, h := w.holding(session.WithTimeout(timeout))
		steady(w, s)
		w.srv.Kill(0)
		synctest.Wait()
		begun := time.Now()
		_, err := h.Commit(w.ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrUntrusted)
		require.Equal(w, timeout/2, time.Since(begun))
		require.NoError(w, w.srv.Restart(0))
		require.False(w, w.exists(s, "/late"))

		again, err := t.Hold(1, h.Path(), h.Token(), func(error) {})
		for err != nil {
			time.Sleep(time.Millisecond)
			again, err = t.Hold(1, h.Path(), h.Token(), func(error) {})
		}
		w.srv.Kill(0)
		synctest.Wait()
		ctx := w.within(time.Second)
		_, err = again.Commit(ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, session.ErrLost)
		done := bubble.Begin(func() error { _, err := again.Commit(w.ctx, session.CreateOp("/late", nil)); return err })
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-done)
	})
}

// A transaction is on its way when its connection is lost and the hold ends. It is not carried out
// behind what follows on the next connection.
func TestACommitOnALostConnectionIsNotCarriedOutLater(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			inBubble(t, func(w *world) {
				s, t, h := w.holding()
				w.meets(zktest.Delay(3*time.Second), func(r *zktest.Request) bool { return len(r.Ops) == 2 && r.Ops[1].Path == "/late" })
				written := bubble.Begin(func() error { _, err := h.Commit(w.ctx, session.CreateOp("/late", nil)); return err })
				synctest.Wait()
				w.srv.Disconnect(id(s))
				synctest.Wait()
				require.True(w, t.End(h, session.ErrReleased))
				require.NoError(w, t.commit(w, 1, session.CreateOp("/back", nil)))
				require.ErrorIs(w, <-written, session.ErrUnknownOutcome)
				time.Sleep(time.Minute)
				require.False(w, w.exists(s, "/late"))
			}, zktest.WithServers(servers))
		})
	}
}

// guardedWrite is a way to write under a hold.
type guardedWrite func(w *world, t *client, h *session.Hold, path string) error
