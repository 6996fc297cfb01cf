// Locks whose znodes nobody else may touch, each kind: a part of the lives in life_test.go.

package lock_test

import (
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// as is a session with an identity of its own.
func as(c *bubble.Cluster, name string) *session.Session {
	c.Helper()
	return c.Session(session.WithAuth("digest", []byte(name+":secret")))
}

var onlyOurs = lock.WithACL(zk.AuthACL(zk.PermAll)...)

// everybodys are the znodes at a path and below, and above it, that are not alice's alone.
func everybodys(c *bubble.Cluster, s *session.Session, at string) (all []string) {
	c.Helper()
	var look func(at string)
	look = func(at string) {
		acl, _, err := s.ACL(c.Context(), at)
		require.NoError(c, err)
		if len(acl) != 1 || acl[0].Scheme != "digest" || !strings.HasPrefix(acl[0].ID, "alice:") || acl[0].Perms != session.PermAll {
			all = append(all, at)
		}
		names, _, err := s.Children(c.Context(), at)
		require.NoError(c, err)
		for _, name := range names {
			look(strings.TrimSuffix(at, "/") + "/" + name)
		}
	}
	look(at)
	return all
}

var acls = bubble.Suite{
	{Name: "nobody else deletes what is held", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		l, err := lock.New(alice, "/locks/orders", onlyOurs)
		require.NoError(c, err)
		g, err := l.Lock(ctx)
		require.NoError(c, err)
		require.Empty(c, everybodys(c, alice, "/locks"))
		acl, _, err := mallory.ACL(ctx, "/")
		require.NoError(c, err)
		require.Equal(c, session.AnyoneACL(session.PermAll), acl, "the namespace is the session's")

		for what, attempt := range map[string]func() error{
			"delete": func() error { return mallory.Delete(ctx, g.Path(), -1) },
			"break":  func() error { return lock.Break(ctx, mallory, g.Path(), 0) },
			"revoke": func() error { return lock.Revoke(ctx, mallory, g.Path()) },
			"data":   func() error { _, err := mallory.Set(ctx, g.Path(), nil, -1); return err },
			"rights": func() error {
				_, err := mallory.SetACL(ctx, g.Path(), session.AnyoneACL(session.PermAll), -1)
				return err
			},
			"queue up": func() error { _, err := mallory.Create(ctx, "/locks/orders/x", nil); return err },
			"acquire": func() error {
				intruder, err := lock.New(mallory, "/locks/orders")
				require.NoError(c, err)
				_, err = intruder.Lock(ctx)
				return err
			},
		} {
			require.ErrorIs(c, attempt(), session.ErrNoAuth, what)
		}
		require.True(c, g.Valid())

		next, err := lock.New(as(c, "alice"), "/locks/orders", onlyOurs)
		require.NoError(c, err)
		next.Acquire()
		require.NoError(c, g.Release(ctx))
		second := bubble.Within(c, time.Minute, next.Acquired())
		require.Greater(c, second.Token(), g.Token())
		require.NoError(c, lock.Break(ctx, alice, second.Path(), 0), "the same identity may")
		bubble.Within(c, time.Minute, second.Done())
		require.ErrorIs(c, second.Err(), session.ErrDeleted)
		require.NoError(c, next.Close(ctx))
	}},
	{Name: "each kind", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice := as(c, "alice")
		for name, build := range map[string]func(at string) (*lock.Lock, error){
			"semaphore":  func(at string) (*lock.Lock, error) { return lock.NewSemaphore(alice, at, 2, onlyOurs) },
			"read side":  func(at string) (*lock.Lock, error) { return lock.NewRead(alice, at, onlyOurs) },
			"write side": func(at string) (*lock.Lock, error) { return lock.NewWrite(alice, at, onlyOurs) },
			"delay":      func(at string) (*lock.Lock, error) { return lock.New(alice, at, onlyOurs, lock.WithDelay(time.Second)) },
			"simple": func(at string) (*lock.Lock, error) {
				return lock.New(alice, at, onlyOurs, lock.WithLayout(lock.Simple))
			},
			"kazoo": func(at string) (*lock.Lock, error) { return lock.New(alice, at, onlyOurs, lock.WithLayout(lock.Kazoo)) },
		} {
			at := "/kinds/" + strings.ReplaceAll(name, " ", "-")
			l, err := build(at)
			require.NoError(c, err, name)
			g, err := l.Lock(ctx)
			require.NoError(c, err, name)
			require.Empty(c, everybodys(c, alice, "/kinds"), name)
			if name == "write side" {
				if g, err = g.Downgrade(ctx); !errors.Is(err, session.ErrUnsupported) {
					require.NoError(c, err)
					require.Empty(c, everybodys(c, alice, "/kinds"), "the reader's znode")
				}
			}
			require.NoError(c, g.Release(ctx), name)
			require.NoError(c, l.Close(ctx), name)
		}
	}},
	{Name: "a path that exists keeps its own", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		require.NoError(c, mallory.EnsurePath(ctx, "/locks/open"))
		l, err := lock.New(alice, "/locks/open", onlyOurs)
		require.NoError(c, err)
		g, err := l.Lock(ctx)
		require.NoError(c, err)
		require.Equal(c, []string{"/locks", "/locks/open"}, everybodys(c, alice, "/locks"))
		require.NoError(c, mallory.Delete(ctx, g.Path(), -1), "the parent's ACL says who may delete")
		bubble.Within(c, time.Minute, g.Done())
		require.ErrorIs(c, g.Err(), session.ErrDeleted)
		require.NoError(c, l.Close(ctx))
	}},
}
