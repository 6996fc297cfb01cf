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
	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
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
	defer session.CloseWithin(orders, 5*time.Second)
	statuses := sess.ObserveStatus(ctx) // a subscription: taken once, before the loop
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

func TestChannels(t *testing.T) {
	t.Parallel()
	sess := bubble.Open(t, zktest.Start(t).Servers())
	ctx, cancel := context.WithCancel(t.Context())
	err := selects(ctx, sess, slog.New(slog.DiscardHandler), func(context.Context, int64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

// That of docs/trees.md.
func follows(ctx context.Context, sess *session.Session, use func(routes map[string]string)) error {
	routes := map[string]string{}
	for t := range sess.WatchTree(ctx, "/routes", session.WithDepth(3), session.WithMaxNodes(50_000)) {
		if t.Err != nil {
			return t.Err // the last one
		}
		for path, n := range t.Changed() { // since the tree that was received before; "" is /routes itself
			switch {
			case !n.Exists:
				delete(routes, path)
			case n.Unread == nil:
				routes[path] = string(n.Data)
			}
		}
		use(routes)
	}
	return ctx.Err()
}

func TestTrees(t *testing.T) {
	t.Parallel()
	sess := bubble.Open(t, zktest.Start(t).Servers())
	ctx, cancel := context.WithCancel(t.Context())
	var last map[string]string
	done := bubble.Begin(func() error {
		return follows(ctx, sess, func(routes map[string]string) {
			if last = routes; routes["end"] != "" {
				cancel()
			}
		})
	})
	for _, path := range []string{"/routes", "/routes/eu", "/routes/end"} {
		_, err := sess.Create(t.Context(), path, []byte(path))
		require.NoError(t, err)
	}
	require.ErrorIs(t, bubble.Get(t, done), context.Canceled)
	require.Equal(t, map[string]string{"": "/routes", "eu": "/routes/eu", "end": "/routes/end"}, last)
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
	err = term.TransferTo(ctx, candidates[len(candidates)-1]) // to the newest candidate
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

	first, err := election.New(sess, "/e", election.WithName("first"))
	require.NoError(t, err)
	term, err := first.Lead(t.Context())
	require.NoError(t, err)
	last, err := election.New(bubble.Open(t, srv.Servers()), "/e", election.WithName("last"))
	require.NoError(t, err)
	last.Campaign()
	for s := range last.ObserveStatus(t.Context()) {
		if s.State == election.Waiting {
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

// That of docs/recipes/semaphore.md.
func encodes(ctx context.Context, sess *session.Session, encode func(ctx context.Context) error) error {
	encoders, err := lock.NewSemaphore(sess, "/limits/encoders", 8, lock.WithWeight(2))
	if err != nil {
		return err
	}
	defer encoders.Close(ctx)

	err = encoders.Do(ctx, func(ctx context.Context, g *lock.Grant) error {
		return encode(ctx) // with two of the eight permits
	})
	return err
}

// That of docs/recipes/shared-lock.md.
func shares(ctx context.Context, sess *session.Session, show func(ctx context.Context) error, rebuild func(ctx context.Context, token int64) error) error {
	read, err := lock.NewRead(sess, "/locks/catalogue")
	if err != nil {
		return err
	}
	write, err := lock.NewWrite(sess, "/locks/catalogue")
	if err != nil {
		return err
	}

	err = read.Do(ctx, func(ctx context.Context, g *lock.Grant) error {
		return show(ctx) // other readers may be here too, no writer is
	})
	if err != nil {
		return err
	}
	err = write.Do(ctx, func(ctx context.Context, g *lock.Grant) error {
		if err := rebuild(ctx, g.Token()); err != nil { // nobody else is here
			return err
		}
		shown, err := g.Downgrade(ctx) // from here on as a reader; no other writer was in between
		if err != nil {
			return err
		}
		return show(shown.Context())
	})
	return err
}

func TestSharedLocks(t *testing.T) {
	t.Parallel()
	sess := bubble.Open(t, zktest.Start(t).Servers())
	shown := 0
	show := func(ctx context.Context) error {
		shown++
		return ctx.Err()
	}
	require.NoError(t, encodes(t.Context(), sess, show))
	require.NoError(t, shares(t.Context(), sess, show, func(ctx context.Context, _ int64) error { return ctx.Err() }))
	require.Equal(t, 3, shown)
}

// Those of docs/recipes/twopc.md.
func pays(ctx context.Context, sess *session.Session, order []byte, note func(id string, o twopc.Outcome) error) error {
	transfers, err := twopc.NewCoordinator(sess, "/pay/transfers")
	if err != nil {
		return err
	}
	defer transfers.Close(ctx)

	left, err := transfers.Recover(ctx) // transactions of an earlier process, decided or not
	if err != nil {
		return err
	}
	beginning, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tx, err := transfers.Begin(beginning, "t-4711", order, "ledger", "stock")
	if err != nil && !errors.Is(err, session.ErrUnknownOutcome) {
		return err // there is nothing to wait for
	}
	for _, tx := range append(left, tx) {
		select {
		case <-tx.Done():
		case <-ctx.Done():
			return context.Cause(ctx) // the next process recovers it
		}
		if tx.Outcome() == twopc.Undecided {
			return tx.Err() // why there is no outcome here
		}
		if err := note(tx.ID(), tx.Outcome()); err != nil { // durably: Committed, or Aborted with tx.Reason()
			return err
		}
		if err := tx.Ack(ctx); err != nil { // from now on it is not recovered
			return err
		}
	}
	return nil
}

func takesPart(ctx context.Context, sess *session.Session, site string, prepare func(id string, payload []byte) error, carryOut func(id string, o twopc.Outcome)) error {
	ledger, err := twopc.NewSite(sess, "/pay/transfers", site)
	if err != nil {
		return err
	}
	defer ledger.Close(ctx)

	for p := range ledger.Proposals() {
		if p.Voted() == twopc.Undecided {
			if err := prepare(p.ID(), p.Payload()); err != nil { // durably: either outcome must be possible
				_ = p.VoteAbort(ctx, err.Error())
			} else if err := p.VoteCommit(ctx); err != nil {
				return err
			}
		}
		select {
		case <-p.Decided():
			carryOut(p.ID(), p.Outcome()) // durably
			err = p.Ack(ctx)
		case <-p.Done():
			err = p.Err()
		}
		if err != nil {
			return err
		}
	}
	return ledger.Err()
}

func TestTwoPhaseCommit(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	outcomes := make(chan twopc.Outcome, 2)
	var all errgroup.Group
	for _, site := range []string{"ledger", "stock"} {
		sess := bubble.Open(t, srv.Servers())
		all.Go(func() error {
			go func() { // ends with the test
				<-ctx.Done()
				_ = sess.Close(context.WithoutCancel(ctx))
			}()
			return takesPart(ctx, sess, site, func(string, []byte) error { return nil }, func(_ string, o twopc.Outcome) { outcomes <- o })
		})
	}
	require.NoError(t, pays(t.Context(), bubble.Open(t, srv.Servers()), []byte("an order"), func(_ string, o twopc.Outcome) error {
		require.Equal(t, twopc.Committed, o)
		return nil
	}))
	require.Equal(t, twopc.Committed, <-outcomes)
	require.Equal(t, twopc.Committed, <-outcomes)
	cancel()
	require.Error(t, all.Wait())
}

// That of docs/recipes/queue.md.
func ships(ctx context.Context, sess *session.Session, log *slog.Logger, payload []byte, work func(ctx context.Context, data []byte) error) error {
	orders, err := queue.New(sess, "/queues/orders", queue.WithBackoff(queue.Exponential(100*time.Millisecond, time.Minute)))
	if err != nil {
		return err
	}
	if _, err := orders.Put(ctx, payload, queue.WithHeader("content-type", "application/json")); err != nil {
		return err
	}

	consumer, err := orders.Consume()
	if err != nil {
		return err
	}
	defer session.CloseWithin(consumer, 5*time.Second)
	go func() { // ends with the consumer
		for err := range consumer.Errors() {
			log.Warn("skipped", "error", err)
		}
	}()
	for {
		select {
		case <-ctx.Done(): // SIGTERM
			return nil
		case item, more := <-consumer.Items():
			if !more {
				return consumer.Err()
			}
			if err := work(item.Context(), item.Data()); err != nil {
				_ = item.Nack(ctx, queue.WithError(err)) // after a pause it is delivered again
				continue
			}
			if err := item.Ack(context.WithoutCancel(ctx)); errors.Is(err, session.ErrLost) {
				log.Warn("done, but the claim was lost: the item is delivered again", "id", item.ID())
			}
		}
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	sess, err := session.Open(t.Context(), zktest.Start(t).Servers())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	times := 0
	err = ships(ctx, sess, slog.New(slog.DiscardHandler), []byte("an order"), func(context.Context, []byte) error {
		if times++; times < 3 {
			return errEnough
		}
		cancel() // at work: the item is acknowledged all the same
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, times)
	orders, err := queue.New(sess, "/queues/orders")
	require.NoError(t, err)
	left, err := orders.Stats(t.Context())
	require.NoError(t, err)
	require.Zero(t, left.Items)
	require.NoError(t, sess.Close(t.Context()))
}
