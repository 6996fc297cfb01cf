// What a client is told, and what it joins, reads and watches. Helpers: client in helper_test.go.

package session_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAClientIsToldThePresentStateFirst(t *testing.T) {
	inBubble(t, func(w *harness) {
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
		require.Equal(w, []string{"ended 1: closed", "session ended: closed"}, late.told())
	})
}

func TestJoinListTakesOneTrip(t *testing.T) {
	inBubble(t, func(w *harness) {
		_, t := w.openClient()
		first := t.join(w, 1, session.Join{Parent: "/deep/queue", Name: "lock-", Data: []byte("x")})
		require.NoError(w, first.Err)
		require.Regexp(w, `^/deep/queue/_c_[0-9a-f-]{36}-lock-0000000000$`, first.Path)
		require.Equal(w, "x", string(t.read(w, 1, first.Path, false).Data))

		// The server is slow: the listing is there when the create is answered.
		w.cutOnce(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate2 })
		w.requests()
		var order []string
		var listed session.Listed
		joined := wait(w, func(done func(session.Joined)) {
			t.JoinList(1, session.Join{Parent: "/deep/queue", Name: "lock-"}, func(j session.Joined) {
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
		ops := w.requests()
		require.Len(w, ops, 2)
		require.Contains(w, ops[0], "create")
		require.Contains(w, ops[1], "getChildren2")
		require.ElementsMatch(w, []string{first.Path, joined.Path}, t.Leftovers())
	})
}

func TestAJoinThatFailsLeavesNothingInTheRecord(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		w.create(s, "/queue", nil, session.WithNodeACL(session.AnyoneACL(session.PermRead|session.PermAdmin)...))
		var listed session.Listed
		j := wait(w, func(done func(session.Joined)) {
			t.JoinList(1, session.Join{Parent: "/queue", Name: "lock-"}, done, func(l session.Listed) { listed = l })
		})
		synctest.Wait()
		require.ErrorIs(w, j.Err, session.ErrNoAuth)
		require.ErrorIs(w, listed.Err, session.ErrNoAuth)
		require.Zero(w, session.RecordLen(s))
		j = t.join(w, 7, session.Join{Parent: "/queue", Name: "lock-"})
		require.ErrorIs(w, j.Err, session.ErrExpired, "an epoch that has not begun")
	})
}

func TestAJoinReplacesAnOwnZnodeInOneTransaction(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		join := func(replace string) string {
			j := t.join(w, 1, session.Join{Parent: "/queue", Name: "lock-", Replace: replace})
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
		require.NoError(w, s.DeleteAll(w.ctx, "/queue"))
		d := join(c)
		require.Equal(w, []string{d}, t.Leftovers(), "also with the queue")
		require.Equal(w, []string{d}, w.ephemerals(id(s)))
	})
}

// A client that follows a znode without a watch is told when another takes its place, with or
// without a loss.
func TestAFollowerHearsOfAReplacement(t *testing.T) {
	each(t, map[string]zktest.Verdict{"no loss": zktest.Pass, "request lost": zktest.CutBefore, "answer lost": zktest.CutAfter}, func(w *harness, verdict zktest.Verdict) {
		s, t := w.openClient()
		behind := w.client(s)
		a := t.inQueue(w).Path
		_, ok := behind.Follow(1, a)
		require.True(w, ok)
		w.cutOnce(verdict, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
		j := t.join(w, 1, session.Join{Parent: "/queue", Name: "lock-", Replace: a})
		require.NoError(w, j.Err)
		require.Equal(w, []string{j.Path}, w.ephemerals(id(s)))
		require.Equal(w, []string{"fired deleted " + a}, slices.DeleteFunc(behind.told(), func(n string) bool { return !strings.HasPrefix(n, "fired") }))
	})
}

func TestAWatchIsOneForAllClientsAndEachIsToldOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		a, b := w.client(s), w.client(s)
		w.create(s, "/n", nil)
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

		w.create(other, "/n/child", nil)
		require.Equal(w, []string{"fired children /n"}, a.told())
		require.Empty(w, b.told())
		require.NoError(w, a.list(w, 1, "/n", true).Err)
		require.NoError(w, other.DeleteAll(w.ctx, "/n"))
		require.Equal(w, []string{"fired deleted /n"}, slices.Compact(slices.DeleteFunc(a.told(), func(n string) bool {
			return n == "fired children /n" // the child went first
		})))
		require.Equal(w, []string{"fired deleted /n"}, b.told())
		require.Zero(w, session.WatchEntries(s))
	})
}

// B24: cycles without number leave nothing in any table.
func TestB24_WatchTableStaysConstant(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		cycle := func() {
			j := t.inQueue(w)
			require.True(w, t.read(w, 1, j.Path, true).Exists)
			require.NoError(w, t.list(w, 1, "/queue", false).Err)
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
		require.Zero(w, session.RecordLen(s))
		info, _ := w.srv.Session(id(s))
		require.Zero(w, info.Watches)
	}, zktest.WithJournal(16))
}

// multiRead is what came of a MultiRead.
type multiRead struct {
	found []session.Found
	err   error
}

func (t *client) multiRead(w *harness, epoch uint64, queries ...session.Query) multiRead {
	w.Helper()
	return wait(w, func(done func(multiRead)) {
		t.MultiRead(epoch, queries, func(found []session.Found, err error) { done(multiRead{found, err}) })
	})
}

// readsSeveral makes a few znodes, lets the next MultiRead meet a fate, and checks what it finds:
// also of what may not be read, which is not the fault of the rest.
func readsSeveral(w *harness, s *session.Session, t *client, fate zktest.Verdict) {
	w.Helper()
	for _, path := range []string{"/a", "/a/b"} {
		w.create(s, path, []byte(path), session.Parents())
	}
	w.create(s, "/a/closed", nil, session.WithNodeACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
	if w.srv != nil {
		w.cutOnce(fate, func(r *zktest.Request) bool { return r.Op == zktest.OpMultiRead })
	}
	l := t.multiRead(
		w, 1, session.Query{Path: "/a"}, session.Query{Path: "/a", Children: true}, session.Query{Path: "/none"},
		session.Query{Path: "/none", Children: true}, session.Query{Path: "/a/closed"}, session.Query{Path: "/a/closed", Children: true},
		session.Query{Path: "/a/b"},
	)
	require.NoError(w, l.err)
	require.Len(w, l.found, 7)
	data, stat, err := s.Get(w.ctx, "/a")
	require.NoError(w, err)
	require.Equal(w, session.Found{Data: data, Stat: seam.Stat(stat)}, l.found[0])
	require.ElementsMatch(w, []string{"b", "closed"}, l.found[1].Names)
	require.Zero(w, l.found[1].Stat)
	for i, err := range map[int]error{2: session.ErrNoNode, 3: session.ErrNoNode, 4: session.ErrNoAuth, 5: session.ErrNoAuth} {
		require.ErrorIs(w, l.found[i].Err, err)
		l.found[i].Err = nil
		require.Zero(w, l.found[i])
	}
	require.Equal(w, "/a/b", string(l.found[6].Data))
}

func TestAMultiReadFindsWhatReadsWould(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		t := w.client(s)
		readsSeveral(w, s, t, zktest.Pass)
		if w.srv != nil {
			require.Contains(w, w.requests(), "multiRead")
		}
		require.ErrorIs(w, t.multiRead(w, 2, session.Query{Path: "/a"}).err, session.ErrExpired, "an epoch that has not begun")
		require.Empty(w, t.multiRead(w, 1).found)
		require.NoError(w, s.Close(w.ctx))
		require.ErrorIs(w, t.multiRead(w, 1, session.Query{Path: "/a"}).err, session.ErrClosed)
	})
}

// The connection is lost under it, or the server is slow, or lacks the request: it is answered all
// the same, once.
func TestAMultiReadThatIsLostIsAnsweredAllTheSame(t *testing.T) {
	each(t, bubble.Fates, func(w *harness, fate zktest.Verdict) {
		s, t := w.openClient()
		readsSeveral(w, s, t, fate)
	})
}
