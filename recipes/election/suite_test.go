package election_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// suite is what an election does, on whatever ZooKeeper.
var suite = []struct {
	name string
	run  func(t *testing.T, c cluster)
}{
	{"the first leads, the next takes over, the first stands again", succession},
	{"observers see every state", observation},
	{"a deleted leader hears of it and stands again", deletion},
	{"a transfer passes over those in between", transfer},
	{"a transfer to nobody keeps the term", transferToNobody},
	{"run leads again and again", running},
	{"what was lost can't be used", fencing},
	{"candidates of others stand in the same line", strangers},
	{"a context bounds the wait", impatience},
	{"nobody leads an empty election", vacancy},
}

func TestElection(t *testing.T) {
	t.Parallel()
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				z := zktest.Start(t)
				test.run(t, cluster{root: "/test", open: func(t *testing.T, opts ...session.Option) *session.Session {
					return open(t, z, opts...)
				}})
			})
		})
	}
}

func TestElectionOnRealZooKeeper(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(map[int]string{1: "one server", 3: "three servers"}[servers], func(t *testing.T) {
			t.Parallel()
			zk := ensemble.Start(t, servers)
			for _, test := range suite {
				t.Run(test.name, func(t *testing.T) {
					test.run(t, cluster{root: "/" + strings.ReplaceAll(test.name, " ", "-"), open: func(t *testing.T, opts ...session.Option) *session.Session {
						s, err := session.New(zk.Servers(), opts...)
						require.NoError(t, err)
						t.Cleanup(func() { require.NoError(t, s.Close(patience(t))) })
						return s
					}})
				})
			}
		})
	}
}

func succession(t *testing.T, c cluster) {
	a, b := c.candidate(t, "a"), c.candidate(t, "b")
	first := leads(t, a)
	require.True(t, first.Valid())
	require.NoError(t, first.Err())
	waits(t, b)
	require.Equal(t, []string{"a", "b"}, line(t, a))

	require.NoError(t, first.Resign(patience(t)))
	closes(t, first.Done(), "first term")
	require.ErrorIs(t, first.Err(), session.ErrReleased)
	require.NotErrorIs(t, first.Err(), session.ErrLost)
	require.False(t, first.Valid())
	require.ErrorIs(t, context.Cause(first.Context()), session.ErrReleased)
	require.NoError(t, first.Resign(patience(t)), "resigning is idempotent")

	second := get(t, b.Leader(), "b leads")
	require.Greater(t, second.Token(), first.Token())
	waits(t, a) // by itself: the intent stands

	require.NoError(t, b.Resign(patience(t)))
	closes(t, second.Done(), "second term")
	third := get(t, a.Leader(), "a leads again")
	require.Greater(t, third.Token(), second.Token())
	require.NoError(t, a.Resign(patience(t)))
	require.Empty(t, line(t, b))
	require.NoError(t, a.Resign(patience(t)), "nothing to resign from")
}

func observation(t *testing.T, c cluster) {
	a := c.candidate(t, "a")
	watcher := c.candidate(t, "watcher")
	ctx, cancel := context.WithCancel(patience(t))
	seen := watcher.Observe(ctx)
	own := a.Observe(ctx)
	require.Equal(t, election.Leadership{}, get(t, seen, "nobody leads"))

	term := leads(t, a)
	l := get(t, seen, "a leads")
	require.Equal(t, election.Leadership{Present: true, ID: "a", Token: term.Token()}, l)
	require.True(t, await(t, own, "a sees itself", func(l election.Leadership) bool { return l.Present }).Self)

	require.NoError(t, term.Proclaim(patience(t), []byte("10.0.0.7")))
	l = get(t, seen, "a has proclaimed")
	require.Equal(t, "10.0.0.7", string(l.Data))
	require.False(t, l.Ready)
	require.NoError(t, term.Ready(patience(t)))
	l = get(t, seen, "a is ready")
	require.Equal(t, election.Leadership{Present: true, ID: "a", Token: term.Token(), Data: []byte("10.0.0.7"), Ready: true}, l)
	require.NoError(t, term.Ready(patience(t)), "it is idempotent")

	current, err := watcher.Current(patience(t))
	require.NoError(t, err)
	require.Equal(t, l, current)

	require.NoError(t, a.Resign(patience(t)))
	require.Equal(t, election.Leadership{}, get(t, seen, "nobody leads again"))
	cancel()
	closes(t, seen, "the observation")
}

func deletion(t *testing.T, c cluster) {
	a := c.candidate(t, "a")
	admin := c.session(t)
	first := leads(t, a)
	require.NoError(t, admin.Delete(patience(t), first.Path(), -1))
	closes(t, first.Done(), "the term")
	require.ErrorIs(t, first.Err(), session.ErrLost)
	require.ErrorIs(t, first.Err(), session.ErrDeleted)
	require.ErrorIs(t, first.Ready(patience(t)), session.ErrLost)
	require.ErrorIs(t, first.Resign(patience(t)), session.ErrLost)

	second := get(t, a.Leader(), "a leads again")
	require.Greater(t, second.Token(), first.Token())

	b := candidate(t, admin, "b")
	waits(t, b)
	require.NoError(t, admin.DeleteAll(patience(t), path), "the parent and all in it")
	closes(t, second.Done(), "the second term")
	third := get(t, merge(t, a.Leader(), b.Leader()), "either leads, under a new parent")
	require.Greater(t, third.Token(), second.Token())
}

func transfer(t *testing.T, c cluster) {
	a, b, target, d := c.candidate(t, "a"), c.candidate(t, "b"), c.candidate(t, "target"), c.candidate(t, "d")
	term := leads(t, a)
	for _, e := range []*election.Election{b, target, d} {
		waits(t, e)
	}
	candidates, err := a.Candidates(patience(t))
	require.NoError(t, err)
	require.Equal(t, "target", candidates[2].ID)
	require.True(t, candidates[0].Leading && candidates[0].Self)
	require.False(t, candidates[2].Leading || candidates[2].Self)

	require.NoError(t, term.TransferTo(patience(t), candidates[2].Path))
	require.ErrorIs(t, term.Err(), session.ErrReleased)
	next := get(t, target.Leader(), "target leads")
	require.Greater(t, next.Token(), term.Token())
	await(t, d.Standing(patience(t)), "d is second", func(s election.Standing) bool { return s.Phase == election.Waiting })
	require.NoError(t, target.Resign(patience(t)))
	after := get(t, d.Leader(), "d is next")
	require.Greater(t, after.Token(), next.Token())
	require.NoError(t, d.Resign(patience(t)))
	last := get(t, merge(t, a.Leader(), b.Leader()), "those passed over have stood again")
	require.Greater(t, last.Token(), after.Token())
}

func transferToNobody(t *testing.T, c cluster) {
	a, b := c.candidate(t, "a"), c.candidate(t, "b")
	term := leads(t, a)
	waits(t, b)
	candidates, err := a.Candidates(patience(t))
	require.NoError(t, err)
	require.NoError(t, b.Resign(patience(t)))
	require.ErrorIs(t, term.TransferTo(patience(t), candidates[1].Path), session.ErrNoNode)
	require.True(t, term.Valid())
	for _, bad := range []string{"", "relative", path, path + "/other", "/elsewhere/_c_x-n_0000000001", term.Path()} {
		require.ErrorIs(t, term.TransferTo(patience(t), bad), session.ErrInvalidPath, bad)
	}
	require.NoError(t, term.Err())
}

func running(t *testing.T, c cluster) {
	a, watcher := c.candidate(t, "a"), c.candidate(t, "watcher")
	enough := errors.New("enough")
	var tokens []int64
	err := a.Run(patience(t), func(ctx context.Context, term *election.Term) error {
		require.NoError(t, ctx.Err())
		require.Equal(t, []string{"a"}, line(t, watcher), "one znode at a time")
		if tokens = append(tokens, term.Token()); len(tokens) == 3 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Empty(t, line(t, watcher), "withdrawn before Run returns")
	require.Len(t, tokens, 3)
	require.Less(t, tokens[0], tokens[1])
	require.Less(t, tokens[1], tokens[2])

	ctx, cancel := context.WithCancelCause(patience(t))
	why := errors.New("going home")
	err = a.Run(ctx, func(ctx context.Context, _ *election.Term) error {
		cancel(why)
		closes(t, ctx.Done(), "the term's context")
		return ctx.Err()
	})
	require.ErrorIs(t, err, why)
	require.Empty(t, line(t, watcher))
}

func fencing(t *testing.T, c cluster) {
	a := c.candidate(t, "a")
	checker := c.session(t)
	term := leads(t, a)
	q, err := fence.Parse(term.Sequencer().String())
	require.NoError(t, err)
	require.Equal(t, c.root+term.Path(), q.Path)
	require.NoError(t, fence.Check(patience(t), checker, q))
	followed, err := fence.Follow(patience(t), checker, q)
	require.NoError(t, err)
	_, err = checker.Create(patience(t), "/state", []byte("a"))
	require.NoError(t, err)
	_, err = term.Commit(patience(t), session.SetOp("/state", []byte("b"), -1))
	require.NoError(t, err)

	require.NoError(t, checker.Delete(patience(t), term.Path(), -1))
	_, err = term.Commit(patience(t), session.SetOp("/state", []byte("c"), -1))
	require.ErrorIs(t, err, session.ErrLost, "whether it knows already or not")
	data, _, err := checker.Get(patience(t), "/state")
	require.NoError(t, err)
	require.Equal(t, "b", string(data))
	require.ErrorIs(t, fence.Check(patience(t), checker, q), fence.ErrFenced)
	closes(t, followed.Done(), "what followed the term")
	require.ErrorIs(t, context.Cause(followed), fence.ErrFenced)
}

func strangers(t *testing.T, c cluster) {
	admin := c.session(t)
	require.NoError(t, admin.EnsurePath(patience(t), path))
	for _, name := range []string{"config", "_c_x", "n_", "_c_3e6c7d0e-0b1f-4c56-9d6e-0a8c5a3e1b2f-", "ready-0000000009x"} {
		_, err := admin.Create(patience(t), path+"/"+name, nil)
		require.NoError(t, err)
	}
	curator, err := admin.Create(patience(t), path+"/_c_3e6c7d0e-0b1f-4c56-9d6e-0a8c5a3e1b2f-latch-", []byte("host-9"), session.Ephemeral(), session.Sequential())
	require.NoError(t, err)
	a := c.candidate(t, "a")
	seen := a.Observe(patience(t))
	waits(t, a)
	require.Equal(t, []string{"host-9", "a"}, line(t, a))
	l := await(t, seen, "the stranger leads", func(l election.Leadership) bool { return l.Present })
	require.Equal(t, "host-9", l.ID)
	require.False(t, l.Self || l.Ready)
	require.Empty(t, l.Data)
	require.NoError(t, admin.Delete(patience(t), curator, -1))
	require.Greater(t, get(t, a.Leader(), "a leads").Token(), l.Token)
	require.Equal(t, []string{"a"}, line(t, a))
}

func impatience(t *testing.T, c cluster) {
	a, b := c.candidate(t, "a"), c.candidate(t, "b")
	term, err := a.Lead(patience(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(patience(t))
	why := errors.New("never mind")
	standing := b.Standing(ctx)
	waiting := make(chan error, 1)
	go func() { // owned by this test, which receives its result
		_, err := b.Lead(ctx)
		waiting <- err
	}()
	await(t, standing, "b waits", func(s election.Standing) bool { return s.Phase == election.Waiting && s.Ahead == 1 })
	cancel(why)
	require.ErrorIs(t, get(t, waiting, "b gives up"), why)
	await(t, b.Standing(patience(t)), "b is gone", func(s election.Standing) bool { return s.Phase == election.Idle })
	eventually(t, "b's znode is gone", func() bool { return len(line(t, a)) == 1 })
	_, err = b.Lead(ctx)
	require.ErrorIs(t, err, why, "at once")

	_, err = a.Lead(term.Context())
	require.ErrorIs(t, err, election.ErrDeadlock)
	require.NoError(t, term.Resign(patience(t)))
	require.Empty(t, line(t, b))
}

func vacancy(t *testing.T, c cluster) {
	a := c.candidate(t, "a")
	_, err := a.Current(patience(t))
	require.ErrorIs(t, err, election.ErrNoLeader, "there is not even a parent")
	require.Empty(t, line(t, a))
	admin := c.session(t)
	require.NoError(t, admin.EnsurePath(patience(t), path))
	_, err = a.Current(patience(t))
	require.ErrorIs(t, err, election.ErrNoLeader)
	seen := a.Observe(patience(t))
	require.Equal(t, election.Leadership{}, get(t, seen, "nobody"))
	require.NoError(t, admin.Delete(patience(t), path, -1))
	term := leads(t, candidate(t, admin, "b"))
	l := await(t, seen, "b leads", func(l election.Leadership) bool { return l.Present })
	require.Equal(t, term.Token(), l.Token)
	require.NoError(t, a.Close(patience(t)))
	closes(t, seen, "the observation ends with the election")
}
