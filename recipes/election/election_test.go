package election_test

// An election on the embedded and on real servers.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// suite has the tests that run on any ZooKeeper.
var suite = bubble.Suite{
	{"the first leads, the next takes over, the first queues again", succession},
	{"observers see every state", observation},
	{"a transfer passes over those in between", transfer},
	{"a transfer to a candidate that is gone keeps the term", transferToOneThatIsGone},
	{"what was lost can't be used", fencing},
	{"candidates of others are in the same queue", strangers},
	{"no candidate leads an empty election", vacancy},
}

func TestElection(t *testing.T) {
	t.Parallel()
	suite.Embedded(t)
}

func TestElectionOnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	suite.Real(t, "the first leads, the next takes over, the first queues again", "observers see every state")
}

func succession(t *bubble.Cluster) {
	a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
	first := leads(t, a)
	require.True(t, first.Valid())
	require.NoError(t, first.Err())
	require.Same(t, first, a.Term())
	waits(t, b)
	require.Equal(t, []string{"a", "b"}, idsOf(t, a))
	require.Equal(t, election.Status{State: election.Waiting, Ahead: 1}, bubble.Get(t, b.ObserveStatus(bubble.Minute(t))))
	_, err := a.Lead(first.Context())
	require.ErrorIs(t, err, election.ErrDeadlock)

	require.NoError(t, first.Resign(bubble.Minute(t)))
	bubble.Closes(t, first.Done(), "first term")
	require.ErrorIs(t, first.Err(), session.ErrReleased)
	require.NotErrorIs(t, first.Err(), session.ErrLost)
	require.False(t, first.Valid())
	require.ErrorIs(t, context.Cause(first.Context()), session.ErrReleased)
	require.NoError(t, first.Resign(bubble.Minute(t)), "resigning is idempotent")

	second := bubble.Get(t, b.Leader(), "b leads")
	require.Greater(t, second.Token(), first.Token())
	waits(t, a) // by itself: the intent goes on

	require.NoError(t, b.Withdraw(bubble.Minute(t)))
	bubble.Closes(t, second.Done(), "second term")
	third := bubble.Get(t, a.Leader(), "a leads again")
	require.Greater(t, third.Token(), second.Token())
	require.NoError(t, a.Withdraw(bubble.Minute(t)))
	require.Empty(t, idsOf(t, b))
	require.NoError(t, a.Withdraw(bubble.Minute(t)), "nothing to withdraw")
	reaches(t, a, election.Idle)
}

func observation(t *bubble.Cluster) {
	a := candidate(t, t.Session(), "a")
	watcher := candidate(t, t.Session(), "watcher")
	ctx, cancel := context.WithCancel(bubble.Minute(t))
	seen := watcher.Observe(ctx)
	mine := a.Observe(ctx)
	require.Equal(t, election.Leadership{}, bubble.Get(t, seen, "no leader"))

	term := leads(t, a)
	l := bubble.Get(t, seen, "a leads")
	require.Equal(t, election.Leadership{Present: true, Name: "a", Token: term.Token()}, l)
	require.True(t, bubble.Await(t, mine, "a sees itself", func(l election.Leadership) bool { return l.Present }).Self)

	require.NoError(t, term.Proclaim(bubble.Minute(t), []byte("10.0.0.7")))
	l = bubble.Get(t, seen, "a has proclaimed")
	require.Equal(t, "10.0.0.7", string(l.Data))
	require.False(t, l.Ready)
	require.NoError(t, term.Ready(bubble.Minute(t)))
	l = bubble.Get(t, seen, "a is ready")
	require.Equal(t, election.Leadership{Present: true, Name: "a", Token: term.Token(), Data: []byte("10.0.0.7"), Ready: true}, l)
	require.NoError(t, term.Ready(bubble.Minute(t)), "it is idempotent")

	current := must(watcher.Current(bubble.Minute(t)))
	require.Equal(t, l, current)

	require.NoError(t, a.Withdraw(bubble.Minute(t)))
	require.Equal(t, election.Leadership{}, bubble.Get(t, seen, "no leader again"))
	cancel()
	bubble.Closes(t, seen, "the observation")
}

func transfer(t *bubble.Cluster) {
	a, b, target, d := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b"), candidate(t, t.Session(), "target"), candidate(t, t.Session(), "d")
	term := leads(t, a)
	waits(t, b, target, d)
	candidates := must(a.Candidates(bubble.Minute(t)))
	require.Equal(t, "target", candidates[2].Name)
	require.True(t, candidates[0].Leading && candidates[0].Self)
	require.False(t, candidates[2].Leading || candidates[2].Self)

	require.NoError(t, term.TransferTo(bubble.Minute(t), candidates[2]))
	require.ErrorIs(t, term.Err(), session.ErrReleased)
	next := bubble.Get(t, target.Leader(), "target leads")
	require.Greater(t, next.Token(), term.Token())
	reaches(t, d, election.Waiting)
	require.NoError(t, target.Withdraw(bubble.Minute(t)))
	after := bubble.Get(t, d.Leader(), "d is next")
	require.Greater(t, after.Token(), next.Token())
	require.NoError(t, d.Withdraw(bubble.Minute(t)))
	last := firstOf(t, a, b) // which were passed over, and have queued again
	require.Greater(t, last.Token(), after.Token())
}

func transferToOneThatIsGone(t *bubble.Cluster) {
	a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
	term := leads(t, a)
	waits(t, b)
	candidates := must(a.Candidates(bubble.Minute(t)))
	require.NoError(t, b.Withdraw(bubble.Minute(t)))
	require.ErrorIs(t, term.TransferTo(bubble.Minute(t), candidates[1]), session.ErrNoNode)
	require.True(t, term.Valid())
	require.NoError(t, term.Err())
}

func fencing(t *bubble.Cluster) {
	a := candidate(t, t.Session(), "a")
	checker := t.Session()
	term := leads(t, a)
	q := must(fence.Parse(term.Sequencer().String()))
	require.Equal(t, t.Root+term.Path(), q.Path)
	require.NoError(t, fence.Check(bubble.Minute(t), checker, q))
	followed := must(fence.Follow(bubble.Minute(t), checker, q))

	require.NoError(t, checker.Delete(bubble.Minute(t), term.Path(), -1))
	require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, q), fence.ErrFenced)
	bubble.Closes(t, followed.Done(), "what followed the term")
	require.ErrorIs(t, context.Cause(followed), fence.ErrFenced)
}

func strangers(t *bubble.Cluster) {
	admin := t.Session()
	require.NoError(t, admin.EnsurePath(bubble.Minute(t), path))
	for _, name := range []string{"config", "_c_x", "n_", "_c_3e6c7d0e-0b1f-4c56-9d6e-0a8c5a3e1b2f-", "ready-0000000009x"} {
		must(admin.Create(bubble.Minute(t), path+"/"+name, nil))
	}
	curator := must(admin.Create(bubble.Minute(t), path+"/_c_3e6c7d0e-0b1f-4c56-9d6e-0a8c5a3e1b2f-latch-", []byte("host-9"), session.Ephemeral(), session.Sequential()))
	a := candidate(t, t.Session(), "a")
	seen := a.Observe(bubble.Minute(t))
	waits(t, a)
	require.Equal(t, []string{"host-9", "a"}, idsOf(t, a))
	l := bubble.Await(t, seen, "the stranger leads", func(l election.Leadership) bool { return l.Present })
	require.Equal(t, "host-9", l.Name)
	require.False(t, l.Self || l.Ready)
	require.Empty(t, l.Data)
	require.NoError(t, admin.Delete(bubble.Minute(t), curator, -1))
	require.Greater(t, bubble.Get(t, a.Leader(), "a leads").Token(), l.Token)
	require.Equal(t, []string{"a"}, idsOf(t, a))
}

func vacancy(t *bubble.Cluster) {
	a := candidate(t, t.Session(), "a")
	_, err := a.Current(bubble.Minute(t))
	require.ErrorIs(t, err, election.ErrNoLeader, "there is not even a parent")
	require.Empty(t, idsOf(t, a))
	admin := t.Session()
	require.NoError(t, admin.EnsurePath(bubble.Minute(t), path))
	_, err = a.Current(bubble.Minute(t))
	require.ErrorIs(t, err, election.ErrNoLeader)
	seen := a.Observe(bubble.Minute(t))
	require.Equal(t, election.Leadership{}, bubble.Get(t, seen, "no leader"))
	require.NoError(t, admin.Delete(bubble.Minute(t), path, -1))
	term := leads(t, candidate(t, admin, "b"))
	l := bubble.Await(t, seen, "b leads", func(l election.Leadership) bool { return l.Present })
	require.Equal(t, term.Token(), l.Token)
	require.NoError(t, a.Close(bubble.Minute(t)))
	bubble.Closes(t, seen, "the observation ends with the election")
}

// B32 on a real server: it is down for longer than the sessions last, and has the old znodes when
// it is back.
func TestB32_OnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	zk := ensemble.Start(t, 1)
	open := func() *session.Session {
		return bubble.Open(t, zk.Servers(), session.WithTimeout(realTimeout), session.WithTick(200*time.Millisecond))
	}
	a, b := candidate(t, open(), "a"), candidate(t, open(), "b")
	first := leads(t, a)
	waits(t, b)
	seen := b.Observe(t.Context())
	zk.Kill(0)
	bubble.Closes(t, first.Done(), "a's term")
	bubble.Await(t, seen, "a stale state", func(l election.Leadership) bool { return l.Stale })
	<-time.After(realTimeout + time.Second)
	require.NoError(t, zk.Restart(0))
	second := firstOf(t, a, b)
	require.Greater(t, second.Token(), first.Token())
	require.True(t, second.Valid())
	bubble.Await(t, seen, "the new leader", func(l election.Leadership) bool { return l.Token == second.Token() && !l.Stale })
	require.Eventually(t, func() bool { return len(idsOf(t, a)) == 2 }, time.Minute, tick, "both queue, and no znode is left over")
}

// realTimeout leaves a margin, a good quarter of it, for servers that are late on a busy machine.
const realTimeout = 6 * time.Second

const tick = 5 * time.Millisecond // of conditions that are polled
