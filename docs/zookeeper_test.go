package docs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The lines of zookeeper-api.md.
func TestZooKeeperAPI(t *testing.T) {
	t.Parallel()
	table(t, "zookeeper-api.md", map[string]line{
		"create(path, data, flags)": apiCreate, "create(…, EPHEMERAL)": apiEphemeral, "create(…, SEQUENTIAL)": apiSequential,
		"delete(path, version)":     apiDelete,
		"exists(path, watch=false)": chubbyStat, "exists(path, watch=true)": apiExistsWatch,
		"getData(path, watch=false)": chubbyGet, "getData(path, watch=true)": chubbyModified,
		"setData(path, data, version)":   chubbySet,
		"getChildren(path, watch=false)": chubbyReadDir, "getChildren(path, watch=true)": apiChildrenWatch,
		"sync(path)": apiSync, "multi": apiMulti,
	})
}

func apiCreate(t *testing.T) {
	_, s := connected(t)
	path, err := s.Create(t.Context(), "/a", []byte("x"))
	require.NoError(t, err)
	require.Equal(t, "/a", path)
	_, err = s.Create(t.Context(), "/a", nil)
	require.ErrorIs(t, err, session.ErrNodeExists)
}

func apiEphemeral(t *testing.T) {
	_, s := connected(t)
	path, err := s.Create(t.Context(), "/a", nil, session.Ephemeral())
	require.NoError(t, err)
	stat, _, err := s.Exists(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, s.Status().SessionID, stat.EphemeralOwner)
}

func apiSequential(t *testing.T) {
	srv, s := connected(t)
	path, err := s.Create(t.Context(), "/a-", nil, session.Sequential())
	require.NoError(t, err)
	require.Regexp(t, `^/a-\d{10}$`, path)
	once := false
	srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		if once || !r.Op.Writes() {
			return zktest.Pass
		}
		once = true
		return zktest.CutAfter
	})
	_, err = s.Create(t.Context(), "/line/b-", nil, session.Ephemeral(), session.Sequential(), session.Protected(), session.Parents())
	require.NoError(t, err)
	names, _, err := s.Children(t.Context(), "/line")
	require.NoError(t, err)
	require.Len(t, names, 1, "found again, and not made twice")
}

func apiDelete(t *testing.T) {
	_, s := made(t)
	require.ErrorIs(t, s.Delete(t.Context(), file, 7), session.ErrBadVersion)
	require.NoError(t, s.Delete(t.Context(), file, 0))
	require.ErrorIs(t, s.Delete(t.Context(), file, -1), session.ErrNoNode)
}

func apiExistsWatch(t *testing.T) {
	_, s := connected(t)
	states := s.WatchData(t.Context(), "/a")
	until(t, states, func(d session.Data) bool { return !d.Exists })
	_, err := s.Create(t.Context(), "/a", nil)
	require.NoError(t, err)
	until(t, states, func(d session.Data) bool { return d.Exists })
	require.NoError(t, s.Delete(t.Context(), "/a", -1))
	until(t, states, func(d session.Data) bool { return !d.Exists })
}

// Two subscriptions are one watch, and neither has to be armed again.
func apiChildrenWatch(t *testing.T) {
	srv, s := made(t)
	one, other := s.WatchChildren(t.Context(), "/ls/cell"), s.WatchChildren(t.Context(), "/ls/cell")
	until(t, one, func(c session.Children) bool { return len(c.Names) == 1 })
	until(t, other, func(c session.Children) bool { return len(c.Names) == 1 })
	info, _ := srv.Session(s.Status().SessionID)
	require.Equal(t, 1, info.Watches)
	for n := 2; n < 5; n++ {
		_, err := s.Create(t.Context(), "/ls/cell/n", nil, session.Sequential())
		require.NoError(t, err)
		until(t, one, func(c session.Children) bool { return len(c.Names) == n })
		until(t, other, func(c session.Children) bool { return len(c.Names) == n })
	}
}

func apiSync(t *testing.T) {
	srv := zktest.Start(t, zktest.WithServers(2))
	var sessions [2]*session.Session
	for i, addr := range srv.Servers() {
		s, err := session.Open(t.Context(), []string{addr})
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		sessions[i] = s
	}
	for i, sync := range []func(*session.Session, context.Context, string) error{(*session.Session).Sync, (*session.Session).SyncQuorum} { // 1 is the leader
		srv.Lag(i, 100)
		path := fmt.Sprint("/new", i)
		_, err := sessions[1-i].Create(t.Context(), path, nil)
		require.NoError(t, err)
		_, exists, err := sessions[i].Exists(t.Context(), path)
		require.NoError(t, err)
		require.False(t, exists, "its server lags behind")
		require.NoError(t, sync(sessions[i], t.Context(), path))
		_, exists, err = sessions[i].Exists(t.Context(), path)
		require.NoError(t, err)
		require.True(t, exists)
	}
}

func apiMulti(t *testing.T) {
	_, s := made(t)
	_, err := s.Multi(t.Context(), session.CheckOp(file, 7), session.CreateOp("/never", nil))
	require.ErrorIs(t, err, session.ErrBadVersion)
	_, exists, err := s.Exists(t.Context(), "/never")
	require.NoError(t, err)
	require.False(t, exists)

	var calls sync.WaitGroup
	for range 100 { // in flight together
		calls.Go(func() {
			if _, err := s.Multi(t.Context(), session.SetOp(file, []byte("x"), -1)); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	stat, _, err := s.Exists(t.Context(), file)
	require.NoError(t, err)
	require.EqualValues(t, 100, stat.Version)
}
