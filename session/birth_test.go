package session_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// commit carries a transaction out and waits for it.
func (t *client) commit(w *world, epoch uint64, ops ...session.Op) error {
	w.Helper()
	return wait(w, func(done func(error)) { t.Commit(epoch, ops, func(_ []session.Result, err error) { done(err) }) })
}

// standing is what Recover finds of the client.
func (t *client) standing(w *world, epoch uint64) []string {
	w.Helper()
	return wait(w, func(done func([]string)) {
		t.Recover(epoch, func(paths, _ []string, err error) {
			require.NoError(w, err)
			done(paths)
		})
	})
}

func TestWhatATransactionCreatesIsTheSeats(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/claims"))
		a, b := w.client(s), w.client(s)
		require.NoError(w, a.commit(w, 1, session.CreateOp("/claims/1", []byte("a"), session.Ephemeral()), session.CreateOp("/kept", nil)))
		require.ErrorIs(w, b.commit(w, 1, session.CreateOp("/claims/1", []byte("b"), session.Ephemeral())), session.ErrNodeExists)
		require.NoError(w, a.commit(w, 1, session.CreateOp("/claims/2", nil, session.Ephemeral())))
		require.NoError(w, a.commit(w, 1, session.CreateOp("/claims/s", nil, session.Ephemeral(), session.Sequential())))
		require.NoError(w, a.commit(w, 1, session.DeleteOp("/claims/2", -1)))
		require.ElementsMatch(w, []string{"/claims/1", "/claims/s0000000002"}, a.standing(w, 1))
		require.Empty(w, b.standing(w, 1))

		b.Leave()
		synctest.Wait()
		names, _, err := s.Children(w.ctx, "/claims")
		require.NoError(w, err)
		require.Len(w, names, 2, "what b was refused is not b's to delete")

		a.Leave()
		synctest.Wait()
		names, _, err = s.Children(w.ctx, "/claims")
		require.NoError(w, err)
		require.Empty(w, names)
		_, exists, err := s.Exists(w.ctx, "/kept")
		require.NoError(w, err)
		require.True(w, exists, "only ephemeral znodes go with the client")
	})
}

// TestAClaimOfUnknownOutcome: after a lost answer, the record knows whose znode it is that stands
// there.
func TestAClaimOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict zktest.Verdict
		rival   bool
		stands  []string
	}{
		"request lost":              {verdict: zktest.CutBefore},
		"request lost, rival there": {verdict: zktest.CutBefore, rival: true},
		"answer lost":               {verdict: zktest.CutAfter, stands: []string{"/claims/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				require.NoError(w, s.EnsurePath(w.ctx, "/claims"))
				a, b := w.client(s), w.client(s)
				if c.rival {
					require.NoError(w, b.commit(w, 1, session.CreateOp("/claims/1", []byte("b"), session.Ephemeral())))
				}
				w.cutOnce(c.verdict, func(r *zktest.Request) bool { return r.Op.Writes() })
				err := a.commit(w, 1, session.CreateOp("/claims/1", []byte("a"), session.Ephemeral()))
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
				require.ElementsMatch(w, c.stands, a.standing(w, 1))
				a.Leave()
				synctest.Wait()
				_, exists, err := s.Exists(w.ctx, "/claims/1")
				require.NoError(w, err)
				require.Equal(w, c.rival, exists, "one's own goes, another's stays")
			})
		})
	}
}

// TestADoubtfulClaimIsLeft: the client is left while the outcome of its claim is unknown.
func TestADoubtfulClaimIsLeft(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/claims"))
		a := w.client(s)
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op.Writes() })
		require.ErrorIs(w, a.commit(w, 1, session.CreateOp("/claims/1", []byte("a"), session.Ephemeral())), session.ErrUnknownOutcome)
		a.Leave()
		synctest.Wait()
		_, exists, err := s.Exists(w.ctx, "/claims/1")
		require.NoError(w, err)
		require.False(w, exists)
	})
}

func TestEnsure(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		a := w.client(s)
		ensure := func(path string, container bool, data string) error {
			return wait(w, func(done func(error)) { a.Ensure(1, path, container, []byte(data), done) })
		}
		require.NoError(w, ensure("/deep/down/here", false, "x"))
		require.NoError(w, ensure("/deep/down/here", false, "y"))
		data, stat, err := s.Get(w.ctx, "/deep/down/here")
		require.NoError(w, err)
		require.Equal(w, "x", string(data), "what exists is left as it is")
		require.Zero(w, stat.EphemeralOwner, "it is persistent")
		require.NoError(w, ensure("/deep/box", true, ""))
		w.requests()
		require.NoError(w, ensure("/deep/other", true, ""))
		require.Contains(w, w.requests()[0], "createContainer")
		require.ErrorIs(w, ensure("nowhere", true, ""), session.ErrInvalidPath)
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op.Writes() })
		require.NoError(w, ensure("/lost/answer", false, "z"))
	})
}
