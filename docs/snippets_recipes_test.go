package docs_test

// The code of the pages of semaphores, shared locks, transactions and queues, as they print it.

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

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
				_ = p.Abort(ctx, err.Error())
			} else if err := p.Commit(ctx); err != nil {
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
	defer consumer.Close(ctx)
	go func() { // ends with the consumer
		for err := range consumer.Errors() {
			log.Warn("skipped", "error", err)
		}
	}()
	for item := range consumer.Items() {
		if err := work(item.Context(), item.Data()); err != nil {
			_ = item.Nack(ctx, queue.WithError(err)) // after a pause it is delivered again
			continue
		}
		if err := item.Ack(ctx); errors.Is(err, session.ErrLost) {
			log.Warn("done, but the claim was lost: the item is delivered again", "id", item.ID())
		}
	}
	return consumer.Err()
}

func TestQueue(t *testing.T) {
	t.Parallel()
	sess, err := session.Open(t.Context(), zktest.Start(t).Servers())
	require.NoError(t, err)
	times, closed := 0, make(chan error, 1)
	err = ships(t.Context(), sess, slog.New(slog.DiscardHandler), []byte("an order"), func(_ context.Context, data []byte) error {
		if times++; times < 3 {
			return errEnough
		}
		go func() { closed <- sess.Close(context.WithoutCancel(t.Context())) }() // the test waits for it
		return nil
	})
	require.ErrorIs(t, err, session.ErrClosed)
	require.Equal(t, 3, times)
	require.NoError(t, <-closed)
}
