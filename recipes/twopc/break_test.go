package twopc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// node is the znode of the transaction whose name ends so.
func (w *world) node(suffix string) string {
	w.Helper()
	for _, n := range w.nodes() {
		if strings.HasSuffix(n, suffix) {
			return n
		}
	}
	w.Fatal("no " + suffix)
	return ""
}

// All have agreed, and another client has changed or deleted a vote that was seen before the last
// one came: nothing is committed against it, and it comes to an end.
func TestAVoteThatWasSeenIsChanged(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		inBothForms(t, func(w *world, form []twopc.Option) {
			c, h := w.coordinator(w.Host("c"), form...), w.Host("a")
			a, b := w.site(h, "a"), w.site(h, "b")
			tx, err := c.Begin(w.Context(), "t", nil, "a", "b")
			require.NoError(w, err)
			pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
			require.NoError(w, pa.Commit(w.Context()))
			synctest.Wait()
			if deleted {
				require.NoError(w, h.Delete(w.Context(), w.node("-vote-a"), -1))
			} else {
				_, err = h.Set(w.Context(), w.node("-vote-a"), []byte("abort\nno"), -1)
				require.NoError(w, err)
			}
			require.NoError(w, pb.Commit(w.Context()))
			bubble.Within(w, time.Minute, tx.Done())
			require.Equal(w, twopc.Aborted, tx.Outcome())
			bubble.Within(w, time.Minute, pa.Decided())
			bubble.Within(w, time.Minute, pb.Decided())
			for _, p := range []*twopc.Proposal{pa, pb} {
				require.Equal(w, twopc.Aborted, p.Outcome())
				require.NoError(w, p.Ack(w.Context()))
			}
			require.NoError(w, tx.Ack(w.Context()))
			require.Empty(w, w.nodes())
		})
	}
}

// Another client has made a znode below one of a transaction's. Who would delete that is told by
// its Ack, instead of trying again and again, and may try again when the foreign one is gone.
func TestAForeignZnodeBelow(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"-payload", "-open", "-vote-a", "-t-0000000000"} {
		t.Run(below, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("a")
				c, a := w.coordinator(w.Host("c")), w.site(h, "a")
				tx, err := c.Begin(w.Context(), "t", nil, "a")
				require.NoError(w, err)
				p := bubble.Within(w, time.Second, a.Proposals())
				foreign, err := h.Create(w.Context(), w.node(below)+"/foreign", nil)
				require.NoError(w, err)
				require.NoError(w, p.Commit(w.Context()))
				bubble.Within(w, time.Minute, tx.Done())
				bubble.Within(w, time.Minute, p.Decided())
				err, after := p.Ack(w.Context()), tx.Ack(w.Context())
				if below == "-open" { // that is the coordinator's
					err, after = after, err
				}
				require.ErrorIs(w, err, session.ErrNotEmpty)
				require.NoError(w, after)
				require.NoError(w, h.Delete(w.Context(), foreign, -1))
				require.NoError(w, p.Ack(w.Context()))
				require.NoError(w, tx.Ack(w.Context()))
				require.Empty(w, w.nodes())
			})
		})
	}
}

// A vote that is cast while an acknowledgement is under way, which succeeds, is answered once, and
// the actor does not crash over the answer to one that is through.
func TestAVoteBesideAnAcknowledgement(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		c, h := w.coordinator(w.Host("c")), w.Host("a")
		a := w.site(h, "a")
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, tx.Abort(w.Context(), "no"))
		bubble.Within(w, time.Second, p.Decided())
		synctest.Wait()
		_, before, err := h.Get(w.Context(), path+"/alive/a")
		require.NoError(w, err)
		id := h.Status().SessionID
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && strings.HasPrefix(r.Path, path+"/tx/t") {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		}))
		ack := bubble.Begin(func() error { return p.Ack(w.Context()) })
		synctest.Wait()
		vote := bubble.Begin(func() error { return p.Commit(w.Context()) })
		require.NoError(w, bubble.Within(w, time.Minute, ack))
		require.ErrorIs(w, bubble.Within(w, time.Minute, vote, "the vote"), twopc.ErrDecided)
		time.Sleep(10 * time.Second)
		_, after, err := h.Get(w.Context(), path+"/alive/a")
		require.NoError(w, err)
		require.Equal(w, before.Czxid, after.Czxid, "its actor has crashed")
	})
}

// Another client has deleted the mark, and a site has voted: it does not wait for the coordinator
// to die. All learn that it is gone, and nothing is left.
func TestTheMarkIsDeleted(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c, h := w.coordinator(w.Host("c"), form...), w.Host("a")
		a, b := w.site(h, "a"), w.site(h, "b")
		tx, err := c.Begin(w.Context(), "t", nil, "a", "b")
		require.NoError(w, err)
		p, q := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
		require.NoError(w, p.Commit(w.Context()))
		require.NoError(w, h.Delete(w.Context(), w.node("-open"), -1))
		require.NoError(w, q.Commit(w.Context()))
		bubble.Within(w, time.Minute, tx.Done())
		require.ErrorIs(w, tx.Err(), twopc.ErrGone)
		for _, p := range []*twopc.Proposal{p, q} {
			bubble.Within(w, time.Minute, p.Done())
			require.ErrorIs(w, p.Err(), twopc.ErrGone)
			require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
		}
		require.Empty(w, w.nodes())
	})
}

// Another client has deleted the transaction, and the site may not delete its entry: Ack returns
// the error, instead of trying for as long as the session lives, and may be tried again.
func TestAnAckOfWhatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		c, h, other := w.coordinator(w.Host("c")), w.Host("a"), w.Host("other")
		a := w.site(h, "a")
		_, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		p := bubble.Within(w, time.Second, a.Proposals())
		allow := w.deny(h, w.node("-t-0000000000"), zktest.OpDelete)
		for _, n := range []string{"-vote-a", "-payload", "-open", "/t"} {
			require.NoError(w, other.Delete(w.Context(), w.node(n), -1))
		}
		bubble.Within(w, time.Minute, p.Done())
		ack := func() <-chan error { return bubble.Begin(func() error { return p.Ack(w.Context()) }) }
		require.ErrorIs(w, bubble.Within(w, time.Minute, ack()), session.ErrNoAuth)
		allow()
		require.ErrorIs(w, bubble.Within(w, time.Minute, ack()), twopc.ErrGone)
		require.Empty(w, w.nodes())
	})
}
