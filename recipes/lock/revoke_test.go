// Revoke and Break, of each kind, and by a session whose server lags behind.

package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B76: a contender of any kind is asked once, also if that was before its grant, or after a
// release. The request is written in front of the znode's data, and the mark of a semaphore's
// holder stays.
func TestB76_Revoke(t *testing.T) {
	data := lock.WithData([]byte("mine"))
	type row struct {
		one, rival builder
		data       string // of a holder that is asked
	}
	eachRow(t, map[string]row{
		"exclusive": {newLock, newLock, "unlock\nmine"},
		"read":      {reader, writer, "unlock\nmine"},
		"write":     {writer, reader, "unlock\nmine"},
		"lease":     {permits(2), permits(3), "unlock\nheld\nmine"},
	}, func(w *bubble.World, kind row) {
		admin := w.Host("admin").Session
		a, b := kind.one(w.Host("a"), data), kind.rival(w.Host("b"))
		for range 3 {
			g := held(w, b)
			queued(a)
			waits := must(b.Contenders(w.Context()))[1]
			require.NoError(w, by(admin).Revoke(w.Context(), waits), "before the grant")
			require.NoError(w, g.Release(w.Context()))
			won := bubble.Within(w, time.Second, a.Acquired())
			require.Equal(w, waits.Path, won.Path())
			bubble.Within(w, time.Second, won.Revoked())
			require.NoError(w, a.Withdraw(w.Context()))
			require.ErrorIs(w, by(admin).Revoke(w.Context(), of(won)), session.ErrNoNode)

			again := held(w, a)
			bubble.Never(w, again.Revoked(), "this one was not asked")
			require.NoError(w, by(admin).Revoke(w.Context(), of(again)))
			bubble.Within(w, time.Second, again.Revoked())
			require.True(w, again.Valid(), "it is a request")
			data, stat, err := admin.Get(w.Context(), again.Path())
			require.NoError(w, err)
			marks, body, _ := strings.Cut(string(data), "by {")
			_, body, _ = strings.Cut(body, "}\n")
			require.Equal(w, kind.data, marks+body)
			require.NotEqual(w, kind.data, string(data), "whose it is stays between them")
			require.NoError(w, by(admin).Revoke(w.Context(), of(again)))
			after, _, err := admin.Exists(w.Context(), again.Path())
			require.NoError(w, err)
			require.Equal(w, stat.Version, after.Version, "it is asked once")
			began := time.Now()
			require.NoError(w, by(admin).Break(w.Context(), of(again), 2*time.Second))
			require.Equal(w, 2*time.Second, time.Since(began))
			bubble.Within(w, time.Second, again.Done())
			require.ErrorIs(w, again.Err(), session.ErrDeleted)
		}
	})
}

// Data that are written between the read and the write of Revoke stay.
func TestRevokeKeepsWhatIsWrittenMeanwhile(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		admin, other, l := w.Host("admin"), w.Host("b"), newLock(w.Host("a"), lock.WithData([]byte("mine")))
		g := held(w, l)
		w.Kth(admin.Session, 2, zktest.Delay(time.Second)) // its write
		asked := bubble.Begin(func() error { return by(admin.Session).Revoke(w.Context(), of(g)) })
		time.Sleep(time.Second / 2)
		data := content(w, g.Path())
		require.True(w, strings.HasSuffix(data, "mine"), "it is not asked yet")
		must(other.Set(w.Context(), g.Path(), []byte(data+" anew"), -1))
		require.NoError(w, bubble.Within(w, time.Minute, asked))
		require.Equal(w, "unlock\n"+data+" anew", content(w, g.Path()))
		bubble.Within(w, time.Second, g.Revoked())
	})
}

// Break waits for the holder until the grace period ends. It is no error if the znode is gone, or
// if the reply is lost.
func TestBreak(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		admin, l := w.Host("admin"), newLock(w.Host("a"))
		polite := held(w, l)
		released := bubble.Begin(func() error {
			<-polite.Revoked()
			time.Sleep(time.Second)
			return polite.Release(w.Context())
		})
		began := time.Now()
		require.NoError(w, by(admin.Session).Break(w.Context(), of(polite), 5*time.Second))
		require.Equal(w, unwatched+time.Second, time.Since(began))
		require.NoError(w, by(admin.Session).Break(w.Context(), of(polite), 5*time.Second), "gone is no error")
		require.NoError(w, bubble.Within(w, time.Second, released)) // Break may hear of the end before the holder does

		g := held(w, l)
		defer fate(w, admin, zktest.CutAfter, deletes)()
		require.NoError(w, by(admin.Session).Break(w.Context(), of(g), time.Second))
		bubble.Within(w, time.Second, g.Done())
	})
}

// B75: a session whose server lags behind can revoke a contender that its server has not heard of.
// The leader, the second of two servers here, does not catch up at a sync: a listing there shows
// the queue as it was, but what is asked of it is up to date.
func TestB75_WhatIsAskedOfALaggingServerIsUpToDate(t *testing.T) {
	type row struct {
		lagging        int // the index of the server
		held, released int // contenders that a listing there shows when the lock is held, and released
	}
	eachRow(t, map[string]row{
		"a follower": {lagging: 0, held: 1, released: 0},
		"the leader": {lagging: 1, held: 0, released: 1}, // each time as before the last change
	}, func(w *bubble.World, row row) {
		server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
		l, admin := newLock(w.HostOn("a", server(1-row.lagging))), w.HostOn("b", server(row.lagging))
		w.Server.Lag(row.lagging, 5)
		watcher := newLock(admin)
		g := held(w, l)
		require.Len(w, must(watcher.Contenders(w.Context())), row.held)
		require.NoError(w, by(admin.Session).Revoke(w.Context(), of(g)))
		bubble.Within(w, time.Second, g.Revoked())
		require.NoError(w, g.Release(w.Context()))
		require.Len(w, must(watcher.Contenders(w.Context())), row.released)

		g = held(w, l)
		require.NoError(w, by(admin.Session).Break(w.Context(), of(g), 0))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, by(admin.Session).Revoke(w.Context(), of(g)), session.ErrNoNode)
	}, zktest.WithServers(2))
}

// A znode that was created later under the same name is another contender: it is neither asked nor
// deleted, also if it comes in the grace period. A contender without a token is not broken at all.
func TestBreakTakesNoOther(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		other, l := w.Host("other"), by(w.Host("admin").Session)
		create := func(name, data string) lock.Contender {
			_, err := other.Create(w.Context(), name, []byte(data), session.Ephemeral(), session.Parents())
			require.NoError(w, err)
			return must(l.Contenders(w.Context()))[0]
		}
		const name = path + "/x-1-0000000001" // of Java's WriteLock: it may occur again
		first := create(name, "first")
		require.NoError(w, w.Server.Znodes(w).Delete(name))
		second := create(name, "second")
		require.NotEqual(w, first.Token, second.Token)
		require.ErrorIs(w, l.Revoke(w.Context(), first), session.ErrNoNode)
		require.NoError(w, l.Break(w.Context(), first, 0), "it is gone")
		require.Equal(w, "second", content(w, name))

		broken := bubble.Begin(func() error { return l.Break(w.Context(), second, time.Minute) })
		time.Sleep(time.Second)
		require.Equal(w, "unlock\nsecond", content(w, name))
		require.NoError(w, w.Server.Znodes(w).Delete(name))
		third := create(name, "third")
		require.NoError(w, bubble.Within(w, time.Second, broken))
		require.Equal(w, "third", content(w, name))

		third.Token, third.Unread = 0, true
		require.ErrorIs(w, l.Break(w.Context(), third, 0), session.ErrNoAuth)
		require.Equal(w, "third", content(w, name), "it was not asked either")
		require.NoError(w, l.Break(w.Context(), must(l.Contenders(w.Context()))[0], 0))
		require.Zero(w, nodes(w, path))
	})
}

// A reader that was a writer has the writer's token.
func TestBreakOfAWriterThatIsAReader(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		g := must(held(w, writer(w.Host("a"))).Downgrade(w.Context()))
		l := by(w.Host("admin").Session)
		require.NoError(w, l.Break(w.Context(), must(l.Contenders(w.Context()))[0], 0))
		bubble.Within(w, time.Second, g.Done())
	})
}

// A contender of another path, or of none, is refused.
func TestOnlyOwnContendersAreAsked(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		l := by(w.Host("a").Session)
		for _, at := range []string{"", "/", path, path + "/", path + "/x", "/locks/others/lock-0000000001", path + "/a/lock-0000000001"} {
			require.ErrorIs(w, l.Revoke(w.Context(), lock.Contender{Path: at, Token: 1}), session.ErrInvalidPath, at)
			require.ErrorIs(w, l.Break(w.Context(), lock.Contender{Path: at, Token: 1}, 0), session.ErrInvalidPath, at)
		}
	})
}

// Another contender has the name of one that a server which lags behind still shows: Break by a
// session on that server breaks the one that is meant.
func TestBreakAtAServerThatLagsBehind(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
		other, admin := w.HostOn("other", server(1)), by(w.HostOn("admin", server(0)).Session)
		const name = path + "/x-1-0000000001" // without a GUID
		create := func() lock.Contender {
			must(other.Create(w.Context(), name, nil, session.Ephemeral(), session.Parents()))
			return must(by(other.Session).Contenders(w.Context()))[0]
		}
		create()
		must(admin.Contenders(w.Context()))
		w.Server.Lag(0, 5)
		require.NoError(w, other.Delete(w.Context(), name, -1))
		require.NoError(w, admin.Break(w.Context(), create(), 0))
		_, exists, err := other.Exists(w.Context(), name)
		require.NoError(w, err)
		require.False(w, exists)
	}, zktest.WithServers(2))
}

// A writer that is to be broken downgrades: the reader is asked too, and broken after the grace
// period.
func TestBreakOfAWriterThatDowngrades(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		g, admin := held(w, writer(w.Host("a"))), by(w.Host("admin").Session)
		broken := bubble.Begin(func() error { return admin.Break(w.Context(), of(g), time.Minute) })
		bubble.Within(w, time.Second, g.Revoked())
		reader := must(g.Downgrade(w.Context()))
		bubble.Within(w, time.Second, reader.Revoked())
		time.Sleep(50 * time.Second)
		require.True(w, reader.Valid())
		require.NoError(w, bubble.Within(w, time.Minute, broken))
		bubble.Within(w, time.Second, reader.Done())
		require.ErrorIs(w, reader.Err(), session.ErrDeleted)
	})
}
