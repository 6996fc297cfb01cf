package session_test

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestASeatIsToldThePresentStateFirst(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session()
		early := w.client(s) // which connects
		require.NoError(w, s.Connect(w.ctx))
		require.Equal(w, []string{"began 1"}, early.told())
		w.srv.Kill(0)
		synctest.Wait()
		late := w.client(s)
		require.Equal(w, []string{"began 1", "disconnected"}, late.told())
		require.Equal(w, []string{"disconnected"}, early.told())
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, s.Sync(w.ctx, "/"))
		require.Equal(w, []string{"reconnected"}, late.told())
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, []string{"ended 1: the session is closed", "session ended: the session is closed"}, late.told())
	})
}

// wire counts what is written.
type wire struct {
	net.Conn
	writes *atomic.Int64
}

func (c wire) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func TestJoinListTakesOneTrip(t *testing.T) {
	inBubble(t, func(w *world) {
		var writes atomic.Int64
		s := w.open(session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := w.srv.Dialer()(ctx, network, addr)
			return wire{c, &writes}, err
		}))
		t := w.client(s)
		first := t.join(w, 1, session.Join{Parent: "/deep/line", Name: "lock-", Data: []byte("x")})
		require.NoError(w, first.Err)
		require.Regexp(w, `^/deep/line/_c_[0-9a-f-]{36}-lock-0000000000$`, first.Path)
		require.Equal(w, "x", string(t.read(w, 1, first.Path, false).Data))

		// The server is slow, and the listing is there when the create is answered.
		w.cutOnce(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate2 })
		w.requests()
		before := writes.Load()
		both := time.AfterFunc(time.Second-1, func() { before = writes.Load() - before })
		defer both.Stop()
		var order []string
		var listed session.Listed
		joined := wait(w, func(done func(session.Joined)) {
			t.JoinList(1, session.Join{Parent: "/deep/line", Name: "lock-"}, func(j session.Joined) {
				order = append(order, "joined")
				done(j)
			}, func(l session.Listed) {
				order = append(order, "listed")
				listed = l
			})
		})
		synctest.Wait()
		require.Equal(w, []string{"joined", "listed"}, order)
		require.NoError(w, listed.Err)
		require.Len(w, listed.Names, 2)
		require.EqualValues(w, 2, listed.Stat.NumChildren)
		require.EqualValues(w, 1, before, "both were sent together")
		ops := w.requests()
		require.Len(w, ops, 2)
		require.Contains(w, ops[0], "create")
		require.Contains(w, ops[1], "getChildren2")
		require.ElementsMatch(w, []string{first.Path, joined.Path}, t.Leftovers())
	})
}

func TestJoinFailsForGood(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		_, err := s.Create(w.ctx, "/line", nil, session.NodeACL(session.AnyoneACL(session.PermRead|session.PermAdmin)...))
		require.NoError(w, err)
		var listed session.Listed
		j := wait(w, func(done func(session.Joined)) {
			t.JoinList(1, session.Join{Parent: "/line", Name: "lock-"}, done, func(l session.Listed) { listed = l })
		})
		synctest.Wait()
		require.ErrorIs(w, j.Err, session.ErrNoAuth)
		require.ErrorIs(w, listed.Err, session.ErrNoAuth)
		require.Zero(w, session.LedgerLen(s))
		j = t.join(w, 7, session.Join{Parent: "/line", Name: "lock-"})
		require.ErrorIs(w, j.Err, session.ErrExpired, "an epoch that has not begun")
	})
}

func TestReplace(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		join := func(replace string) string {
			j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-", Replace: replace})
			require.NoError(w, j.Err)
			return j.Path
		}
		a := join("")
		w.requests()
		b := join(a)
		require.Equal(w, []string{"multi"}, w.requests(), "one transaction")
		require.Equal(w, []string{b}, t.Leftovers())
		require.NoError(w, s.Delete(w.ctx, b, -1))
		c := join(b)
		require.Equal(w, []string{c}, t.Leftovers(), "that the old one was gone is fine")
		require.NoError(w, s.DeleteAll(w.ctx, "/line"))
		d := join(c)
		require.Equal(w, []string{d}, t.Leftovers(), "also with the line")
		require.Equal(w, []string{d}, w.ephemerals(id(s)))
	})
}

func TestRemoveGoesOnUntilItIsDone(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		_, err := s.SetACL(w.ctx, "/line", session.AnyoneACL(session.PermAll&^session.PermDelete), -1)
		require.NoError(w, err)
		removed := bubble.Begin(func() error { return wait(w, func(done func(error)) { t.Remove(1, j.Path, done) }) })
		time.Sleep(20 * time.Second)
		require.Len(w, w.ephemerals(id(s)), 1)
		_, err = s.SetACL(w.ctx, "/line", session.AnyoneACL(session.PermAll), -1)
		require.NoError(w, err)
		require.NoError(w, <-removed)
		require.Empty(w, w.ephemerals(id(s)))
		t.remove(w, 1, j.Path) // B04: once more does no harm
		t.remove(w, 9, j.Path) // nor does it in an epoch that is not

		// A remove that finds no connection ends with the epoch.
		j = t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		w.srv.Kill(0)
		removed = bubble.Begin(func() error { return wait(w, func(done func(error)) { t.Remove(1, j.Path, done) }) })
		w.srv.LoseSessions()
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-removed)
		require.Zero(w, session.LedgerLen(s))
	})
}

func TestLeaveDeletesWhatStands(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"what stands": 0, "what is being made": time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				t := w.client(s)
				h := t.hold(w, 1, "/other")
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpCreate2 && delay > 0 {
						return zktest.Delay(delay)
					}
					return zktest.Pass
				})
				t.Join(1, session.Join{Parent: "/other", Name: "lock-"}, func(session.Joined) {})
				if delay == 0 {
					synctest.Wait()
					require.Len(w, w.ephemerals(id(s)), 2)
				}
				t.told()
				t.Leave()
				t.Leave()
				<-h.Done()
				require.Equal(w, session.ErrReleased, h.Err())
				time.Sleep(5 * time.Second)
				require.Empty(w, w.ephemerals(id(s)))
				require.Zero(w, session.LedgerLen(s))
				w.srv.Expire(id(s))
				require.NoError(w, s.Sync(w.ctx, "/"))
				require.Empty(w, t.told(), "an event after Leave")
			})
		})
	}
}

func TestRecoverTellsWhatReallyExists(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		stands := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
		deleted := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
		require.NoError(w, other.Delete(w.ctx, deleted, -1))
		// Another is being made when the recovery begins.
		w.cutOnce(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate2 })
		t.Join(1, session.Join{Parent: "/line", Name: "lock-"}, func(session.Joined) {})
		synctest.Wait()
		type recovered struct {
			paths []string
			err   error
		}
		r := wait(w, func(done func(recovered)) {
			t.Recover(1, func(paths, _ []string, err error) { done(recovered{paths, err}) })
		})
		require.NoError(w, r.err)
		require.Len(w, r.paths, 2)
		require.Contains(w, r.paths, stands)
		require.ElementsMatch(w, r.paths, t.Leftovers())
		require.ElementsMatch(w, r.paths, w.ephemerals(id(s)))
		r = wait(w, func(done func(recovered)) {
			t.Recover(2, func(paths, _ []string, err error) { done(recovered{paths, err}) })
		})
		require.ErrorIs(w, r.err, session.ErrExpired)
	})
}

// A contender that somebody deletes is out of the record as soon as word of it comes, so that
// nothing depends on trust any more.
func TestTheLedgerFollowsDeletions(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		synctest.Wait() // it is told of its epoch: who reads before that may miss what the watch says
		a := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
		b := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
		require.True(w, t.read(w, 1, a, true).Exists)
		require.NoError(w, other.Delete(w.ctx, a, -1))
		require.Contains(w, t.told(), "fired NodeDeleted "+a)
		require.Equal(w, []string{b}, t.Leftovers())
		require.NoError(w, other.Delete(w.ctx, b, -1))
		require.False(w, t.read(w, 1, b, false).Exists)
		require.Empty(w, t.Leftovers())
	})
}

func TestWatchesOfSeats(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		a, b := w.client(s), w.client(s)
		_, err := s.Create(w.ctx, "/n", nil)
		require.NoError(w, err)
		require.True(w, a.read(w, 1, "/n", true).Exists)
		require.True(w, a.read(w, 1, "/n", true).Exists, "twice, and told once")
		require.True(w, b.read(w, 1, "/n", true).Exists)
		require.NoError(w, a.list(w, 1, "/n", true).Err)
		require.False(w, a.read(w, 1, "/missing", true).Exists)
		require.ErrorIs(w, a.list(w, 1, "/missing", true).Err, session.ErrNoNode)
		require.Equal(w, 2, session.WatchEntries(s), "a missing znode arms nothing")
		info, _ := w.srv.Session(id(s))
		require.Equal(w, 2, info.Watches)
		watching := slices.DeleteFunc(w.srv.Journal(), func(r zktest.Request) bool { return !r.Watch || r.Path != "/n" })
		require.Len(w, watching, 2, "one for each kind, however many ask")
		a.told()
		b.told()

		_, err = other.Create(w.ctx, "/n/child", nil)
		require.NoError(w, err)
		require.Equal(w, []string{"fired NodeChildrenChanged /n"}, a.told())
		require.Empty(w, b.told())
		require.NoError(w, a.list(w, 1, "/n", true).Err)
		require.NoError(w, other.DeleteAll(w.ctx, "/n"))
		require.Equal(w, []string{"fired NodeDeleted /n"}, slices.Compact(slices.DeleteFunc(a.told(), func(n string) bool {
			return n == "fired NodeChildrenChanged /n" // the child went first
		})))
		require.Equal(w, []string{"fired NodeDeleted /n"}, b.told())
		require.Zero(w, session.WatchEntries(s))
	})
}

// B24: cycles without number leave nothing in any table.
func TestB24_WatchTableStaysConstant(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		cycle := func() {
			j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
			require.True(w, t.read(w, 1, j.Path, true).Exists)
			require.NoError(w, t.list(w, 1, "/line", false).Err)
			t.remove(w, 1, j.Path)
		}
		cycle()
		synctest.Wait()
		before := session.WatchEntries(s)
		for range 10_000 {
			cycle()
		}
		synctest.Wait()
		require.Equal(w, before, session.WatchEntries(s))
		require.Zero(w, session.LedgerLen(s))
		info, _ := w.srv.Session(id(s))
		require.Zero(w, info.Watches)
	}, zktest.WithJournal(16))
}
