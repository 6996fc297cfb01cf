package session_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// lose has a client create an ephemeral sequential znode; it is made, and the answer is lost.
func (w *world) lose(t *client, path, data string, verdict zktest.Verdict) {
	w.cutOnce(verdict, func(r *zktest.Request) bool {
		return r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op != zktest.OpCheck
	})
	err := t.commit(w, 1, session.CreateOp(path, []byte(data), session.Ephemeral(), session.Sequential()))
	require.ErrorIs(w, err, session.ErrUnknownOutcome)
}

// An incarnation crashes while it recovers; the next one recovers as well.
func TestTwoRecoveriesLookAtOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/line"))
		t := w.client(s)
		w.lose(t, "/line/n-", "mine", zktest.CutAfter)
		require.Len(w, w.ephemerals(id(s)), 1)
		var first, second []string
		t.Recover(1, func(standing, _ []string, err error) { first = standing })
		t.Recover(1, func(standing, _ []string, err error) { second = standing })
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(w, []string{"/line/n-0000000000"}, first)
		require.Equal(w, first, second)
		t.Leave()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(w, w.ephemerals(id(s)), "the client has left: nothing of it stands")
	})
}

// An incarnation recovers, and the actor is given up meanwhile.
func TestLeaveWhileRecovering(t *testing.T) {
	for range 20 {
		inBubbleHere(t, func(w *world) {
			s := w.open()
			require.NoError(w, s.EnsurePath(w.ctx, "/line"))
			t := w.client(s)
			w.lose(t, "/line/n-", "mine", zktest.CutAfter)
			t.Recover(1, func(standing, _ []string, err error) {})
			t.Leave()
			time.Sleep(time.Second)
			synctest.Wait()
			require.Empty(w, w.ephemerals(id(s)), "the client has left: nothing of it stands")
		})
	}
}

// The application has a znode under the same name, with other data, and the transaction whose
// answer was lost was not carried out.
func TestWhatTheApplicationMadeIsNoOrphan(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/line"))
		t := w.client(s)
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op == zktest.OpCheck {
				return zktest.Delay(50 * time.Millisecond) // the proof
			}
			return zktest.Pass
		})
		made := ""
		go func() {
			for !s.Status().TrustedUntil.IsZero() && s.Status().State == session.Connected {
				time.Sleep(time.Microsecond)
			}
			made, _ = s.Create(w.ctx, "/line/n-", []byte("the application's"), session.Ephemeral(), session.Sequential())
		}()
		w.lose(t, "/line/n-", "the client's", zktest.CutBefore)
		synctest.Wait()
		require.NotEmpty(w, made)
		t.Leave()
		time.Sleep(time.Second)
		synctest.Wait()
		_, exists, err := s.Exists(w.ctx, made)
		require.NoError(w, err)
		require.True(w, exists, "what the application made is not the client's")
	})
}

// While one client's znode is looked for, another client's of the same name and data goes.
func TestANeighbourGoesWhileAnOrphanIsLookedFor(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/line"))
		a, b := w.client(s), w.client(s)
		n := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op != zktest.OpCheck {
				n++
				switch n {
				case 1:
					return zktest.Delay(50 * time.Millisecond)
				case 2:
					return zktest.CutAfter
				}
			}
			if r.Op == zktest.OpGetData && r.Path == "/line/n-0000000001" {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		op := session.CreateOp("/line/n-", nil, session.Ephemeral(), session.Sequential())
		var as, bs error
		a.Commit(1, []session.Op{op}, func(r []session.Result, err error) { as = err })
		synctest.Wait()
		b.Commit(1, []session.Op{op}, func(r []session.Result, err error) { bs = err })
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(w, as)
		require.ErrorIs(w, bs, session.ErrUnknownOutcome)
		require.Len(w, w.ephemerals(id(s)), 2)
		b.Leave() // looks for its own
		time.Sleep(100 * time.Millisecond)
		a.remove(w, 1, "/line/n-0000000000")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(w, w.ephemerals(id(s)), "b has left: nothing of it stands")
	})
}

// Three incarnations look at once: none of them may be told that the epoch is over, since no
// EpochEnded would follow, for which a host waits then.
func TestThreeRecoveriesLookAtOnce(t *testing.T) {
	for range 50 {
		inBubbleHere(t, func(w *world) {
			s := w.open()
			require.NoError(w, s.EnsurePath(w.ctx, "/line"))
			t := w.client(s)
			w.lose(t, "/line/n-", "mine", zktest.CutAfter)
			gets := 0
			w.intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpGetChildren2 {
					if gets++; gets == 1 {
						return zktest.Delay(100 * time.Millisecond) // so that all have asked
					}
				}
				return zktest.Pass
			})
			var mu sync.Mutex
			var errs []error
			for range 3 {
				t.Recover(1, func(_, _ []string, err error) {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				})
			}
			time.Sleep(time.Second)
			synctest.Wait()
			require.Len(w, errs, 3)
			require.Equal(w, session.Connected, s.Status().State)
			require.EqualValues(w, 1, s.Status().Epoch)
			for _, err := range errs {
				require.NoError(w, err, "the epoch lives")
			}
		})
	}
}
