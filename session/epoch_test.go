// How epochs begin and end, what clients are told of that and in which order, and that no order of
// losses leaves a session stuck. Helpers: helper_test.go.

package session_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestExpiryBeginsTheNextEpoch(t *testing.T) {
	each(t, map[string]func(w *harness, id int64){
		"told by the server":              func(w *harness, id int64) { w.srv.Expire(id) },
		"another session, without a word": func(w *harness, id int64) { w.srv.ExpireSilently(id) },
		"the server has lost all sessions": func(w *harness, _ int64) {
			w.srv.Kill(0)
			w.srv.LoseSessions()
			require.NoError(w, w.srv.Restart(0))
		},
	}, func(w *harness, expire func(w *harness, id int64)) {
		s, t, h := w.holding()
		statuses := s.ObserveStatus(w.ctx)
		require.Equal(w, session.Connected, (<-statuses).State)
		first := id(s)
		expire(w, first)
		<-h.Done()
		isAll(w, h.Err(), session.ErrExpired, session.ErrLost)
		require.NoError(w, s.Connect(w.ctx))
		require.NotEqual(w, first, id(s))
		require.EqualValues(w, 2, s.Status().Epoch)
		synctest.Wait()
		require.EqualValues(w, 2, (<-statuses).Epoch)

		told := t.told()
		require.Contains(w, told[len(told)-2], "ended 1: ")
		require.Contains(w, told[len(told)-2], session.ErrExpired.Error())
		require.Equal(w, "began 2", told[len(told)-1])
		require.Zero(w, session.RecordLen(s))

		// I7: what belongs to the old epoch does nothing in the new one.
		require.ErrorIs(w, t.join(w, 1, session.Join{Parent: "/queue", Name: "lock-"}).Err, session.ErrExpired)
		require.ErrorIs(w, t.read(w, 1, "/queue", true).Err, session.ErrExpired)
		require.ErrorIs(w, t.list(w, 1, "/queue", false).Err, session.ErrExpired)
		require.ErrorIs(w, errOf(t.Hold(1, h.Path(), h.Token(), nil)), session.ErrExpired)
		require.ErrorIs(w, errOf(h.Commit(w.ctx, session.CreateOp("/late", nil))), session.ErrLost)
		require.False(w, w.exists(s, "/late"))
		require.Len(w, w.srv.Sessions(), 1, "no stray session")
	})
}

// An epoch begins with its credentials, then a sync, and only then with the requests of its users.
func TestAnEpochBeginsWithAuthAndSync(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s := w.session(log.logger(), session.WithAuth("digest", []byte("a:hidden")), session.WithAuth("digest", []byte("c:hidden")))
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
		w.create(s, "/mine", nil, session.WithNodeACL(session.AuthACL(session.PermAll)...))
		require.ErrorIs(w, errOf(w.open().Get(w.ctx, "/mine")), session.ErrNoAuth)
		require.NoError(w, s.Close(w.ctx))
		require.Contains(w, log.String(), "a ZooKeeper session has begun")
		require.NotContains(w, log.String(), "hidden")
	})
}

// A refused credential ends the session for good. The ZooKeeper session is closed over the next
// connection, on which no credential is presented. So its znodes go at once, and others take over.
// The hold ends before that, with ErrClosed, since the Session has ended; not with ErrExpired,
// since no server has said that the ZooKeeper session is over.
func TestARefusedCredentialEndsTheSession(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(session.WithAuth("digest", []byte("a:secret"))), w.open()
		t := w.client(s)
		h := t.hold(w, 1, "/queue")
		states := other.WatchData(w.ctx, h.Path())
		require.True(w, newest(w, states).Exists)
		w.refuseCredentials()
		w.srv.Disconnect(id(s))
		<-h.Done()
		require.True(w, w.serverHas(h.Path()))
		isAll(w, h.Err(), session.ErrLost, session.ErrClosed, session.ErrAuthFailed)
		require.NotErrorIs(w, h.Err(), session.ErrExpired)
		begun := time.Now()
		require.False(w, (<-states).Exists)
		require.Less(w, time.Since(begun), time.Second)
		<-s.Done()
		require.ErrorIs(w, s.Err(), session.ErrAuthFailed)
		require.ErrorIs(w, errOf(s.Get(w.ctx, "/")), session.ErrAuthFailed)
		require.NoError(w, s.Close(w.ctx), "it is confirmed")
		require.Contains(w, last(t.told()), "session ended")
		require.Len(w, w.srv.Sessions(), 1)
		require.Equal(w, id(other), w.srv.Sessions()[0].ID)
	})
}

// A server that ends every session at once is not asked for one after the other.
func TestBarrenEpochsArePaced(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.session()
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpSync {
				w.srv.Expire(r.SessionID)
				return zktest.CutBefore
			}
			return zktest.Pass
		})
		require.ErrorIs(w, s.Connect(w.within(time.Minute)), context.DeadlineExceeded)
		require.Less(w, s.Status().Epoch, uint64(60)) // the pauses grow to five seconds
		require.Greater(w, s.Status().Epoch, uint64(5))
	})
}

// B72: a thousand flaps, and no client has missed one: each is told of each, in order, and of every
// change made meanwhile.
func TestB72_FlapsLoseNothing(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		t := w.client(s)
		w.create(other, "/a", nil)
		require.True(w, t.read(w, 1, "/a", true).Exists)
		t.told()
		for range 1000 {
			w.srv.Disconnect(id(s))
			w.write(other, "/a", nil)
			require.NoError(w, s.Sync(w.ctx, "/"))
			told := t.told()
			require.Len(w, told, 3)
			require.ElementsMatch(w, []string{"disconnected", "reconnected", "fired data /a"}, told)
			require.Less(w, slices.Index(told, "disconnected"), slices.Index(told, "reconnected"))
			require.True(w, t.read(w, 1, "/a", true).Exists)
		}
		require.EqualValues(w, 1, s.Status().Epoch)
		require.Equal(w, 1, session.WatchEntries(s))
	})
}

// B70: in every order of loss and reconnection, the session ends up connected.
func TestB70_NeverStuck(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient(session.WithTimeout(timeout))
		for i := range 60 {
			epoch := s.Status().Epoch
			_ = t.hold(w, epoch, "/queue")
			t.StandBy(epoch, true)
			heal := w.srv.Partition(id(s))
			// At most 17.7 s: trust ends after half of the timeout of 12 s, the connection is given
			// up after two thirds, and the server ends the session after all of it.
			time.Sleep(time.Duration(i) * 300 * time.Millisecond)
			heal()
			require.NoError(w, s.Sync(w.ctx, "/"))
			w.pass(timeout)
			st := s.Status()
			require.Equal(w, session.Connected, st.State, "cut for %d × 300 ms", i)
			require.True(w, st.TrustedUntil.After(time.Now()) || session.RecordLen(s) == 0, "nothing is held in a new epoch")
			for _, path := range t.Leftovers() {
				t.remove(w, st.Epoch, path)
			}
		}
		require.Greater(w, s.Status().Epoch, uint64(1))
	}, shortTicks...)
}

// A client that is told of an event, or of an answer, knows of the connection that it came over: a
// state that was read after a reconnection must not be taken for one of before.
func TestWhatComesOverAConnectionIsToldBehindIt(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		require.True(w, t.read(w, 1, "/a", true).Exists)
		require.Equal(w, []string{"began 1"}, t.told())
		unblock := session.BlockActor(s)
		w.srv.Disconnect(id(s))
		require.NoError(w, w.srv.Znodes(w).Set("/a", []byte("new")))
		answered := false
		t.Read(1, "/a", true, func(session.Seen) { answered = true })
		time.Sleep(time.Second)
		require.NoError(w, s.Sync(w.ctx, "/a"), "it is connected again")
		require.Empty(w, t.told())
		require.False(w, answered)
		unblock()
		require.Equal(w, []string{"disconnected", "reconnected", "fired data /a"}, t.told())
		require.True(w, answered)
	})
}

// A client is told why the session ended, also if the actors are stopped while it is being closed:
// here by the end of its hold.
func TestAClientIsToldWhyTheSessionEnded(t *testing.T) {
	inBubble(t, func(w *harness) {
		system, _ := actors.New()
		s, t := w.openClient(session.WithSystem(system))
		j := t.inQueue(w)
		_, err := t.Hold(1, j.Path, j.Stat.Czxid, func(error) {
			system.Scope().Stop()
			time.Sleep(time.Second)
		})
		require.NoError(w, err)
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, "session ended: "+session.ErrClosed.Error(), last(t.told()))
		require.NoError(w, system.Close(w.ctx))
	})
}
