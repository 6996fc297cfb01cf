// The ACL of what each recipe makes; and whom that of a lock or a candidate keeps out, also on real
// servers.
package acl_test

import (
	"context"
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

// rows make a recipe's znodes at /x/y.
var rows = map[string]func(ctx context.Context, s *session.Session, acl []session.ACL){
	"barrier": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		must(0, must(barrier.New(s, "/x/y", barrier.WithACL(acl...))).Raise(ctx))
	},
	"double barrier": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		d := must(barrier.NewDouble(s, "/x/y", 2, barrier.WithACL(acl...)))
		d.Arrive()
		time.Sleep(time.Second)
		must(0, d.Break(ctx))
	},
	"queue": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		q := must(queue.New(s, "/x/y", queue.WithACL(acl...), queue.WithCapacity(3), queue.WithMaxAttempts(2)))
		must(q.Put(ctx, nil, queue.WithID("pauses")))
		must(0, must(q.Take(ctx)).Nack(ctx, queue.WithPause(time.Hour)))
		must(q.Put(ctx, nil, queue.WithID("dead")))
		must(0, must(q.Take(ctx)).Nack(ctx, queue.WithPause(0)))
		must(0, must(q.Take(ctx)).Nack(ctx))
	},
	"twopc": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		must(twopc.NewSite(s, "/x/y", "a", twopc.WithACL(acl...)))
		must(must(twopc.NewCoordinator(s, "/x/y", twopc.WithACL(acl...))).Begin(ctx, "t", nil, "a"))
	},
	"group": func(_ context.Context, s *session.Session, acl []session.ACL) {
		<-must(must(group.New(s, "/x/y", group.WithACL(acl...))).Join(group.Member{Name: "a"})).Joined()
	},
	"config": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		c := must(config.New(s, "/x/y", config.Text(), config.WithACL(acl...)))
		must(c.Update(ctx, func(string) (string, error) { return "a", nil }))
	},
	"naming": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		must(0, must(naming.New(s, "/x/y", naming.WithACL(acl...))).Bind(ctx, "a/b", []byte("a")))
	},
	"election": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		must(must(election.New(s, "/x/y", election.WithACL(acl...))).Lead(ctx))
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
	"a writer that goes on as a reader": func(ctx context.Context, s *session.Session, acl []session.ACL) {
		must(must(must(lock.NewWrite(s, "/x/y", lock.WithACL(acl...))).Lock(ctx)).Downgrade(ctx))
	},
}

// locked makes a lock, and holds it.
func locked(build func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error), opts ...lock.Option) func(ctx context.Context, s *session.Session, acl []session.ACL) {
	return func(ctx context.Context, s *session.Session, acl []session.ACL) {
		must(must(build(s, "/x/y", append(opts, lock.WithACL(acl...))...)).Lock(ctx))
	}
}

func TestWithACL(t *testing.T) {
	for name, makes := range rows {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, func(w *bubble.World) {
				s := w.Host("a", session.WithAuth("digest", []byte("alice:secret"))).Session
				makes(w.Context(), s, zk.DigestACL(zk.PermAll, "alice", "secret"))
				time.Sleep(time.Minute) // what is over is deleted
				found, others := inspect(w, s, "/x")
				require.Greater(w, found, 1)
				require.Empty(w, others)
			}, bubble.Brisk()...)
		})
	}
}

// inspect counts the znodes at a path and below it, and returns those that are not alice's alone.
func inspect(t testing.TB, s *session.Session, at string) (found int, others []string) {
	t.Helper()
	acl, _, err := s.ACL(t.Context(), at)
	require.NoError(t, err)
	if len(acl) != 1 || acl[0].Scheme != "digest" || !strings.HasPrefix(acl[0].ID, "alice:") || acl[0].Perms != session.PermAll {
		others = append(others, at)
	}
	names, _, err := s.Children(t.Context(), at)
	require.NoError(t, err)
	for _, name := range names {
		n, more := inspect(t, s, at+"/"+name)
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
		_, others := inspect(c, alice, "/locks")
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
		_, others := inspect(c, alice, "/locks")
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
		a, b := must(election.New(alice, "/leader", election.WithName("a"), allMayRead)), must(election.New(as(c, "alice"), "/leader", allMayRead))
		m := must(election.New(mallory, "/leader"))
		term := must(a.Lead(ctx))
		require.ErrorIs(c, mallory.Delete(ctx, term.Path(), -1), session.ErrNoAuth)
		_, err := m.Lead(ctx)
		require.ErrorIs(c, err, session.ErrNoAuth)
		require.Equal(c, "a", must(m.Current(ctx)).Name)
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
