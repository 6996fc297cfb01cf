package docs_test

// The code of README.md and of the pages, as they print it. Each function is run by the test below
// it.

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var errEnough = errors.New("the story is over")

// The README's.
func bill(ctx context.Context, servers []string, runBilling func(ctx context.Context, token int64)) error {
	sess, err := session.Open(ctx, servers) // "zk1:2181", "zk2:2181", "zk3:2181"
	if err != nil {
		return err
	}
	defer closeWithin(sess, 5*time.Second) // with a context of its own: ctx may have ended by then

	leader, err := election.New(sess, "/services/billing/leader")
	if err != nil {
		return err
	}
	return leader.Run(ctx, func(ctx context.Context, term *election.Term) error { // called for each term
		runBilling(ctx, term.Token()) // ctx ends with the term; the next term starts only after this returns
		return nil                    // resign and campaign again
	})
}

func TestReadme(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := bill(ctx, srv.Servers(), func(ctx context.Context, token int64) {
		if ctx.Err() == nil && token > 0 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, srv.Sessions(), "the next one leads at once")
}

// A term is lost while the function of the one before still stops: the next begins when it has.
func TestReadmeLeadsOnceAtATime(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	other := open(t, srv)
	ctx, cancel := context.WithCancel(t.Context())
	var running, together, terms atomic.Int32
	err := bill(ctx, srv.Servers(), func(ctx context.Context, _ int64) {
		together.Store(max(together.Load(), running.Add(1)))
		defer running.Add(-1)
		if terms.Add(1) == 3 {
			cancel()
			return
		}
		names, _, err := other.Children(t.Context(), "/services/billing/leader")
		assert.NoError(t, err)
		for _, name := range names {
			assert.NoError(t, other.Delete(t.Context(), "/services/billing/leader/"+name, -1))
		}
		<-ctx.Done()
		select { // a function that takes its time: the next term would be there meanwhile
		case <-time.After(200 * time.Millisecond):
		case <-t.Context().Done():
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, together.Load(), "leaders at once")
}

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
	sess := open(t, zktest.Start(t))
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
	sess := open(t, srv)
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
	last, err := election.New(open(t, srv), "/e", election.WithID("last"))
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

// That of docs/recipes/lock.md.
func locks(ctx context.Context, sess *session.Session, data []byte, version int32) error {
	orders, err := lock.New(sess, "/locks/orders")
	if err != nil {
		return err
	}
	defer orders.Close(ctx)

	err = orders.Do(ctx, func(ctx context.Context, g *lock.Grant) error {
		// ctx ends when the grant does. The write is refused unless the grant stands.
		_, err := g.Commit(ctx, session.SetOp("/orders/state", data, version))
		return err
	})
	return err
}

// That of docs/recipes/multi-lock.md.
func transfer(ctx context.Context, alice, bob, ledger *lock.Lock, data []byte) error {
	m, err := lock.NewMulti(alice, bob, ledger) // any locks, in any order
	if err != nil {
		return err
	}
	return m.Do(ctx, func(ctx context.Context, g *lock.MultiGrant) error {
		// ctx ends when any of the three does. The write happens only while all three stand.
		_, err := g.Commit(ctx, session.SetOp("/transfer", data, -1))
		return err
	})
}

func TestLocks(t *testing.T) {
	t.Parallel()
	sess := open(t, zktest.Start(t))
	for _, path := range []string{"/orders/state", "/transfer"} {
		_, err := sess.Create(t.Context(), path, nil, session.Parents())
		require.NoError(t, err)
	}
	require.NoError(t, locks(t.Context(), sess, []byte("x"), 0))
	var all []*lock.Lock
	for _, path := range []string{"/locks/a", "/locks/b", "/locks/ledger"} {
		l, err := lock.New(sess, path)
		require.NoError(t, err)
		all = append(all, l)
	}
	require.NoError(t, transfer(t.Context(), all[1], all[0], all[2], []byte("y")))
	for path, want := range map[string]string{"/orders/state": "x", "/transfer": "y"} {
		data, _, err := sess.Get(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
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
	require.ErrorIs(t, open(t, srv).Delete(t.Context(), g.Path(), -1), session.ErrNoAuth)
	require.NoError(t, g.Session().Close(t.Context()))
}

// That of docs/recipes/simple-lock.md.
func controls(ctx context.Context, sess *session.Session, data []byte) (*lock.Grant, error) {
	controller, err := lock.New(sess, "/controller", lock.WithLayout(lock.Simple), lock.WithData(data))
	if err != nil {
		return nil, err
	}
	return controller.Lock(ctx)
}

func TestSimpleLock(t *testing.T) {
	t.Parallel()
	sess := open(t, zktest.Start(t))
	grant, err := controls(t.Context(), sess, []byte("broker 1"))
	require.NoError(t, err)
	_, exists, err := sess.Exists(t.Context(), "/controller")
	require.NoError(t, err)
	require.True(t, exists)
	require.NoError(t, grant.Release(t.Context()))
}

// That of docs/recipes/fence.md.
func fenced(req *http.Request, grant *lock.Grant, gate *fence.Gate) error {
	// The holder sends its sequencer along.
	req.Header.Set("Sequencer", grant.Sequencer().String())

	// The receiver checks it.
	q, err := fence.Parse(req.Header.Get("Sequencer"))
	if err != nil {
		return err
	}
	if err := gate.Admit(q); err != nil { // a fence.Gate beside the data it guards
		return err // fence.ErrFenced: a newer holder was here
	}
	return nil
}

func TestFence(t *testing.T) {
	t.Parallel()
	sess := open(t, zktest.Start(t))
	l, err := lock.New(sess, "/l")
	require.NoError(t, err)
	old, err := l.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, old.Release(t.Context()))
	grant, err := l.Lock(t.Context())
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	require.NoError(t, err)
	var gate fence.Gate
	require.NoError(t, fenced(req, grant, &gate))
	require.ErrorIs(t, fenced(req, old, &gate), fence.ErrFenced)
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
	sess := open(t, server)
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

// open connects a session that is closed with the test.
func open(t *testing.T, srv *zktest.Server) *session.Session {
	t.Helper()
	sess, err := session.Open(t.Context(), srv.Servers())
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, sess.Close(ctx))
	})
	return sess
}
