package docs_test

// The code of README.md and of the pages, as they print it, where no package's example has it. Each
// function is run by the test below it.

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var errEnough = errors.New("the story is over")

// That of docs/channels.md.
func selects(ctx context.Context, sess *session.Session, log *slog.Logger, process func(ctx context.Context, token int64)) error {
	orders, err := lock.New(sess, "/locks/orders")
	if err != nil {
		return err
	}
	defer closeWithin(orders, 5*time.Second)
	statuses := sess.Observe(ctx) // a subscription: taken once, before the loop
	orders.Acquire()
	for {
		select {
		case grant := <-orders.Acquired(): // ours, with a fencing token
			process(grant.Context(), grant.Token())
		case status := <-statuses:
			log.Info("zookeeper", "state", status.State)
		case <-orders.Done():
			return orders.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func closeWithin(c interface {
	Close(ctx context.Context) error
}, d time.Duration,
) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_ = c.Close(ctx) // what it could not confirm goes with the session
}

func TestChannels(t *testing.T) {
	t.Parallel()
	sess := bubble.Open(t, zktest.Start(t).Servers())
	ctx, cancel := context.WithCancel(t.Context())
	err := selects(ctx, sess, slog.New(slog.DiscardHandler), func(context.Context, int64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

// Those of docs/recipes/election.md.
func leads(ctx context.Context, sess *session.Session, state []byte, version int32, serve func(ctx context.Context, token int64) error) error {
	leader, err := election.New(sess, "/services/billing/leader", election.WithData([]byte("10.0.0.7:8080")))
	if err != nil {
		return err
	}
	defer leader.Close(ctx)

	err = leader.Run(ctx, func(ctx context.Context, term *election.Term) error {
		// ctx ends when the term does. The write is refused unless the term stands.
		if _, err := term.Commit(ctx, session.SetOp("/services/billing/epoch", state, version)); err != nil {
			return err
		}
		if err := term.Ready(ctx); err != nil { // observers may come now
			return err
		}
		return serve(ctx, term.Token())
	})
	return err
}

func handsOver(ctx context.Context, leader *election.Election, term *election.Term) error {
	candidates, err := leader.Candidates(ctx)
	if err != nil {
		return err
	}
	err = term.TransferTo(ctx, candidates[len(candidates)-1].Path) // to the newest candidate
	return err
}

func TestElection(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	sess := bubble.Open(t, srv.Servers())
	_, err := sess.Create(t.Context(), "/services/billing/epoch", nil, session.Parents())
	require.NoError(t, err)
	err = leads(t.Context(), sess, []byte("1"), 0, func(context.Context, int64) error { return errEnough })
	require.ErrorIs(t, err, errEnough)
	data, _, err := sess.Get(t.Context(), "/services/billing/epoch")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))

	first, err := election.New(sess, "/e", election.WithID("first"))
	require.NoError(t, err)
	term, err := first.Lead(t.Context())
	require.NoError(t, err)
	last, err := election.New(bubble.Open(t, srv.Servers()), "/e", election.WithID("last"))
	require.NoError(t, err)
	last.Campaign()
	for s := range last.Standing(t.Context()) {
		if s.Phase == election.Waiting {
			break
		}
	}
	require.NoError(t, handsOver(t.Context(), first, term))
	require.Greater(t, (<-last.Leader()).Token(), term.Token())
}

// The lock's page: access.
func private(ctx context.Context, servers []string) (*lock.Lock, error) {
	sess, err := session.Open(ctx, servers, session.WithAuth("digest", []byte("billing:secret")))
	if err != nil {
		return nil, err
	}
	return lock.New(sess, "/locks/orders", lock.WithACL(session.AuthACL(session.PermAll)...))
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	l, err := private(t.Context(), srv.Servers())
	require.NoError(t, err)
	g, err := l.Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, bubble.Open(t, srv.Servers()).Delete(t.Context(), g.Path(), -1), session.ErrNoAuth)
	require.NoError(t, g.Session().Close(t.Context()))
}

// Those of docs/testing.md that no other package has.
func TestTesting(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	const k = 2
	n := 0
	defer server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if n++; n == k {
			return zktest.CutAfter // carried out, and the connection is gone before the answer
		}
		return zktest.Pass
	})()
	sess := bubble.Open(t, server.Servers())
	require.NoError(t, sess.EnsurePath(t.Context(), "/a/b"))
}

func TestTestingOnRealServers(t *testing.T) {
	tier.Real(t)
	e := ensemble.Start(t, 3) // fails without ZooKeeper; ensemble.Available says what is missing
	sess, err := session.Open(t.Context(), e.Servers())
	heal := e.Isolate(1)
	require.NoError(t, err)
	heal()
	require.NoError(t, sess.Close(t.Context()))
}
