// Orders of faults in which trees were wrong once, or could be.

package session_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// An overloaded server refuses to tell what has changed, or what changes from now on: then it is
// asked again.
func TestATreeThatIsThrottled(t *testing.T) {
	each(t, map[string]func(r *zktest.Request) bool{
		"what has changed": func(r *zktest.Request) bool {
			return r.Op == zktest.OpSetWatches && slices.Contains(r.Paths, "/a/001/000")
		},
		"what changes": isOp(jute.OpAddWatch),
	}, func(w *harness, when func(r *zktest.Request) bool) {
		s, other := w.open(), w.open()
		w.grow("/a", 2, 1)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		w.cutOnce(zktest.Fail(zktest.ErrThrottled), when)
		w.srv.Disconnect(id(s))
		w.write(other, "/a/001/000", []byte("new"))
		w.pass(time.Minute)
		require.Equal(w, map[string]string{"001/000": "new"}, changedIn(newest(w, trees)))
		for _, data := range []string{"newer", "newest"} { // the first may be told by a watch that fires once
			w.write(other, "/a/001/000", []byte(data))
			w.pass(time.Second)
			require.Equal(w, map[string]string{"001/000": data}, changedIn(newest(w, trees)))
		}
	})
}

// The servers lose their data between two epochs, of which a tree has followed the first.
func TestALossOfDataInAnEpochThatNoTreeHasFollowed(t *testing.T) {
	inBubble(t, func(w *harness) {
		reaches(w, w.srv, 1000)
		s, r := w.onRoads(1)
		w.grow("/a", 3, 1)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		other := w.another()
		for i := range 3 {
			require.NoError(w, other.Znodes(w).Create(fmt.Sprintf("/a/%03d/000", i), []byte("other")))
		}
		first := id(s)
		w.intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpConnect && q.SessionID == first {
				r.lead(place{other, 0}) // when that has told that the session is over
			}
			return zktest.Pass
		})
		w.srv.Expire(first)
		w.pass(5 * time.Minute)
		tree := newest(w, trees)
		require.ErrorIs(w, s.Status().Cause, session.ErrDataLoss)
		require.False(w, tree.Stale)
		require.Len(w, changedIn(tree), 7, "each znode is another")
	})
}

// late is a context that never ends by itself: the test tells so.
type late struct {
	context.Context
	begins func()      // is called when someone waits for the end
	told   chan func() // what that one wants to be called
}

func (*late) Done() <-chan struct{} { return make(chan struct{}) }

func (*late) Err() error { return context.Canceled }

func (l *late) AfterFunc(f func()) (stop func() bool) {
	l.begins()
	l.told <- f
	return func() bool { return true }
}

// others lets other goroutines run, while a mutex is held.
func others() {
	for range 10_000 {
		runtime.Gosched()
	}
}

// The last reader of a tree leaves, the next one is there when the watch is to be given back, and
// leaves before it has done anything.
func TestAReaderThatComesAndGoesWhileAWatchIsGivenBack(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 1, 1)
		ctx, cancel := context.WithCancel(w.ctx)
		newest(w, s.WatchTree(ctx, "/a"))
		var unlock func()
		next := &late{context.Background(), func() {
			unlock = session.LockState(s) // so that it gets no connection
			cancel()
		}, make(chan func(), 1)}
		trees := s.WatchTree(next, "/a", session.WithDepth(2))
		others() // the watch of the first is kept for the next
		(<-next.told)()
		others() // which leaves
		unlock()
		w.settle()
		_, open := <-trees
		require.False(w, open)
		require.Empty(w, w.srv.Znodes(w).Watches())
	})
}

// The root was refused for the moment and a child was read, and then the connection is lost.
func TestAChildThatIsReadBeforeTheRoot(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		trees := s.WatchTree(w.ctx, "/a", session.WithDepth(1))
		newest(w, trees)
		end := w.meets(zktest.Fail(zktest.ErrThrottled), func(r *zktest.Request) bool { return r.Op == zktest.OpGetData && r.Path == "/a" })
		require.NoError(w, errOf(other.Multi(w.ctx, session.CreateOp("/a", []byte("1")), session.CreateOp("/a/x", []byte("2")))))
		w.settle()
		w.srv.Disconnect(id(s))
		w.pass(time.Second)
		end()
		w.pass(time.Minute)
		require.Equal(w, map[string]string{"": "1", "x": "2"}, changedIn(newest(w, trees)))
		require.EqualValues(w, 1, s.Status().Epoch)
	})
}

// A deletion was told, and the next server has not seen it yet: so the tree has what is deleted, or
// a transaction that is not older.
func TestADeletionThatANextServerHasNotSeen(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, r := w.onRoads(1)
		w.grow("/a", 2, 1)
		r.lead(place{w.srv, 0})
		w.srv.Disconnect(id(s))
		w.pass(time.Second)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		before := lastZxid(w, w.srv)
		w.srv.Lag(2, 1)
		w.cutOnce(zktest.CutBefore, func(q *zktest.Request) bool {
			return q.Front == 0 && q.Op == zktest.OpGetData
		})
		r.lead(place{w.srv, 2}) // it leads, and may be the last to carry out what it has decided
		require.NoError(w, w.srv.Znodes(w).Delete("/a/001/000"))
		tree := bubble.Await(w, trees, "a tree of the next server", func(t *session.Tree) bool { return !t.Stale })
		_, exists := tree.At("001/000")
		require.Equal(w, tree.Zxid <= before, exists, "at %d, and deleted behind %d", tree.Zxid, before)
		w.srv.Lag(2, 0)
		tree = newest(w, trees)
		require.Equal(w, map[string]string{"001/000": "-"}, changedIn(tree))
	}, threeTicking...)
}

// The data of a znode are too large for a reply, and its listing is not.
func TestDataThatAreTooLargeAreUnread(t *testing.T) {
	each(t, modes, func(w *harness, mode func(w *harness)) {
		mode(w)
		s := w.open(session.WithMaxPacket(2 << 10))
		w.grow("/a", 2, 1)
		require.NoError(w, w.srv.Znodes(w).Set("/a/000", make([]byte, 40<<10)))
		trees := s.WatchTree(w.ctx, "/a")
		w.pass(10 * time.Second)
		n, _ := newest(w, trees).At("000")
		require.ErrorIs(w, n.Unread, session.ErrTooLarge)
		w.pass(time.Minute)
		quiet(w, trees)
	})
}

// Readers of several trees come and go, some before they have begun: none leaves a watch.
func TestReadersThatComeAndGoLeaveNoWatch(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 3, 3)
		for round := range 10 {
			var readers sync.WaitGroup
			for g := range 64 {
				readers.Go(func() {
					for n := range 10 {
						ctx, cancel := context.WithCancel(w.ctx)
						if (n+g)%3 == 0 {
							cancel()
						}
						trees := s.WatchTree(ctx, []string{"/a", "/a/001"}[g%2], session.WithDepth(1+g%3))
						if (n+g)%4 == 0 {
							<-trees
						}
						cancel()
					}
				})
			}
			if round%5 == 4 {
				w.srv.Disconnect(id(s))
			}
			readers.Wait()
			w.pass(time.Second)
			left := w.srv.Znodes(w).Watches()
			if round >= 4 { // of those that fire once some stay, by which a tree was told what had changed
				left = slices.DeleteFunc(left, func(watch zktest.Watch) bool { return !watch.Recursive })
			}
			require.Empty(w, left, "round %d", round)
		}
	})
}

// A connection that was lost, or a server that was overloaded, many times before, and not since,
// makes no tree wait.
func TestATreeWaitsForWhatIsWrongNow(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session){
		"lost": func(w *harness, s *session.Session) { w.srv.Disconnect(id(s)) },
		"throttled": func(w *harness, _ *session.Session) {
			w.cutOnce(zktest.Fail(zktest.ErrThrottled), isOp(jute.OpGetData))
		},
	}, func(w *harness, fault func(w *harness, s *session.Session)) {
		s := w.open()
		w.grow("/a", 2, 2)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		for i := range 10 {
			w.pass(time.Minute)
			fault(w, s)
			require.NoError(w, w.srv.Znodes(w).Set("/a/001", []byte{byte(i)}))
			w.settle()
			require.Equal(w, map[string]string{"001": string([]byte{byte(i)})}, changedIn(newest(w, trees)), "the fault %d", i)
		}
	})
}

// A tree whose last reader has left waits for an answer, and then ends: a new one, for the same
// reader, goes on.
func TestATreeThatEndsLeavesItsSuccessor(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 1, 1)
		end := w.meets(zktest.Delay(time.Second), isOp(jute.OpGetData))
		ctx, cancel := context.WithCancel(w.ctx)
		s.WatchTree(ctx, "/a")
		w.settle()
		cancel()
		w.settle()
		trees := s.WatchTree(w.ctx, "/a")
		end()
		w.pass(time.Minute)
		newest(w, trees)
		require.NoError(w, w.srv.Znodes(w).Set("/a/000", []byte("new")))
		require.Equal(w, map[string]string{"000": "new"}, changedIn(newest(w, trees)))
	})
}

// Connections are lost again before it is known what has changed: that the tree is stale is told
// once.
func TestAStaleTreeIsToldOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 1, 1)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		end := w.meets(zktest.DropReply, isOp(jute.OpAddWatch))
		w.srv.Disconnect(id(s))
		w.pass(time.Second)
		require.True(w, newest(w, trees).Stale)
		for range 3 {
			w.srv.Disconnect(id(s))
			w.pass(time.Second)
			quiet(w, trees)
		}
		end()
		w.srv.Disconnect(id(s))
		w.pass(10 * time.Second)
		require.False(w, newest(w, trees).Stale)
	})
}

// What failed may have been a tree: nothing of what it knows is kept.
func TestATreeIsReadAnewAfterARestart(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 3, 3)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		w.reads()
		session.PanicSession(s, "on purpose")
		w.pass(time.Minute)
		require.False(w, newest(w, trees).Stale)
		reads, _ := w.reads()
		require.GreaterOrEqual(w, reads, 13)
	})
}

// That the servers lack the watch is found out once in a session: they may hang up at each attempt.
func TestFurtherTreesDoWithoutTheWatch(t *testing.T) {
	each(t, map[string]func(w *harness){"refused": modes["refused"], "hangs up at it": modes["hangs up at it"]}, func(w *harness, mode func(w *harness)) {
		mode(w)
		var log bytes.Buffer
		s := w.open(session.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		w.grow("/a", 2, 2)
		w.grow("/b", 2, 2)
		first, beside := s.WatchTree(w.ctx, "/a"), s.WatchTree(w.ctx, "/a", session.WithDepth(1))
		w.pass(time.Minute)
		newest(w, first)
		newest(w, beside)
		require.Equal(w, 1, strings.Count(log.String(), "no watch for a whole tree"))
		w.reads()
		require.Len(w, changedIn(newest(w, s.WatchTree(w.ctx, "/b"))), 7)
		_, frames := w.reads()
		require.Zero(w, frames[jute.OpAddWatch])
	})
}

// Where writes outrun the reads there is a tree a second without a Zxid; and one with it when they
// have ended.
func TestATreeWhileWritesOutrunReads(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 3, 10)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		w.meets(zktest.Delay(100*time.Millisecond), isOp(jute.OpGetData))
		var came []time.Time
		for i := range 600 {
			require.NoError(w, w.srv.Znodes(w).Set(fmt.Sprintf("/a/%03d/%03d", i%3, i%10), fmt.Append(nil, i)))
			w.pass(30 * time.Millisecond)
			select {
			case tree := <-trees:
				require.Zero(w, tree.Zxid)
				if came = append(came, time.Now()); len(came) > 1 {
					require.GreaterOrEqual(w, came[len(came)-1].Sub(came[len(came)-2]), time.Second-30*time.Millisecond)
				}
			default:
			}
		}
		require.Greater(w, len(came), 10)
		w.pass(3 * time.Second)
		tree := newest(w, trees)
		last, _ := tree.At("002/009")
		require.Equal(w, "599", string(last.Data))
		require.NotZero(w, tree.Zxid)
	})
}
