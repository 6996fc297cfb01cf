// That go-zookeeper's words mean here what they mean there: its errors, its ACLs, its Stat.

package session_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// zksErrors are all errors that go-zookeeper 1.0.4 exports.
var zksErrors = map[string]error{
	"ErrConnectionClosed": zk.ErrConnectionClosed, "ErrUnknown": zk.ErrUnknown, "ErrAPIError": zk.ErrAPIError, "ErrNoNode": zk.ErrNoNode, "ErrNoAuth": zk.ErrNoAuth,
	"ErrBadVersion": zk.ErrBadVersion, "ErrNoChildrenForEphemerals": zk.ErrNoChildrenForEphemerals, "ErrNodeExists": zk.ErrNodeExists, "ErrNotEmpty": zk.ErrNotEmpty,
	"ErrSessionExpired": zk.ErrSessionExpired, "ErrInvalidACL": zk.ErrInvalidACL, "ErrInvalidFlags": zk.ErrInvalidFlags, "ErrAuthFailed": zk.ErrAuthFailed,
	"ErrClosing": zk.ErrClosing, "ErrNothing": zk.ErrNothing, "ErrSessionMoved": zk.ErrSessionMoved, "ErrReconfigDisabled": zk.ErrReconfigDisabled,
	"ErrBadArguments": zk.ErrBadArguments, "ErrNoServer": zk.ErrNoServer, "ErrInvalidPath": zk.ErrInvalidPath, "ErrDeadlock": zk.ErrDeadlock, "ErrNotLocked": zk.ErrNotLocked,
	"ErrUnhandledFieldType": zk.ErrUnhandledFieldType, "ErrPtrExpected": zk.ErrPtrExpected, "ErrShortBuffer": zk.ErrShortBuffer,
}

// ourErrors are all errors that package session exports, with go-zookeeper's that each of them is.
var ourErrors = map[string]struct{ ours, zks error }{
	"ErrNoNode":                  {session.ErrNoNode, zk.ErrNoNode},
	"ErrNodeExists":              {session.ErrNodeExists, zk.ErrNodeExists},
	"ErrBadVersion":              {session.ErrBadVersion, zk.ErrBadVersion},
	"ErrNotEmpty":                {session.ErrNotEmpty, zk.ErrNotEmpty},
	"ErrNoChildrenForEphemerals": {session.ErrNoChildrenForEphemerals, zk.ErrNoChildrenForEphemerals},
	"ErrNoAuth":                  {session.ErrNoAuth, zk.ErrNoAuth},
	"ErrInvalidACL":              {session.ErrInvalidACL, zk.ErrInvalidACL},
	"ErrInvalidPath":             {session.ErrInvalidPath, zk.ErrInvalidPath},
	"ErrAuthFailed":              {session.ErrAuthFailed, zk.ErrAuthFailed},
	"ErrExpired":                 {session.ErrExpired, zk.ErrSessionExpired},

	"ErrThrottled": {session.ErrThrottled, nil}, "ErrUnsupported": {session.ErrUnsupported, nil}, "ErrRolledBack": {session.ErrRolledBack, nil},
	"ErrTooLarge": {session.ErrTooLarge, nil}, "ErrTooMany": {session.ErrTooMany, nil}, "ErrHungUp": {session.ErrHungUp, nil}, "ErrLocalSession": {session.ErrLocalSession, nil},
	"ErrAuthRequired": {session.ErrAuthRequired, nil}, "ErrClosed": {session.ErrClosed, nil}, "ErrDataLoss": {session.ErrDataLoss, nil},
	"ErrSuspended": {session.ErrSuspended, nil}, "ErrUntrusted": {session.ErrUntrusted, nil}, "ErrDeleted": {session.ErrDeleted, nil},
	"ErrRestarted": {session.ErrRestarted, nil}, "ErrReleased": {session.ErrReleased, nil},
	"ErrLost": {session.ErrLost, nil}, "ErrUnknownOutcome": {session.ErrUnknownOutcome, nil}, "ErrNotSent": {session.ErrNotSent, nil},
}

func TestAnErrorIsAtMostOneOfGoZookeepers(t *testing.T) {
	t.Parallel()
	require.Equal(t, exportedErrors(t), slices.Sorted(maps.Keys(ourErrors)), "the table is complete")
	for name, e := range ourErrors {
		for other, zks := range zksErrors {
			require.Equal(t, zks == e.zks, errors.Is(e.ours, zks), "session.%s is zk.%s", name, other)
		}
		for other, o := range ourErrors {
			require.Equal(t, name == other, errors.Is(e.ours, o.ours), "session.%s is session.%s", name, other)
		}
	}
}

// exportedErrors are the names of the errors that package session exports, in order.
func exportedErrors(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := regexp.MustCompile(`(?m)^(?:var |\t)(Err\w+) +=`)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, name := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, name[1])
		}
	}
	slices.Sort(names)
	return names
}

func TestWhatIsReturnedIsGoZookeepersErrorToo(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, _, h := w.holding()
		w.create(s, "/closed", nil, session.WithNodeACL(session.AnyoneACL(session.PermRead)...))
		w.create(s, "/a", nil)
		w.create(s, "/a/b", nil, session.Ephemeral())
		_, _, missing := s.Get(w.ctx, "/none")
		_, exists := s.Create(w.ctx, "/a", nil)
		_, version := s.Set(w.ctx, "/a", nil, 7)
		_, ephemeral := s.Create(w.ctx, "/a/b/c", nil)
		results, _ := s.Multi(w.ctx, session.DeleteOp("/a", -1))
		_, _, path := s.Get(w.ctx, "a")
		_, auth := s.Set(w.ctx, "/closed", nil, -1)
		_, acl := s.SetACL(w.ctx, "/a", nil, -1)
		for _, row := range []struct{ err, zks, ours error }{
			{missing, zk.ErrNoNode, session.ErrNoNode},
			{exists, zk.ErrNodeExists, session.ErrNodeExists},
			{version, zk.ErrBadVersion, session.ErrBadVersion},
			{ephemeral, zk.ErrNoChildrenForEphemerals, session.ErrNoChildrenForEphemerals},
			{results[0].Err, zk.ErrNotEmpty, session.ErrNotEmpty},
			{auth, zk.ErrNoAuth, session.ErrNoAuth},
			{path, zk.ErrInvalidPath, session.ErrInvalidPath},
			{acl, zk.ErrInvalidACL, session.ErrInvalidACL},
		} {
			isAll(w, row.err, row.zks, row.ours)
		}
		w.srv.Expire(id(s))
		<-h.Done()
		isAll(w, h.Err(), zk.ErrSessionExpired, session.ErrExpired)
	})
}

func TestGoZookeepersACLsAreTaken(t *testing.T) {
	inBubble(t, func(w *harness) {
		alices := zk.DigestACL(zk.PermAll, "alice", "secret")
		s := w.open(session.WithAuth("digest", []byte("alice:secret")), session.WithACL(zk.AuthACL(zk.PermAll)...))
		is := func(path string, want []zk.ACL) {
			w.Helper()
			var acl []zk.ACL
			acl, _, err := s.ACL(w.ctx, path)
			require.NoError(w, err)
			require.Equal(w, want, acl, path)
		}
		w.create(s, "/of/the/session", nil, session.Parents())
		is("/of/the", alices)
		is("/of/the/session", alices)
		w.create(s, "/own", nil, session.WithNodeACL(zk.WorldACL(zk.PermRead|zk.PermAdmin)...))
		is("/own", session.AnyoneACL(session.PermRead|session.PermAdmin))
		require.NoError(w, errOf(s.SetACL(w.ctx, "/own", append(zk.WorldACL(zk.PermRead), alices...), -1)))
		is("/own", append(session.AnyoneACL(session.PermRead), alices...))
		require.NoError(w, errOf(s.Multi(w.ctx, session.CreateOp("/inside", nil, session.WithNodeACL(zk.WorldACL(zk.PermAll)...)), session.CreateOp("/beside", nil))))
		is("/inside", zk.WorldACL(zk.PermAll))
		is("/beside", alices)
	})
}

func TestStatSaysWhatGoZookeepersSays(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		time.Sleep(time.Hour)
		w.create(s, "/a", nil)
		time.Sleep(time.Hour)
		require.NoError(w, errOf(s.SetACL(w.ctx, "/a", zk.WorldACL(zk.PermAll), -1)))
		for range 2 {
			require.NoError(w, errOf(s.Set(w.ctx, "/a", []byte("abc"), -1)))
		}
		for _, name := range []string{"/a/1", "/a/2", "/a/3", "/a/4"} {
			w.create(s, name, []byte("abcde"), session.Ephemeral())
		}
		require.NoError(w, s.Delete(w.ctx, "/a/4", -1))
		conn, _, err := zk.Connect(w.srv.Hosts(), time.Minute, zk.WithDialer(w.srv.DialTimeout), zk.WithLogInfo(false))
		require.NoError(w, err)
		defer conn.Close()
		for _, path := range []string{"/a", "/a/1"} {
			_, zks, err := conn.Get(path)
			require.NoError(w, err)
			_, ours, err := s.Get(w.ctx, path)
			require.NoError(w, err)
			theirs, its := reflect.ValueOf(*zks), reflect.ValueOf(ours)
			require.Equal(w, theirs.NumField(), its.NumField())
			for i := range theirs.NumField() {
				name := theirs.Type().Field(i).Name
				value := its.FieldByName(name).Interface()
				if at, ok := value.(time.Time); ok {
					value = at.UnixMilli()
				}
				require.Equal(w, theirs.Field(i).Interface(), value, "%s: %s", path, name)
			}
		}
	})
}
