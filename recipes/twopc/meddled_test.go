// Other clients change the znodes of a transaction, or ZooKeeper refuses requests of a participant:
// all participants are told, and the transaction ends if it can. Helpers: world_test.go.

package twopc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// One site has agreed, another client meddles, and the other site agrees: nothing is committed
// against a changed vote, no participant learns an outcome that can't be known, and nothing is
// left.
func TestAnotherClientMeddlesWithATransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meddle  func(w *bubble.World, s *session.Session) error
		outcome twopc.Outcome // Undecided: all learn that it is gone
	}{
		"a vote is changed": {func(w *bubble.World, s *session.Session) error {
			_, err := s.Set(w.Context(), nodeNamed(w, "-vote-a"), []byte("abort\nno"), -1)
			return err
		}, twopc.Aborted},
		"a vote is deleted": {func(w *bubble.World, s *session.Session) error {
			return s.Delete(w.Context(), nodeNamed(w, "-vote-a"), -1)
		}, twopc.Aborted},
		"the mark is deleted": {func(w *bubble.World, s *session.Session) error {
			return s.Delete(w.Context(), nodeNamed(w, "-open"), -1)
		}, twopc.Undecided},
		"all is deleted": {func(w *bubble.World, s *session.Session) error {
			return s.DeleteAll(w.Context(), path+"/tx/t")
		}, twopc.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(w *bubble.World, form []twopc.Option) {
				h := w.Host("sites")
				a, b := newSite(w, h, "a"), newSite(w, h, "b")
				tx := must(newCoordinator(w, w.Host("c"), form...).Begin(w.Context(), "t", nil, "a", "b"))
				pa, pb := bubble.Within(w, time.Second, a.Proposals()), bubble.Within(w, time.Second, b.Proposals())
				require.NoError(w, pa.VoteCommit(w.Context()))
				synctest.Wait()
				require.NoError(w, c.meddle(w, h.Session))
				if err := pb.VoteCommit(w.Context()); c.outcome != twopc.Undecided { // else it may be gone before the vote
					require.NoError(w, err)
				}
				is := map[twopc.Outcome]error{twopc.Undecided: twopc.ErrGone}[c.outcome]
				decided := []<-chan struct{}{tx.Decided(), pa.Decided(), pb.Decided()}
				for i, ended := range []<-chan struct{}{tx.Done(), pa.Done(), pb.Done()} {
					if c.outcome != twopc.Undecided {
						bubble.Within(w, time.Minute, decided[i])
						continue
					}
					bubble.Within(w, time.Minute, ended)
					bubble.Never(w, decided[i], "nobody knows")
				}
				require.Equal(w, []twopc.Outcome{c.outcome, c.outcome, c.outcome}, []twopc.Outcome{tx.Outcome(), pa.Outcome(), pb.Outcome()})
				if is != nil {
					require.ErrorIs(w, tx.Err(), is)
					require.ErrorIs(w, pa.Err(), is)
					require.ErrorIs(w, tx.Abort(w.Context(), "late"), is)
					require.ErrorIs(w, pa.VoteAbort(w.Context(), "then not"), is)
				}
				for range 2 {
					require.ErrorIs(w, pa.Ack(w.Context()), is)
					require.ErrorIs(w, pb.Ack(w.Context()), is)
					require.ErrorIs(w, tx.Ack(w.Context()), is)
				}
				require.Empty(w, nodes(w))
			})
		})
	}
}

// A site is not asked to agree to a transaction whose payload is gone.
func TestAPayloadThatIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("all")
		tx := must(newCoordinator(w, h, twopc.WithVoteTimeout(time.Minute)).Begin(w.Context(), "t1", []byte("pay"), "a"))
		require.NoError(w, h.Delete(w.Context(), nodeNamed(w, "-payload"), -1))
		p := bubble.Within(w, time.Second, newSite(w, h, "a").Proposals())
		bubble.Within(w, time.Second, p.Done())
		require.ErrorIs(w, p.Err(), twopc.ErrGone)
		require.ErrorIs(w, p.VoteCommit(w.Context()), twopc.ErrGone)
		bubble.Within(w, 2*time.Minute, tx.Decided())
		require.Equal(w, twopc.Aborted, tx.Outcome())
		require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
	})
}

// An Ack can't delete its znodes: another client has created a znode below, or the permission is
// missing, also when the rest is gone. Ack returns the error, instead of trying again and again,
// and may be tried again.
func TestAnAckThatCannotBe(t *testing.T) {
	t.Parallel()
	foreign := func(w *bubble.World, h *bubble.Host, at string) (undo func()) {
		below := must(h.Create(w.Context(), at+"/foreign", nil))
		return func() { require.NoError(w, h.Delete(w.Context(), below, -1)) }
	}
	for name, c := range map[string]struct {
		suffix  string
		hinder  func(w *bubble.World, h *bubble.Host, at string) (undo func())
		is, end error // of the first Ack, and when it is tried again
	}{
		"below the payload": {"-payload", foreign, session.ErrNotEmpty, nil},
		"below the mark":    {"-open", foreign, session.ErrNotEmpty, nil},
		"below a vote":      {"-vote-a", foreign, session.ErrNotEmpty, nil},
		"below an entry":    {"-t-0000000000", foreign, session.ErrNotEmpty, nil},
		"no right, and the rest is gone": {"-t-0000000000", func(w *bubble.World, h *bubble.Host, at string) (undo func()) {
			require.NoError(w, w.Host("other").DeleteAll(w.Context(), path+"/tx/t"))
			return deny(w, h, at, zktest.OpDelete)
		}, session.ErrNoAuth, twopc.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *bubble.World) {
				h := w.Host("a")
				site := newSite(w, h, "a")
				tx := must(newCoordinator(w, w.Host("c")).Begin(w.Context(), "t", nil, "a"))
				p := bubble.Within(w, time.Second, site.Proposals())
				undo := c.hinder(w, h, nodeNamed(w, c.suffix))
				if err := p.VoteCommit(w.Context()); err != nil {
					require.ErrorIs(w, err, c.end)
				}
				bubble.Within(w, time.Minute, tx.Done())
				select { // gone, or known here, too
				case <-p.Decided():
				case <-p.Done():
				}
				first, second := p.Ack, tx.Ack
				if c.suffix == "-open" { // that is the coordinator's
					first, second = second, first
				}
				ack := bubble.Begin(func() error { return first(w.Context()) })
				require.ErrorIs(w, bubble.Within(w, time.Minute, ack), c.is)
				require.ErrorIs(w, second(w.Context()), c.end)
				undo()
				require.ErrorIs(w, p.Ack(w.Context()), c.end)
				require.ErrorIs(w, tx.Ack(w.Context()), c.end)
				require.Empty(w, nodes(w))
			})
		})
	}
}

// A vote that is cast while an acknowledgement is under way is answered once, whether the
// acknowledgement succeeds or is refused, and the actor does not crash over the late answer.
func TestAVoteBesideAnAcknowledgement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fate zktest.Verdict
		is   error
	}{{zktest.Pass, nil}, {zktest.Fail(zktest.ErrNoAuth), session.ErrNoAuth}} {
		inBubble(t, func(w *bubble.World) {
			h := w.Host("a")
			a := newSite(w, h, "a")
			tx := must(newCoordinator(w, w.Host("c")).Begin(w.Context(), "t", nil, "a"))
			p := bubble.Within(w, time.Second, a.Proposals())
			require.NoError(w, tx.Abort(w.Context(), "no"))
			bubble.Within(w, time.Second, p.Decided())
			synctest.Wait()
			_, before, err := h.Get(w.Context(), path+"/alive/a")
			require.NoError(w, err)
			id := h.Status().SessionID
			w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				switch {
				case r.SessionID == id && r.Op == zktest.OpMulti:
					return c.fate
				case r.SessionID == id && strings.HasPrefix(r.Path, path+"/tx/t"):
					return zktest.Delay(time.Second)
				}
				return zktest.Pass
			}))
			ack := bubble.Begin(func() error { return p.Ack(w.Context()) })
			synctest.Wait()
			vote := bubble.Begin(func() error { return p.VoteCommit(w.Context()) })
			require.ErrorIs(w, bubble.Within(w, time.Minute, ack), c.is)
			require.ErrorIs(w, bubble.Within(w, time.Minute, vote, "the vote"), twopc.ErrDecided)
			time.Sleep(10 * time.Second)
			_, after, err := h.Get(w.Context(), path+"/alive/a")
			require.NoError(w, err)
			require.Equal(w, before.Czxid, after.Czxid, "its actor has crashed")
		})
	}
}

// The answer to a Begin is lost, and the record may not be read. Begin says so, and nothing decides
// the transaction while its coordinator lives. A crash of the coordinator lets a site abort it, and
// Recover ends it once it may read the record.
func TestABeginThatMayNotBeLookedFor(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		h := w.Host("c")
		c, a := newCoordinator(w, h, form...), newSite(w, w.Host("a"), "a")
		warm(w, c, a)
		require.NoError(w, h.EnsurePath(w.Context(), path+"/inbox/b"))
		w.Kth(h.Session, 1, zktest.CutAfter)
		allow := deny(w, h, path+"/tx/t", zktest.OpGetData)
		tx, err := c.Begin(w.Context(), "t", nil, "a", "b")
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, session.ErrNoAuth)
		bubble.Within(w, time.Second, tx.Done())
		require.ErrorIs(w, tx.Err(), session.ErrUnknownOutcome)
		p := bubble.Within(w, time.Second, a.Proposals())
		require.NoError(w, p.VoteCommit(w.Context()))
		bubble.Never(w, p.Decided(), "its coordinator lives")

		_, err = c.Recover(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		c.Crash("while it is refused") // the site sees that its presence is gone
		bubble.Within(w, time.Minute, p.Decided())
		require.Equal(w, twopc.Aborted, p.Outcome())
		require.NoError(w, p.Ack(w.Context()))
		allow()
		taken := must(c.Recover(w.Context()))
		require.Len(w, taken, 1)
		bubble.Within(w, time.Second, taken[0].Decided())
		require.Equal(w, twopc.Aborted, taken[0].Outcome())
	})
}

// A decision that may not be written, or a record that may not be read: the application gets the
// error. What a dead coordinator has left is recovered all the same, and when it is allowed, so is
// the one that was refused, by the same coordinator.
func TestATransactionThatMayNotBeDecided(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]zktest.Op{"written": zktest.OpSetData, "read": zktest.OpGetData} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *bubble.World) {
				h, hd := w.Host("c"), w.Host("d")
				c, d, a := newCoordinator(w, h), newCoordinator(w, hd), newSite(w, w.Host("a"), "a")
				must(d.Begin(w.Context(), "of-the-dead", nil, "b"))
				allow := deny(w, h, path+"/tx/t", kind)
				tx := must(c.Begin(w.Context(), "t", nil, "a"))
				p := bubble.Within(w, time.Second, a.Proposals())
				require.NoError(w, p.VoteCommit(w.Context()))
				bubble.Within(w, time.Minute, tx.Done())
				require.ErrorIs(w, tx.Err(), session.ErrNoAuth)
				require.NotErrorIs(w, tx.Err(), session.ErrUnknownOutcome)
				hd.Die()
				taken, err := c.Recover(w.Context())
				require.ErrorIs(w, err, session.ErrNoAuth)
				require.Len(w, taken, 1)
				require.Equal(w, "of-the-dead", taken[0].ID())
				bubble.Never(w, p.Decided(), "its coordinator lives")
				require.NoError(w, taken[0].Abort(w.Context(), "enough"))
				require.NoError(w, taken[0].Ack(w.Context()))
				allow()
				taken = must(c.Recover(w.Context()))
				require.Len(w, taken, 1)
				require.Equal(w, "t", taken[0].ID())
				bubble.Within(w, time.Minute, p.Decided())
				require.Equal(w, twopc.Committed, p.Outcome())
				bubble.Within(w, time.Second, taken[0].Decided())
				require.Equal(w, twopc.Committed, taken[0].Outcome())
				require.NoError(w, p.Ack(w.Context()))
				require.NoError(w, taken[0].Ack(w.Context()))
			})
		})
	}
}
