package gozk_test

import (
	"path"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/gozk"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// view is a view of a session with an embedded server, in virtual time.
func view(t *testing.T, test func(t *testing.T, srv *zktest.Server, sess *session.Session, conn gozk.Conn, events <-chan zk.Event), opts ...session.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		sess := zksession.Open(t, srv, opts...)
		conn, events := gozk.On(sess)
		defer conn.Close()
		test(t, srv, sess, conn, events)
	})
}

func create(t *testing.T, conn gozk.Conn, path string) {
	t.Helper()
	_, err := conn.Create(path, []byte("data"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
}

// same: it is that very error, with nothing around it.
func same(t *testing.T, want, err error) {
	t.Helper()
	if err != want {
		t.Fatalf("%v, not %v", err, want)
	}
}

func TestErrorsAreValues(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, _ *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		create(t, conn, "/a")
		create(t, conn, "/a/b")
		_, err := conn.CreateProtectedEphemeralSequential("/a/e-", nil, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, _, noNode := conn.Get("/missing")
		_, _, noWatch, noNodeW := conn.GetW("/missing")
		require.Nil(t, noWatch)
		_, _, _, noChildrenW := conn.ChildrenW("/missing")
		_, exists := conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
		_, version := conn.Set("/a", nil, 7)
		_, noACL := conn.Create("/b", nil, 0, nil)
		_, _, invalid := conn.Get("a")
		_, _, _, invalidW := conn.ExistsW("/a/")
		results, multi := conn.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 0}, &zk.DeleteRequest{Path: "/missing", Version: -1}, &zk.DeleteRequest{Path: "/a/b", Version: -1})
		same(t, zk.ErrNoNode, noNode)
		same(t, zk.ErrNoNode, noNodeW)
		same(t, zk.ErrNoNode, noChildrenW)
		same(t, zk.ErrNodeExists, exists)
		same(t, zk.ErrBadVersion, version)
		same(t, zk.ErrNotEmpty, conn.Delete("/a", -1))
		same(t, zk.ErrInvalidACL, noACL)
		same(t, zk.ErrInvalidPath, invalid)
		same(t, zk.ErrInvalidPath, invalidW)
		same(t, zk.ErrNoNode, multi)
		require.Len(t, results, 3)
		require.NoError(t, results[0].Error)
		same(t, zk.ErrNoNode, results[1].Error)
		require.ErrorIs(t, results[2].Error, session.ErrRolledBack)
		err = conn.AddAuth("digest", []byte("user:password"))
		require.ErrorIs(t, err, session.ErrUnsupported)
		require.ErrorContains(t, err, "session.WithAuth")
	})
}

// TestEventsOfWatches: a change ends the watches that it is for, once, with go-zookeeper's event.
func TestEventsOfWatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change                                  func(conn gozk.Conn) error
		data, exists, missing, children, parent zk.EventType // 0: none
	}{
		"data":  {func(c gozk.Conn) error { _, err := c.Set("/p/a", nil, -1); return err }, zk.EventNodeDataChanged, zk.EventNodeDataChanged, 0, 0, 0},
		"child": {func(c gozk.Conn) error { _, err := c.Create("/p/a/c", nil, 0, zk.WorldACL(zk.PermAll)); return err }, 0, 0, 0, zk.EventNodeChildrenChanged, 0},
		"birth": {func(c gozk.Conn) error { _, err := c.Create("/p/b", nil, 0, zk.WorldACL(zk.PermAll)); return err }, 0, 0, zk.EventNodeCreated, 0, zk.EventNodeChildrenChanged},
		"end":   {func(c gozk.Conn) error { return c.Delete("/p/a", -1) }, zk.EventNodeDeleted, zk.EventNodeDeleted, 0, zk.EventNodeDeleted, zk.EventNodeChildrenChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view(t, func(t *testing.T, _ *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
				create(t, conn, "/p")
				create(t, conn, "/p/a")
				data, stat, onData, err := conn.GetW("/p/a")
				require.NoError(t, err)
				require.Equal(t, "data", string(data))
				require.EqualValues(t, 4, stat.DataLength)
				there, _, onExists, err := conn.ExistsW("/p/a")
				require.NoError(t, err)
				require.True(t, there)
				there, _, onMissing, err := conn.ExistsW("/p/b")
				require.NoError(t, err)
				require.False(t, there)
				names, _, onChildren, err := conn.ChildrenW("/p/a")
				require.NoError(t, err)
				require.Empty(t, names)
				names, _, onParent, err := conn.ChildrenW("/p")
				require.NoError(t, err)
				require.Equal(t, []string{"a"}, names)

				require.NoError(t, c.change(conn))
				synctest.Wait()
				for i, w := range []struct {
					events <-chan zk.Event
					want   zk.EventType
					path   string
				}{{onData, c.data, "/p/a"}, {onExists, c.exists, "/p/a"}, {onMissing, c.missing, "/p/b"}, {onChildren, c.children, "/p/a"}, {onParent, c.parent, "/p"}} {
					select {
					case e := <-w.events:
						require.Equal(t, zk.Event{Type: w.want, State: zk.StateSyncConnected, Path: w.path}, e, "%d", i)
						bubble.Closed(t, w.events, "%d", i)
					default:
						require.Zero(t, w.want, "%d", i)
					}
				}
			}, session.WithNamespace("/app"))
		})
	}
}

func TestAnExpiryEndsWatchesAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, events <-chan zk.Event) {
		create(t, conn, "/a")
		_, _, watch, err := conn.GetW("/a")
		require.NoError(t, err)
		before := conn.SessionID()
		srv.Expire(before)
		require.Equal(t, zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: "/a", Err: zk.ErrSessionExpired}, bubble.Get(t, watch))
		_, _, again, err := conn.GetW("/a")
		require.NoError(t, err)
		require.NotEqual(t, before, conn.SessionID())
		_, err = conn.Set("/a", nil, -1)
		require.NoError(t, err)
		require.Equal(t, zk.EventNodeDataChanged, bubble.Get(t, again).Type)
		for _, want := range []zk.State{
			zk.StateConnecting, zk.StateConnected, zk.StateHasSession, zk.StateDisconnected, zk.StateConnecting,
			zk.StateExpired, zk.StateDisconnected, zk.StateConnecting, zk.StateConnected, zk.StateHasSession,
		} {
			require.Equal(t, want, bubble.Get(t, events).State)
		}
		require.Empty(t, events)
		require.Equal(t, zk.StateHasSession, conn.State())
	})
}

// TestCloseEndsTheView: not the session, nor what it has in ZooKeeper.
func TestCloseEndsTheView(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, _ *zktest.Server, sess *session.Session, conn gozk.Conn, events <-chan zk.Event) {
		_, err := conn.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, _, watch, err := conn.GetW("/e")
		require.NoError(t, err)
		conn.Close()
		conn.Close()
		require.Equal(t, zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: "/e", Err: zk.ErrClosing}, bubble.Get(t, watch))
		_, _, err = conn.Get("/e")
		same(t, zk.ErrConnectionClosed, err)
		_, _, _, err = conn.ChildrenW("/")
		same(t, zk.ErrConnectionClosed, err)
		var last zk.Event
		synctest.Wait()
		for len(events) > 0 {
			last = <-events
		}
		bubble.Closed(t, events)
		require.Equal(t, zk.StateDisconnected, last.State)
		_, exists, err := sess.Exists(t.Context(), "/e")
		require.NoError(t, err)
		require.True(t, exists)

		require.NoError(t, session.CloseWithin(sess, time.Minute))
		late, events := gozk.On(sess)
		_, _, err = late.Get("/e")
		same(t, zk.ErrConnectionClosed, err)
		bubble.Closes(t, events)
	})
}

// TestTheEndOfTheSessionEndsTheView: no call waits for ever, and no watch.
func TestTheEndOfTheSessionEndsTheView(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, _ *zktest.Server, sess *session.Session, conn gozk.Conn, events <-chan zk.Event) {
		_, _, watch, err := conn.ChildrenW("/")
		require.NoError(t, err)
		require.NoError(t, session.CloseWithin(sess, time.Minute))
		require.Equal(t, zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: "/", Err: zk.ErrClosing}, bubble.Get(t, watch))
		bubble.Closes(t, events)
		require.Equal(t, zk.StateDisconnected, conn.State())
		_, err = conn.Sync("/")
		same(t, zk.ErrConnectionClosed, err)
	})
}

// TestTheLastStateIsNeverLost: however many events nobody has received.
func TestTheLastStateIsNeverLost(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, sess *session.Session, conn gozk.Conn, events <-chan zk.Event) {
		for range 20 {
			srv.Disconnect(conn.SessionID())
			synctest.Wait()
			require.NoError(t, sess.Connect(t.Context()))
			time.Sleep(time.Minute)
		}
		require.Len(t, events, 16)
		var last zk.Event
		for range 16 {
			last = bubble.Now(t, events)
		}
		require.Equal(t, zk.Event{Type: zk.EventSession, State: zk.StateHasSession, Server: conn.Server()}, last)
		require.Equal(t, last.State, conn.State())
	})
}

// lose loses the answer to the next request of a kind, with the connection.
func lose(srv *zktest.Server, op zktest.Op) {
	var once atomic.Bool
	srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == op && !once.Swap(true) {
			return zktest.CutAfter
		}
		return zktest.Pass
	})
}

// TestALostWriteIsOfUnknownOutcome: which is no error of go-zookeeper's.
func TestALostWriteIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		lose(srv, zktest.OpCreate)
		_, err := conn.Create("/a", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		same(t, session.ErrUnknownOutcome, err)
		require.NotErrorIs(t, err, zk.ErrConnectionClosed)
		exists, _, err := conn.Exists("/a") // a read tells
		require.NoError(t, err)
		require.True(t, exists)
		lose(srv, zktest.OpMulti)
		results, err := conn.Multi(&zk.DeleteRequest{Path: "/a", Version: -1})
		same(t, session.ErrUnknownOutcome, err)
		require.Empty(t, results)
		exists, _, err = conn.Exists("/a")
		require.NoError(t, err)
		require.False(t, exists)
	})
}

// TestALostAnswerOfAReadIsAskedForAgain: and a watch outlives the connection.
func TestALostAnswerOfAReadIsAskedForAgain(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		create(t, conn, "/a")
		lose(srv, zktest.OpGetData)
		data, _, err := conn.Get("/a")
		require.NoError(t, err)
		require.Equal(t, "data", string(data))
		lose(srv, zktest.OpGetData)
		data, _, watch, err := conn.GetW("/a")
		require.NoError(t, err)
		require.Equal(t, "data", string(data))
		heal := srv.Partition(conn.SessionID())
		require.NoError(t, srv.Znodes(t).Set("/a", nil))
		time.Sleep(time.Second)
		require.Empty(t, watch)
		heal()
		require.Equal(t, zk.Event{Type: zk.EventNodeDataChanged, State: zk.StateSyncConnected, Path: "/a"}, bubble.Get(t, watch))
	})
}

// TestAProtectedCreateIsFoundAgain: it makes one znode, though the answer is lost.
func TestAProtectedCreateIsFoundAgain(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		create(t, conn, "/a")
		lose(srv, zktest.OpCreate)
		made, err := conn.CreateProtectedEphemeralSequential("/a/n-", nil, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.Regexp(t, `^/a/_c_[0-9a-f-]{36}-n-0000000000$`, made)
		names, _, err := conn.Children("/a")
		require.NoError(t, err)
		require.Equal(t, []string{path.Base(made)}, names)
	})
}

// TestCloseEndsCallsThatWait: a read has no answer then, and a write that was sent no outcome.
func TestCloseEndsCallsThatWait(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		create(t, conn, "/a")
		defer srv.Partition(conn.SessionID())()
		read, watch, write := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { _, _, err := conn.Get("/a"); read <- err }()
		go func() { _, _, _, err := conn.GetW("/a"); watch <- err }()
		go func() { _, err := conn.Set("/a", nil, -1); write <- err }()
		time.Sleep(time.Minute) // they wait, though the session has expired
		require.Empty(t, read)
		require.Empty(t, write)
		conn.Close()
		same(t, zk.ErrConnectionClosed, bubble.Get(t, read))
		same(t, zk.ErrConnectionClosed, bubble.Get(t, watch))
		same(t, session.ErrUnknownOutcome, bubble.Get(t, write))
	})
}

// TestAWatchOfWhatIsMissingTellsOfABirth: also where another watch of the session, which was there
// before, tells of the znode's end.
func TestAWatchOfWhatIsMissingTellsOfABirth(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		create(t, conn, "/a")
		_, _, end, err := conn.GetW("/a")
		require.NoError(t, err)
		var once atomic.Bool
		srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpExists && !once.Swap(true) {
				assert.NoError(t, srv.Znodes(t).Delete("/a"))
			}
			return zktest.Pass
		})
		there, _, birth, err := conn.ExistsW("/a")
		require.NoError(t, err)
		require.False(t, there)
		require.Equal(t, zk.EventNodeDeleted, bubble.Get(t, end).Type)
		require.Equal(t, zk.EventNodeCreated, bubble.Get(t, birth).Type)
	})
}

// TestACallWithoutAServer fails, as in go-zookeeper, and the view goes on.
func TestACallWithoutAServer(t *testing.T) {
	t.Parallel()
	view(t, func(t *testing.T, srv *zktest.Server, _ *session.Session, conn gozk.Conn, _ <-chan zk.Event) {
		srv.Kill(0)
		synctest.Wait()
		_, _, err := conn.Get("/")
		same(t, zk.ErrNoServer, err)
		_, _, _, err = conn.GetW("/")
		same(t, zk.ErrNoServer, err)
		require.NoError(t, srv.Restart(0))
		for range 60 {
			if _, _, err = conn.Get("/"); err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		require.NoError(t, err)
	})
}
