// The ACL of what each recipe makes; and whom that of a lock or a candidate keeps out, also on real
// servers.
package acl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

// rows make a recipe's znodes at /x/y and return the error of WithACL, if it is wrong.
var rows = map[string]func(ctx context.Context, s *session.Session, acl []session.ACL) error{
	"barrier": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		b, err := barrier.New(s, "/x/y", barrier.WithACL(acl...))
		if err != nil {
			return err
		}
		return b.Raise(ctx)
	},
	"double barrier": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		d, err := barrier.NewDouble(s, "/x/y", 2, barrier.WithACL(acl...))
		if err != nil {
			return err
		}
		d.Arrive()
		time.Sleep(time.Second)
		return d.Break(ctx)
	},
	"queue": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		q, err := queue.New(s, "/x/y", queue.WithACL(acl...), queue.WithCapacity(3), queue.WithMaxAttempts(2))
		if err != nil {
			return err
		}
		received := func(returned ...queue.NackOption) error {
			i, err := q.Take(ctx)
			if err == nil {
				err = i.Nack(ctx, returned...)
			}
			return err
		}
		if _, err = q.Put(ctx, nil, queue.WithID("pauses")); err == nil {
			err = received(queue.After(time.Hour))
		}
		if err == nil {
			_, err = q.Put(ctx, nil, queue.WithID("dead"))
		}
		if err == nil {
			err = errors.Join(received(queue.After(0)), received())
		}
		return err
	},
	"twopc": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		if _, err := twopc.NewSite(s, "/x/y", "a", twopc.WithACL(acl...)); err != nil {
			return err
		}
		c, err := twopc.NewCoordinator(s, "/x/y", twopc.WithACL(acl...))
		if err == nil {
			_, err = c.Begin(ctx, "t", nil, "a")
		}
		return err
	},
	"group": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		g, err := group.New(s, "/x/y", group.WithACL(acl...))
		if err != nil {
			return err
		}
		m, err := g.Join(group.Member{ID: "a"})
		if err == nil {
			<-m.Joined()
		}
		return err
	},
	"config": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		c, err := config.New(s, "/x/y", config.Text(), config.WithACL(acl...))
		if err == nil {
			_, err = c.Update(ctx, func(string) (string, error) { return "a", nil })
		}
		return err
	},
	"naming": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		n, err := naming.New(s, "/x/y", naming.WithACL(acl...))
		if err == nil {
			err = n.Bind(ctx, "a/b", []byte("a"))
		}
		return err
	},
	"election": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		e, err := election.New(s, "/x/y", election.WithACL(acl...))
		if err == nil {
			_, err = e.Lead(ctx)
		}
		return err
	},
	"lock":       locked(lock.New),
	"delay":      locked(lock.New, lock.WithDelay(time.Second)),
	"simple":     locked(lock.New, lock.WithLayout(lock.Simple)),
	"kazoo":      locked(lock.New, lock.WithLayout(lock.Kazoo)),
	"read side":  locked(lock.NewRead),
	"write side": locked(lock.NewWrite),
	"semaphore": locked(func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error) {
		return lock.NewSemaphore(s, path, 2, opts...)
	}),
	"a writer that goes on as a reader": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		l, err := lock.NewWrite(s, "/x/y", lock.WithACL(acl...))
		if err != nil {
			return err
		}
		g, err := l.Lock(ctx)
		if err == nil {
			_, err = g.Downgrade(ctx)
		}
		return err
	},
}

// locked makes a lock, and holds it.
func locked(build func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error), opts ...lock.Option) func(ctx context.Context, s *session.Session, acl []session.ACL) error {
	return func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		l, err := build(s, "/x/y", append(opts, lock.WithACL(acl...))...)
		if err == nil {
			_, err = l.Lock(ctx)
		}
		return err
	}
}

func TestWithACL(t *testing.T) {
	for name, made := range rows {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, func(w *bubble.World) {
				s := w.Host("a", session.WithAuth("digest", []byte("alice:secret"))).Session
				require.NoError(w, made(w.Context(), s, zk.DigestACL(zk.PermAll, "alice", "secret")))
				time.Sleep(time.Minute) // what is over is deleted
				found, others := looked(w, s, "/x")
				require.Greater(w, found, 1)
				require.Empty(w, others)
			}, bubble.Brisk()...)
		})
	}
}

// looked counts the znodes at a path and below it, and has those that are not alice's alone.
func looked(t testing.TB, s *session.Session, at string) (found int, others []string) {
	t.Helper()
	acl, _, err := s.ACL(t.Context(), at)
	require.NoError(t, err)
	if len(acl) != 1 || acl[0].Scheme != "digest" || !strings.HasPrefix(acl[0].ID, "alice:") || acl[0].Perms != session.PermAll {
		others = append(others, at)
	}
	names, _, err := s.Children(t.Context(), at)
	require.NoError(t, err)
	for _, name := range names {
		n, more := looked(t, s, at+"/"+name)
		found, others = found+n, append(others, more...)
	}
	return found + 1, others
}

// as is a session with an identity of its own.
func as(c *bubble.Cluster, name string) *session.Session {
	c.Helper()
	return c.Session(session.WithAuth("digest", []byte(name+":secret")))
}

var onlyOurs = lock.WithACL(zk.AuthACL(zk.PermAll)...)

var suite = bubble.Suite{
	{Name: "nobody else deletes what is held", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		l := must(lock.New(alice, "/locks/orders", onlyOurs))
		g := must(l.Lock(ctx))
		_, others := looked(c, alice, "/locks")
		require.Empty(c, others)
		acl, _, err := mallory.ACL(ctx, "/")
		require.NoError(c, err)
		require.Equal(c, session.AnyoneACL(session.PermAll), acl, "the namespace is the session's")

		for what, attempt := range map[string]func() error{
			"delete": func() error { return mallory.Delete(ctx, g.Path(), -1) },
			"break": func() error {
				return must(lock.New(mallory, "/locks/orders")).Break(ctx, lock.Contender{Path: g.Path(), Token: g.Token()}, 0)
			},
			"revoke": func() error {
				return must(lock.New(mallory, "/locks/orders")).Revoke(ctx, lock.Contender{Path: g.Path()})
			},
			"data": func() error { _, err := mallory.Set(ctx, g.Path(), nil, -1); return err },
			"rights": func() error {
				_, err := mallory.SetACL(ctx, g.Path(), session.AnyoneACL(session.PermAll), -1)
				return err
			},
			"queue up": func() error { _, err := mallory.Create(ctx, "/locks/orders/x", nil); return err },
			"acquire":  func() error { _, err := must(lock.New(mallory, "/locks/orders")).Lock(ctx); return err },
		} {
			require.ErrorIs(c, attempt(), session.ErrNoAuth, what)
		}
		require.True(c, g.Valid())

		next := must(lock.New(as(c, "alice"), "/locks/orders", onlyOurs))
		next.Acquire()
		require.NoError(c, g.Release(ctx))
		second := bubble.Within(c, time.Minute, next.Acquired())
		require.Greater(c, second.Token(), g.Token())
		require.NoError(c, l.Break(ctx, lock.Contender{Path: second.Path(), Token: second.Token()}, 0), "the same identity may")
		bubble.Within(c, time.Minute, second.Done())
		require.ErrorIs(c, second.Err(), session.ErrDeleted)
		require.NoError(c, next.Close(ctx))
	}},
	{Name: "a path that exists keeps its own", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		require.NoError(c, mallory.EnsurePath(ctx, "/locks/open"))
		l := must(lock.New(alice, "/locks/open", onlyOurs))
		g := must(l.Lock(ctx))
		_, others := looked(c, alice, "/locks")
		require.Equal(c, []string{"/locks", "/locks/open"}, others)
		require.NoError(c, mallory.Delete(ctx, g.Path(), -1), "the parent's ACL says who may delete")
		bubble.Within(c, time.Minute, g.Done())
		require.ErrorIs(c, g.Err(), session.ErrDeleted)
		require.NoError(c, l.Close(ctx))
	}},
	{Name: "nobody else deposes the leader", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		allMayRead := election.WithACL(append(session.AuthACL(session.PermAll), session.AnyoneACL(session.PermRead)...)...)
		a, b := must(election.New(alice, "/leader", election.WithID("a"), allMayRead)), must(election.New(as(c, "alice"), "/leader", allMayRead))
		m := must(election.New(mallory, "/leader"))
		term := must(a.Lead(ctx))
		require.ErrorIs(c, mallory.Delete(ctx, term.Path(), -1), session.ErrNoAuth)
		_, err := m.Lead(ctx)
		require.ErrorIs(c, err, session.ErrNoAuth)
		require.Equal(c, "a", must(m.Current(ctx)).ID)
		require.NoError(c, term.Proclaim(ctx, []byte("data")))
		b.Campaign()
		require.NoError(c, term.Resign(ctx))
		require.Greater(c, bubble.Within(c, time.Minute, b.Leader()).Token(), term.Token())
	}},
}

func TestOthersAreKeptOut(t *testing.T) { suite.Embedded(t) }

func TestOthersAreKeptOutOnRealServers(t *testing.T) {
	tier.Real(t)
	suite.Real(t)
}

// must is for a call in the test's own goroutine that has to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
