// Ids and names that are taken, contexts, Close, and foreign znodes. Helpers: world_test.go.

package twopc_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// A Begin that fails changes nothing, and an id is free again when its transaction is finished.
func TestTheIdOfATransaction(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("c")
		c := newCoordinator(w, h)
		before := w.Server.Dump()
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		for range 20 {
			tx, err := c.Begin(ended, "t", nil, "a")
			require.ErrorIs(w, err, context.Canceled)
			require.NotErrorIs(w, err, session.ErrUnknownOutcome)
			require.Nil(w, tx)
		}
		require.Equal(w, before, w.Server.Dump(), "nothing was changed")
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		_, err = c.Begin(w.Context(), "t", nil, "a")
		require.ErrorIs(w, err, twopc.ErrDuplicate)
		p := bubble.Within(w, time.Second, newSite(w, h, "a").Proposals())
		require.NoError(w, p.VoteAbort(w.Context(), strings.Repeat("x", 1024)))
		require.NoError(w, p.Ack(w.Context()))
		bubble.Within(w, time.Second, tx.Done())
		_, err = c.Begin(w.Context(), "t", nil, "b")
		require.ErrorIs(w, err, twopc.ErrFinished, "its outcome was not acknowledged")
		require.NoError(w, tx.Ack(w.Context()))
		again, err := c.Begin(w.Context(), "t", nil, "b")
		require.NoError(w, err, "an id may be used again when its transaction is finished")
		require.NotEqual(w, tx, again)
	})
}

// The id of a transaction for a name that no site has is free when a site with that name has
// acknowledged it.
func TestANameThatNoSiteHas(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("c")
		c := newCoordinator(w, h)
		tx := must(c.Begin(w.Context(), "t", nil, "misspelt"))
		bubble.Within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.NoError(w, tx.Ack(w.Context()))
		_, err := c.Begin(w.Context(), "t", nil, "a")
		require.ErrorIs(w, err, twopc.ErrDuplicate)
		p := bubble.Within(w, time.Second, newSite(w, h, "misspelt").Proposals())
		bubble.Within(w, time.Second, p.Decided())
		require.NoError(w, p.Ack(w.Context()))
		require.Empty(w, nodes(w))
		_, err = c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
	})
}

func TestASecondSiteOfOneName(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		first := newSite(w, h, "a")
		for _, other := range []*bubble.Host{h, w.Host("b")} { // in the same process, and in another
			second := newSite(w, other, "a")
			bubble.Within(w, time.Second, second.Done())
			require.ErrorIs(w, second.Err(), twopc.ErrDuplicate)
			bubble.Closed(w, second.Proposals())
		}
		require.NoError(w, first.Err())
		c := newCoordinator(w, w.Host("c"))
		must(c.Begin(w.Context(), "t", nil, "a"))
		bubble.Within(w, time.Second, first.Proposals())
	})
}

// A site that starts again before its predecessor's session has expired waits for the expiry.
func TestASiteStartsAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		newSite(w, h, "a")
		c := newCoordinator(w, w.Host("c"))
		h.Die()
		again := newSite(w, w.Host("a again"), "a")
		must(c.Begin(w.Context(), "t", nil, "a"))
		bubble.Never(w, again.Proposals(), "the old one may live")
		info, ok := w.Server.Session(h.Status().SessionID)
		require.True(w, ok)
		p := bubble.Within(w, time.Minute, again.Proposals())
		require.False(w, time.Now().Before(info.Expires))
		require.Less(w, time.Since(info.Expires), time.Second)
		// the transaction lost its voter before it had a vote
		bubble.Within(w, time.Second, p.Decided())
		require.Equal(w, twopc.Aborted, p.Outcome())
	})
}

// Waits end with their contexts; the requests go on.
func TestContextsBoundWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		hc, ha := w.Host("c"), w.Host("a")
		c, a := newCoordinator(w, hc), newSite(w, ha, "a")
		tx := must(c.Begin(w.Context(), "t", nil, "a", "b"))
		p := bubble.Within(w, time.Second, a.Proposals())
		bounded := func(call func(ctx context.Context) error) {
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			require.ErrorIs(w, call(ctx), context.DeadlineExceeded)
		}
		heal := ha.Machine.Partition()
		bounded(p.VoteCommit)
		require.ErrorIs(w, p.VoteAbort(w.Context(), "the other way round"), twopc.ErrVoted, "the vote is under way")
		heal()
		require.Equal(w, "a", bubble.Within(w, time.Minute, tx.Votes()).Site)
		require.NoError(w, p.VoteCommit(w.Context()))
		heal = hc.Machine.Partition()
		bounded(func(ctx context.Context) error { return tx.Abort(ctx, "enough") })
		heal()
		bubble.Within(w, time.Minute, tx.Decided())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		bubble.Within(w, time.Minute, p.Decided())
		heal = ha.Machine.Partition()
		bounded(p.Ack)
		heal()
		require.NoError(w, p.Ack(w.Context()))
	})
}

// A Begin that waits when the coordinator closes returns ErrClosed.
func TestCloseWhileItBegins(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("c")
		heal := h.Machine.Partition()
		time.Sleep(time.Minute) // the session has expired, and the client does not know
		c := newCoordinator(w, h)
		failed := bubble.Begin(func() error { _, err := c.Begin(w.Context(), "t", nil, "a"); return err })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
		require.ErrorIs(w, bubble.Within(w, time.Minute, failed), session.ErrClosed)
		heal()
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		hc, ha := w.Host("c"), w.Host("a")
		c, a := newCoordinator(w, hc, form...), newSite(w, ha, "a")
		tx, err := c.Begin(w.Context(), "t", nil, "a", "b")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.VoteCommit(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.Equal(w, twopc.Aborted, tx.Outcome(), "Close aborts what is undecided")
		require.ErrorIs(w, c.Err(), session.ErrClosed)
		_, err = c.Begin(w.Context(), "u", nil, "a")
		require.ErrorIs(w, err, session.ErrClosed)
		bubble.Within(w, time.Second, p.Decided())
		require.NoError(w, a.Close(w.Context()))
		require.NoError(w, a.Close(w.Context()))
		require.ErrorIs(w, p.Err(), session.ErrClosed)
		require.ErrorIs(w, p.Ack(w.Context()), session.ErrClosed)
		require.ErrorIs(w, p.VoteCommit(w.Context()), session.ErrClosed)
		require.NotContains(w, w.Server.Dump(), path+"/alive/a", "a site that closes takes its presence with it")
		require.NotContains(w, w.Server.Dump(), path+"/coordinators/")

		// with the session
		b := newSite(w, ha, "b")
		d := newCoordinator(w, hc, form...)
		tx = must(d.Begin(w.Context(), "v", nil, "b"))
		p = bubble.Within(w, time.Second, b.Proposals()) // of the first
		q := bubble.Within(w, time.Second, b.Proposals())
		require.NoError(w, hc.Close(w.Context()))
		bubble.Within(w, time.Second, tx.Done())
		require.ErrorIs(w, tx.Err(), session.ErrClosed)
		require.Equal(w, twopc.Undecided, tx.Outcome())
		bubble.Within(w, time.Second, q.Decided())
		require.Equal(w, twopc.Aborted, q.Outcome(), "the sites see it gone")
		require.Equal(w, twopc.Aborted, p.Outcome())
	})
}

// Foreign znodes in all places disturb no participant.
func TestForeignZnodes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("all")
		for _, p := range []string{"/tx/readme", "/inbox/a/readme", "/inbox/a/_c_x", "/inbox/a/_c_0123456789abcdef0123456789abcdef-x-0000000001", "/alive/.x", "/coordinators/x"} {
			must(h.Create(w.Context(), path+p, []byte("{}"), session.Parents()))
		}
		c, a := newCoordinator(w, h), newSite(w, h, "a")
		gone := bubble.Within(w, time.Second, a.Proposals())
		require.Equal(w, "x", gone.ID(), "an entry in the inbox without its transaction")
		bubble.Within(w, time.Second, gone.Done())
		require.ErrorIs(w, gone.Err(), twopc.ErrGone)
		taken := must(c.Recover(w.Context()))
		require.Empty(w, taken)
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		must(h.Create(w.Context(), path+"/tx/t/readme", nil))
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.VoteCommit(w.Context()))
		bubble.Within(w, time.Second, tx.Decided())
		require.Equal(w, twopc.Committed, tx.Outcome())
		bubble.Within(w, time.Second, p.Decided())
		require.NoError(w, p.Ack(w.Context()))
		_, err = c.Begin(w.Context(), "readme", nil, "a")
		require.ErrorIs(w, err, twopc.ErrDuplicate)
	})
}
