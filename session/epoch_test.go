package session_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestExpiryBeginsTheNextEpoch(t *testing.T) {
	t.Parallel()
	for name, expire := range map[string]func(w *world, id int64){
		"said so":                func(w *world, id int64) { w.srv.Expire(id) },
		"another id, not a word": func(w *world, id int64) { w.srv.ExpireSilently(id) },
		"the server lost its mind": func(w *world, _ int64) {
			w.srv.Kill(0)
			w.srv.LoseSessions()
			require.NoError(w, w.srv.Restart(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				t := w.client(s)
				h := t.hold(w, 1, "/line")
				statuses := s.Observe(w.ctx)
				require.Equal(w, session.Connected, (<-statuses).State)
				first := id(s)
				expire(w, first)
				<-h.Done()
				require.ErrorIs(w, h.Err(), session.ErrExpired)
				require.ErrorIs(w, h.Err(), session.ErrLost)
				require.NoError(w, s.Connect(w.ctx))
				require.NotEqual(w, first, id(s))
				require.EqualValues(w, 2, s.Status().Epoch)
				synctest.Wait()
				require.EqualValues(w, 2, (<-statuses).Epoch)

				told := t.told()
				require.Contains(w, told[len(told)-2], "ended 1: ")
				require.Contains(w, told[len(told)-2], session.ErrExpired.Error())
				require.Equal(w, "began 2", told[len(told)-1])
				require.Zero(w, session.LedgerLen(s))

				// I7: what belongs to the old epoch does nothing in the new one.
				require.ErrorIs(w, t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Err, session.ErrExpired)
				require.ErrorIs(w, t.read(w, 1, "/line", true).Err, session.ErrExpired)
				require.ErrorIs(w, t.list(w, 1, "/line", false).Err, session.ErrExpired)
				_, err := t.Hold(1, h.Path(), h.Token(), nil)
				require.ErrorIs(w, err, session.ErrExpired)
				_, err = h.Commit(w.ctx, session.CreateOp("/late", nil))
				require.ErrorIs(w, err, session.ErrLost)
				_, exists, err := s.Exists(w.ctx, "/late")
				require.NoError(w, err)
				require.False(w, exists)
				require.Len(w, w.srv.Sessions(), 1, "no stray session")
			})
		})
	}
}

// An epoch begins with its credentials, then a sync, and only then with what anybody wants of it.
func TestAnEpochBeginsWithAuthAndSync(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session(session.WithAuth("digest", []byte("a:b")), session.WithAuth("digest", []byte("c:d")))
		states := s.WatchData(w.ctx, "/a")
		require.False(w, (<-states).Exists)
		for epoch := range 2 {
			ops := w.requests()
			require.Equal(w, []string{"setAuth", "setAuth", "sync /"}, ops[:3], "epoch %d", epoch+1)
			w.srv.Expire(id(s))
			time.Sleep(time.Minute)
		}
		// A reconnection presents them again, but has nothing to catch up with.
		w.requests()
		w.srv.Disconnect(id(s))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"setAuth", "setAuth"}, w.requests()[:2])
		_, err := s.Create(w.ctx, "/mine", nil, session.NodeACL(session.AuthACL(session.PermAll)...))
		require.NoError(w, err)
		_, _, err = w.open().Get(w.ctx, "/mine")
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}

func TestARefusedCredentialEndsTheSession(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session(session.WithAuth("digest", []byte("secret")), session.WithTimeout(4*time.Second))
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpSetAuth {
				return zktest.Fail(-115)
			}
			return zktest.Pass
		})
		t := w.client(s)
		err := s.Connect(w.ctx)
		require.ErrorIs(w, err, session.ErrAuthFailed)
		require.ErrorIs(w, err, session.ErrClosed)
		require.NotContains(w, err.Error(), "secret")
		<-s.Done()
		require.ErrorIs(w, s.Err(), session.ErrAuthFailed)
		_, _, err = s.Get(w.ctx, "/")
		require.ErrorIs(w, err, session.ErrAuthFailed)
		require.NoError(w, s.Close(w.ctx))
		told := t.told()
		require.Contains(w, told[len(told)-1], "session ended")
	})
}

// A server that ends every session at once is not asked for one after the other.
func TestBarrenEpochsArePaced(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session()
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpSync {
				w.srv.Expire(r.SessionID)
				return zktest.CutBefore
			}
			return zktest.Pass
		})
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		require.ErrorIs(w, s.Connect(ctx), context.DeadlineExceeded)
		require.Less(w, s.Status().Epoch, uint64(60))
		require.Greater(w, s.Status().Epoch, uint64(5))
	})
}

// B72: a thousand flaps, and nobody has missed a thing: everyone hears of each, in order, and of
// every change made meanwhile.
func TestB72_FlapsLoseNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		_, err := other.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		require.True(w, t.read(w, 1, "/a", true).Exists)
		t.told()
		for range 1000 {
			w.srv.Disconnect(id(s))
			_, err := other.Set(w.ctx, "/a", nil, -1)
			require.NoError(w, err)
			require.NoError(w, s.Sync(w.ctx, "/"))
			told := t.told()
			require.Len(w, told, 3)
			require.ElementsMatch(w, []string{"disconnected", "reconnected", "fired NodeDataChanged /a"}, told)
			require.Less(w, slices.Index(told, "disconnected"), slices.Index(told, "reconnected"))
			require.True(w, t.read(w, 1, "/a", true).Exists)
		}
		require.EqualValues(w, 1, s.Status().Epoch)
		require.Equal(w, 1, session.WatchEntries(s))
	})
}

// B70: whatever the order in which loss and reconnection come, the session ends up connected.
func TestB70_NeverStuck(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		for i := range 60 {
			epoch := s.Status().Epoch
			_ = t.hold(w, epoch, "/line")
			t.StandBy(epoch, true)
			heal := w.srv.Partition(id(s))
			// From well before the server ends the session to well after, around the end of trust
			// and of the connection too.
			time.Sleep(time.Duration(i) * 300 * time.Millisecond)
			heal()
			require.NoError(w, s.Sync(w.ctx, "/"))
			time.Sleep(timeout)
			synctest.Wait()
			st := s.Status()
			require.Equal(w, session.Connected, st.State, "cut for %d × 300 ms", i)
			require.True(w, st.TrustedUntil.After(time.Now()) || session.LedgerLen(s) == 0)
			for _, path := range t.Leftovers() {
				t.remove(w, st.Epoch, path)
			}
		}
		require.Greater(w, s.Status().Epoch, uint64(1))
	}, shortTicks...)
}

// Whoever hears of an event, or of an answer, knows of the connection that it came over: a state
// that was read after a reconnection must not be taken for one of before.
func TestWhatComesOverAConnectionIsToldBehindIt(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		require.True(w, t.read(w, 1, "/a", true).Exists)
		require.Equal(w, []string{"began 1"}, t.told())
		letGo := session.Occupy(s)
		w.srv.Disconnect(id(s))
		require.NoError(w, w.srv.Set("/a", []byte("new")))
		answered := false
		t.Read(1, "/a", true, func(session.Seen) { answered = true })
		time.Sleep(time.Second)
		require.NoError(w, s.Sync(w.ctx, "/a"), "it is connected again")
		require.Empty(w, t.told())
		require.False(w, answered)
		letGo()
		require.Equal(w, []string{"disconnected", "reconnected", "fired NodeDataChanged /a"}, t.told())
		require.True(w, answered)
	})
}
