// The whole life of a lock, of shared ones and of a semaphore, and of locks with an ACL of their
// own: embedded and on real servers. The other kinds meet real servers in the histories of
// test/losses.

package lock_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

var lives = append(bubble.Suite{{Name: "exclusive", Test: exclusiveLife}, {Name: "shared", Test: sharedLife}, {Name: "semaphore", Test: semaphoreLife}}, acls...)

// B09, B10, B28 and B29 among them.
func TestB09_B10_B28_B29_WholeLives(t *testing.T) { lives.Embedded(t) }

func TestB09_B10_B28_B29_WholeLivesOnRealServers(t *testing.T) {
	tier.Real(t)
	lives.Real(t, "exclusive")
}

// patience bounds waits on real servers, on a busy machine.
const patience = time.Minute

// inLine states the intent and waits until the lock is in the queue, or held.
func inLine(c *bubble.Cluster, l *lock.Lock) *lock.Lock {
	c.Helper()
	l.Acquire()
	bubble.Await(c, l.Standing(bubble.Minute(c)), "in line", func(s lock.Standing) bool { return s.Phase == lock.Held || s.Ahead > 0 })
	return l
}

// waits fails if the lock is granted although everything has settled or, on real servers, although
// the server has answered all earlier requests.
func waits(c *bubble.Cluster, s *session.Session, l *lock.Lock, why string) {
	c.Helper()
	require.NoError(c, s.Sync(bubble.Minute(c), "/"))
	if !c.Real {
		synctest.Wait()
	}
	select {
	case <-l.Acquired():
		c.Fatal(why)
	default:
	}
}

func exclusiveLife(c *bubble.Cluster) {
	var locks []*lock.Lock
	var last int64
	for range 4 {
		locks = append(locks, inLine(c, must(lock.New(c.Session(), path))))
	}
	for _, l := range locks {
		g := bubble.Within(c, patience, l.Acquired(), "order of arrival")
		require.Greater(c, g.Token(), last)
		last = g.Token()
		must(g.Commit(bubble.Minute(c), session.SetOp(path, []byte("x"), -1)))
		_, err := locks[0].TryLock(bubble.Minute(c))
		require.ErrorIs(c, err, lock.ErrHeld)
		line := must(l.Contenders(bubble.Minute(c)))
		require.Equal(c, g.Path(), line[0].Path)
		require.NoError(c, l.Release(bubble.Minute(c)))
	}
}

func holding(c *bubble.Cluster, l *lock.Lock) (all []bool) {
	line := must(l.Contenders(bubble.Minute(c)))
	for _, contender := range line {
		all = append(all, contender.Holding)
	}
	return all
}

// Readers hold together, writers alone, in the order of the line, so that no circle closes (B09,
// kazoo#649). A writer that goes on as a reader keeps its place: the writer behind waits for it,
// the readers come in beside it (B10, CURATOR-276/621).
func sharedLife(c *bubble.Cluster) {
	ctx := bubble.Minute(c)
	s, admin := c.Session(), c.Session()
	read := func(s *session.Session) *lock.Lock { return inLine(c, must(lock.NewRead(s, path))) }
	write := func(s *session.Session) *lock.Lock { return inLine(c, must(lock.NewWrite(s, path))) }
	w1 := write(s)
	g := bubble.Within(c, patience, w1.Acquired(), "the first writer")
	require.Equal(c, fence.Exclusive, g.Sequencer().Mode)
	r1, w2, r2 := read(c.Session()), write(c.Session()), read(c.Session())
	waits(c, s, r1, "a reader beside a writer")

	down := must(g.Downgrade(ctx))
	require.Equal(c, g.Token(), down.Token())
	require.NotEqual(c, g.Path(), down.Path())
	require.ErrorIs(c, g.Err(), session.ErrReleased)
	require.Equal(c, fence.Shared, down.Sequencer().Mode)
	require.NoError(c, fence.Check(ctx, admin, down.Sequencer()))
	require.ErrorIs(c, fence.Check(ctx, admin, g.Sequencer()), fence.ErrFenced)
	must(down.Commit(ctx, session.SetOp(path, []byte("x"), -1)))
	_, err := g.Commit(ctx, session.SetOp(path, []byte("x"), -1))
	require.ErrorIs(c, err, session.ErrLost)
	bubble.Within(c, patience, r1.Acquired(), "the reader beside the downgraded")
	waits(c, s, w2, "a writer beside readers")
	waits(c, s, r2, "a reader before the writer who came first")
	_, err = w1.TryLock(down.Context())
	require.ErrorIs(c, err, lock.ErrUpgrade, "now it would have to wait for itself")
	line := must(w1.Contenders(ctx))
	require.Equal(c, down.Path(), line[0].Path)
	require.Equal(c, down.Token(), line[0].Token, "the token is the writer's")
	require.Equal(c, []bool{true, true, false, false}, holding(c, w1)[:4])

	require.NoError(c, g.Release(ctx), "it was released, and what came of it stands")
	require.True(c, down.Valid())
	require.NoError(c, down.Release(ctx))
	require.NoError(c, w1.Release(ctx), "it does not stand again")
	waits(c, s, w2, "a writer beside a reader")
	require.NoError(c, r1.Release(ctx))
	second := bubble.Within(c, patience, w2.Acquired(), "the second writer")
	require.Greater(c, second.Token(), g.Token())
	require.NoError(c, lock.Revoke(ctx, admin, second.Path()))
	bubble.Within(c, patience, second.Revoked(), "revocation")
	require.NoError(c, lock.Break(ctx, admin, second.Path(), 0))
	bubble.Within(c, patience, second.Done(), "breaking")
	require.ErrorIs(c, second.Err(), session.ErrDeleted)
	require.NoError(c, w2.Release(ctx), "it does not stand again")
	third := bubble.Within(c, patience, r2.Acquired(), "the reader behind")
	require.Greater(c, third.Token(), second.Token())
	must(third.Commit(ctx, session.SetOp(path, []byte("x"), -1)))
	w3, began := write(s), time.Now()
	require.NoError(c, r2.Close(ctx))
	require.ErrorIs(c, third.Err(), session.ErrClosed)
	bubble.Within(c, patience, w3.Acquired(), "hand-over by Close")
	require.Less(c, time.Since(began), 5*time.Second, "not after a session timeout")
}

// Three permits of four are granted at once or not at all (B29). Raising the limit wakes contenders
// that then fit; lowering it takes nothing from holders (B28, CURATOR-75).
func semaphoreLife(c *bubble.Cluster) {
	ctx := bubble.Minute(c)
	s, admin := c.Session(), c.Session()
	weighing := func(weight int) *lock.Lock {
		return inLine(c, must(lock.NewSemaphore(c.Session(), path, 4, lock.WithWeight(weight))))
	}
	a := weighing(3)
	g := bubble.Within(c, patience, a.Acquired(), "three of four")
	require.Equal(c, fence.Shared, g.Sequencer().Mode)
	require.NoError(c, fence.Check(ctx, admin, g.Sequencer()))
	data, stat, err := admin.Get(ctx, path)
	require.NoError(c, err)
	require.Equal(c, "4", string(data))
	require.Zero(c, stat.EphemeralOwner, "a persistent znode, no container")
	b, behind := weighing(3), weighing(1)
	waits(c, s, b, "six of four")
	waits(c, s, behind, "the one behind, though it would fit")
	require.Equal(c, []bool{true, false, false}, holding(c, a))
	require.NoError(c, lock.SetLimit(ctx, admin, path, 6))
	second := bubble.Within(c, patience, b.Acquired(), "six of six")
	require.Greater(c, second.Token(), g.Token())
	waits(c, s, behind, "seven of six")
	five := must(lock.NewSemaphore(s, path, 5))
	_, err = five.Lock(ctx)
	require.ErrorIs(c, err, lock.ErrLimit)
	require.NoError(c, lock.SetLimit(ctx, admin, path, 4))
	require.Equal(c, []bool{true, true, false}, holding(c, a))
	require.NoError(c, g.Err(), "no holder loses")
	must(g.Commit(ctx, session.SetOp("/", nil, -1)))

	waits(c, s, behind, "seven of four")
	require.NoError(c, a.Close(ctx))
	bubble.Within(c, patience, behind.Acquired(), "its permits")
	require.Equal(c, []bool{true, true}, holding(c, behind))
	d := weighing(1)
	waits(c, s, d, "five of four")
	require.NoError(c, b.Close(ctx))
	bubble.Within(c, patience, d.Acquired(), "two of four")
}

// as is a session with an identity of its own.
func as(c *bubble.Cluster, name string) *session.Session {
	c.Helper()
	return c.Session(session.WithAuth("digest", []byte(name+":secret")))
}

var onlyOurs = lock.WithACL(zk.AuthACL(zk.PermAll)...)

// everybodys are the znodes at a path and below that are not alice's alone.
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
		l := must(lock.New(alice, "/locks/orders", onlyOurs))
		g := must(l.Lock(ctx))
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
		require.NoError(c, lock.Break(ctx, alice, second.Path(), 0), "the same identity may")
		bubble.Within(c, time.Minute, second.Done())
		require.ErrorIs(c, second.Err(), session.ErrDeleted)
		require.NoError(c, next.Close(ctx))
	}},
	{Name: "each kind", Test: func(c *bubble.Cluster) {
		ctx, alice := bubble.Minute(c), as(c, "alice")
		for name, l := range map[string]*lock.Lock{
			"semaphore":  must(lock.NewSemaphore(alice, "/kinds/semaphore", 2, onlyOurs)),
			"read side":  must(lock.NewRead(alice, "/kinds/read", onlyOurs)),
			"write side": must(lock.NewWrite(alice, "/kinds/write", onlyOurs)),
			"delay":      must(lock.New(alice, "/kinds/delay", onlyOurs, lock.WithDelay(time.Second))),
			"simple":     must(lock.New(alice, "/kinds/simple", onlyOurs, lock.WithLayout(lock.Simple))),
			"kazoo":      must(lock.New(alice, "/kinds/kazoo", onlyOurs, lock.WithLayout(lock.Kazoo))),
		} {
			g := must(l.Lock(ctx))
			require.Empty(c, everybodys(c, alice, "/kinds"), name)
			if name == "write side" {
				g = must(g.Downgrade(ctx))
				require.Empty(c, everybodys(c, alice, "/kinds"), "the reader's znode")
			}
			require.NoError(c, g.Release(ctx), name)
			require.NoError(c, l.Close(ctx), name)
		}
	}},
	{Name: "a path that exists keeps its own", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		require.NoError(c, mallory.EnsurePath(ctx, "/locks/open"))
		l := must(lock.New(alice, "/locks/open", onlyOurs))
		g := must(l.Lock(ctx))
		require.Equal(c, []string{"/locks", "/locks/open"}, everybodys(c, alice, "/locks"))
		require.NoError(c, mallory.Delete(ctx, g.Path(), -1), "the parent's ACL says who may delete")
		bubble.Within(c, time.Minute, g.Done())
		require.ErrorIs(c, g.Err(), session.ErrDeleted)
		require.NoError(c, l.Close(ctx))
	}},
}
