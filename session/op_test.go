// The operations of a session, on the server in memory and on a real one; and what is told of a
// refusal. Helpers: helper_test.go.

package session_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestReadsTellWhatWasWritten(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		require.Equal(w, "/a", w.create(s, "/a", []byte("one")))
		data, stat, err := s.Get(w.ctx, "/a")
		require.NoError(w, err)
		require.Equal(w, "one", string(data))
		require.Equal(w, stat.Czxid, stat.Mzxid)
		stat, err = s.Set(w.ctx, "/a", []byte("two"), stat.Version)
		require.NoError(w, err)
		require.EqualValues(w, 1, stat.Version)
		require.ErrorIs(w, errOf(s.Set(w.ctx, "/a", nil, 0)), session.ErrBadVersion)
		require.ErrorIs(w, errOf(s.Create(w.ctx, "/a", nil)), session.ErrNodeExists)
		require.ErrorIs(w, errOf(s.Create(w.ctx, "/b/c", nil)), session.ErrNoNode)
		stat, exists, err := s.Exists(w.ctx, "/a")
		require.NoError(w, err)
		require.True(w, exists)
		require.EqualValues(w, 1, stat.Version)
		names, stat, err := s.Children(w.ctx, "/")
		require.NoError(w, err)
		require.Contains(w, names, "a")
		require.EqualValues(w, len(names), stat.NumChildren)
		require.ErrorIs(w, s.Delete(w.ctx, "/a", 7), session.ErrBadVersion)
		require.NoError(w, s.Delete(w.ctx, "/a", 1))
		require.ErrorIs(w, s.Delete(w.ctx, "/a", -1), session.ErrNoNode)
		_, _, err = s.Get(w.ctx, "/a")
		require.ErrorIs(w, err, session.ErrNoNode)
		var op *session.OpError
		require.ErrorAs(w, err, &op)
		require.Equal(w, "get", op.Op)
		require.Equal(w, "/a", op.Path)
		require.NoError(w, s.Sync(w.ctx, "/a"))
	})
}

func TestTheNamespaceIsThereWhenItIsNeeded(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session) error{
		"create": func(w *harness, s *session.Session) error { return errOf(s.Create(w.ctx, "/a", nil)) },
		"parents": func(w *harness, s *session.Session) error {
			return errOf(s.Create(w.ctx, "/b/c/d", nil, session.Parents()))
		},
		"protected": func(w *harness, s *session.Session) error {
			return errOf(s.Create(w.ctx, "/a", nil, session.Protected()))
		},
		"children": func(w *harness, s *session.Session) error { return errOf(s.Children(w.ctx, "/")) },
		"get":      func(w *harness, s *session.Session) error { return errOf(s.Get(w.ctx, "/")) },
		"exists": func(w *harness, s *session.Session) error {
			_, exists, err := s.Exists(w.ctx, "/")
			require.True(w, exists)
			return err
		},
		"multi": func(w *harness, s *session.Session) error { return errOf(s.Multi(w.ctx, session.CreateOp("/a", nil))) },
		"pipeline": func(w *harness, s *session.Session) error {
			return errOf(s.Pipeline(w.ctx, session.CreateOp("/a", nil)))
		},
		"ensure": func(w *harness, s *session.Session) error { return s.EnsurePath(w.ctx, "/a/b") },
		"join": func(w *harness, s *session.Session) error {
			return w.client(s).join(w, 1, session.Join{Parent: "/queue", Name: "lock-"}).Err
		},
	}, func(w *harness, call func(w *harness, s *session.Session) error) {
		s, other := w.open(session.WithNamespace("/some/where")), w.open()
		require.False(w, w.exists(other, "/some"))
		require.NoError(w, call(w, s))
		require.True(w, w.exists(other, "/some/where"))
		require.NotContains(w, w.requests(), "createContainer /some/where")

		// It is there again after it was deleted.
		require.NoError(w, other.DeleteAll(w.ctx, "/some"))
		require.NoError(w, call(w, s))
	})
}

func TestEachKindOfZnodeIsWhatItSays(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		require.Regexp(w, `^/n-\d{10}$`, w.create(s, "/n-", nil, session.Sequential()))
		eph := w.create(s, "/e", nil, session.Ephemeral())
		stat, _, err := s.Exists(w.ctx, eph)
		require.NoError(w, err)
		require.Equal(w, id(s), stat.EphemeralOwner)
		require.ErrorIs(w, errOf(s.Create(w.ctx, "/e/x", nil)), session.ErrNoChildrenForEphemerals)
		box := w.create(s, "/box", nil, session.Container())
		if w.srv != nil {
			require.Equal(w, "createContainer "+s.Path(box), last(w.requests()))
		}
		if w.srv != nil { // real servers have to be configured for it
			w.create(s, "/ttl", nil, session.TTL(time.Minute))
			w.create(s, "/ttl-", nil, session.TTL(time.Minute), session.Sequential())
		}
		name := w.create(s, "/deep/down/p-", nil, session.Parents(), session.Protected(), session.Ephemeral(), session.Sequential())
		require.Regexp(w, `^/deep/down/_c_[0-9a-f-]{36}-p-0000000000$`, name)
		if w.srv != nil {
			require.Contains(w, w.requests(), "createContainer "+s.Path("/deep/down"))
		}
		locked := w.create(s, "/read", nil, session.WithNodeACL(session.AnyoneACL(session.PermRead)...))
		require.ErrorIs(w, errOf(s.Set(w.ctx, locked, nil, -1)), session.ErrNoAuth)
		acl, _, err := s.ACL(w.ctx, locked)
		require.NoError(w, err)
		require.Equal(w, session.AnyoneACL(session.PermRead), acl)
	})
}

func TestInvalidPathsAreRefusedAtOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.session()
		for _, path := range []string{"", "a", "a/b", "/a/", "//", "/a//b", "/a/./b", "/a/..", "/a\x00b", "/a\x01"} {
			for name, call := range operations(s, path) {
				err := call(w.ctx)
				require.ErrorIs(w, err, session.ErrInvalidPath, "%s %q", name, path)
				require.ErrorContains(w, err, "path")
			}
			bubble.Closed(w, s.WatchData(w.ctx, path))
			bubble.Closed(w, s.WatchChildren(w.ctx, path))
		}
		require.Empty(w, w.srv.Sessions(), "a slip of the pen connected")
	})
}

func TestATransactionIsAllOrNothing(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		results, err := s.Multi(w.ctx,
			session.CreateOp("/a", []byte("x")), session.CreateOp("/a/n-", nil, session.Sequential(), session.Ephemeral()),
			session.SetOp("/a", []byte("y"), 0), session.CheckOp("/a", 1))
		require.NoError(w, err)
		require.Equal(w, "/a", results[0].Path)
		require.Equal(w, "/a/n-0000000000", results[1].Path)
		require.EqualValues(w, 1, results[2].Stat.Version)
		results, err = s.Multi(w.ctx, session.DeleteOp("/a/n-0000000000", -1), session.CheckOp("/a", 7), session.DeleteOp("/a", -1))
		require.ErrorIs(w, err, session.ErrBadVersion)
		require.Len(w, results, 3)
		require.ErrorIs(w, results[1].Err, session.ErrBadVersion)
		require.ErrorIs(w, results[2].Err, session.ErrRolledBack)
		require.True(w, w.exists(s, "/a/n-0000000000"), "nothing was done")
	})
}

func TestTreesAreMadeAndDeletedAsAWhole(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		require.NoError(w, s.EnsurePath(w.ctx, "/t/a/b/c"))
		require.NoError(w, s.EnsurePath(w.ctx, "/t/a/b/c"))
		require.True(w, w.exists(s, "/t/a/b"))
		for i := range 250 {
			require.NoError(w, errOf(s.Create(w.ctx, "/t/a/n-", nil, session.Sequential())), i)
		}
		if w.srv != nil {
			w.requests()
		}
		require.NoError(w, s.DeleteAll(w.ctx, "/t"))
		if w.srv != nil {
			require.Equal(w, 3, w.transactions(), "254 znodes in transactions of a hundred")
		}
		require.False(w, w.exists(s, "/t"))
		require.NoError(w, s.DeleteAll(w.ctx, "/t"), "that it does not exist is no error")
	})
}

func TestDeleteAllDeletesWhatOthersAddMeanwhile(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/t/a/b"))
		require.NoError(w, s.EnsurePath(w.ctx, "/t/c"))
		var created, deleted atomic.Bool
		w.srv.Intercept(func(r *zktest.Request) zktest.Verdict { // which asks something itself
			switch {
			case r.SessionID != id(s) || r.Op != zktest.OpMulti:
			case !created.Swap(true):
				_, err := other.Create(w.ctx, "/t/a/b/new", nil)
				assert.NoError(w, err)
			case !deleted.Swap(true):
				assert.NoError(w, other.Delete(w.ctx, "/t/c", -1))
			}
			return zktest.Pass
		})
		require.NoError(w, s.DeleteAll(w.ctx, "/t"))
		require.True(w, created.Load() && deleted.Load())
		require.False(w, w.exists(s, "/t"))
		require.ErrorIs(w, s.DeleteAll(w.ctx, "/"), session.ErrInvalidPath)
	})
}

func TestEnsurePathNeedsNoRightForWhatExists(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/a", nil)
		w.create(s, "/a/b", nil)
		require.NoError(w, errOf(s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermRead|session.PermAdmin), -1)))
		require.NoError(w, s.EnsurePath(w.ctx, "/a/b"), "it exists")
		require.ErrorIs(w, s.EnsurePath(w.ctx, "/a/c"), session.ErrNoAuth)
	})
}

func TestTooLargeIsFoundBeforeItIsSent(t *testing.T) {
	inBubble(t, func(w *harness) {
		const limit = 10_000
		unconnected := w.session(session.WithMaxPacket(limit))
		s := w.open(session.WithMaxPacket(limit))
		w.create(s, "/a", nil)
		// The largest that fits does, and one more byte does not: the server here drops the
		// connection of a client that sends that.
		const largest = limit - 22 // its header, the path and the version
		w.write(s, "/a", make([]byte, largest))
		require.NoError(w, errOf(s.Pipeline(w.ctx, session.SetOp("/a", make([]byte, largest), -1))))
		w.requests()
		big := make([]byte, largest+1)
		for name, call := range map[string]func(s *session.Session) error{
			"set":       func(s *session.Session) error { return errOf(s.Set(w.ctx, "/a", big, -1)) },
			"create":    func(s *session.Session) error { return errOf(s.Create(w.ctx, "/b", big)) },
			"protected": func(s *session.Session) error { return errOf(s.Create(w.ctx, "/b", big, session.Protected())) },
			"multi": func(s *session.Session) error {
				return errOf(s.Multi(w.ctx, session.SetOp("/a", big[limit/2:], -1), session.SetOp("/a", big[limit/2:], -1)))
			},
			"pipeline": func(s *session.Session) error { return errOf(s.Pipeline(w.ctx, session.SetOp("/a", big, -1))) },
			"path":     func(s *session.Session) error { return s.Delete(w.ctx, "/"+strings.Repeat("x", limit), -1) },
		} {
			require.ErrorIs(w, call(s), session.ErrTooLarge, name)
			require.ErrorIs(w, call(unconnected), session.ErrTooLarge, name)
		}
		require.Empty(w, w.requests())
		require.ErrorIs(w, w.client(s).join(w, 1, session.Join{Parent: "/queue", Name: "lock-", Data: big}).Err, session.ErrTooLarge)
		require.Zero(w, session.RecordLen(s))
	}, zktest.WithMaxPacket(10_000))
}

// A refusal names the znode, the right, and as whom the session has asked; never a secret.
func TestARefusalNamesTheRightThatIsMissing(t *testing.T) {
	inBubble(t, func(w *harness) {
		owner := w.open(session.WithAuth("digest", []byte("owner:hush")))
		w.create(owner, "/printer", nil, session.WithNodeACL(session.AuthACL(session.PermAll)...))
		w.create(owner, "/printer/a", nil, session.WithNodeACL(session.AuthACL(session.PermAll)...))
		s := w.open(session.WithNamespace("/printer"), session.WithAuth("digest", []byte("alice:hunter2")), session.WithAuth("ip", []byte("secret")))
		for name, want := range map[string]string{
			"create": "create below /printer needs CREATE", "protected": "create below /printer needs CREATE",
			"get": "read /printer/a needs READ", "exists": "read /printer/a needs READ", "children": "read /printer/a needs READ", "set": "write /printer/a needs WRITE",
			"delete": "delete below /printer needs DELETE", "set acl": "set the ACL of /printer/a needs ADMIN",
			"multi": "read /printer/a needs READ",
		} {
			err := operations(s, "/a")[name](w.ctx)
			require.ErrorIs(w, err, session.ErrNoAuth, name)
			require.ErrorContains(w, err, ": "+want+"; this session is world:anyone, digest:alice, ip", name)
			require.NotContains(w, err.Error(), "hunter2", name)
			require.NotContains(w, err.Error(), "secret", name)
		}
		results, err := s.Multi(w.ctx, session.DeleteOp("/a", -1))
		require.ErrorContains(w, err, "delete below /printer needs DELETE")
		require.ErrorContains(w, results[0].Err, "delete below /printer needs DELETE")
	})
}
