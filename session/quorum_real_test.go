package session_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
)

// What a proof rests on: a transaction that only checks, also one whose check fails, is numbered
// like any write, and a server without a quorum does not answer it.
func TestATransactionThatOnlyChecksTakesAQuorum(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, e := onEnsemble(t, 3)
	s := w.openOn(e.Servers()[:1], session.WithTimeout(30*time.Second))
	zxid := func() int64 {
		_, err := s.Create(w.ctx, "/n"+strconv.FormatInt(time.Now().UnixNano(), 36), nil)
		require.NoError(w, err)
		names, _, err := s.Children(w.ctx, "/")
		require.NoError(w, err)
		var last int64
		for _, name := range names {
			st, _, err := s.Exists(w.ctx, "/"+name)
			require.NoError(w, err)
			last = max(last, st.Czxid)
		}
		return last
	}
	before := zxid()
	_, err := s.Multi(w.ctx, session.CheckOp("/", -1))
	require.NoError(w, err)
	require.Equal(w, before+2, zxid(), "one for the check, one for the create that shows it")
	before = zxid()
	_, err = s.Multi(w.ctx, session.CheckOp("/missing", -1))
	require.ErrorIs(w, err, session.ErrNoNode)
	require.Equal(w, before+2, zxid(), "also if it fails")

	heal := e.Isolate(0)
	answered := bubble.Begin(func() error {
		_, err := s.Multi(w.ctx, session.CheckOp("/", -1))
		return err
	})
	select {
	case err := <-answered:
		require.Fail(w, "answered without a quorum", "%v", err)
	case <-time.After(2 * time.Second):
	}
	heal()
	<-answered // with or without an error: it may have been lost with the connection
}
