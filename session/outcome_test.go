package session_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The answer to a write is lost, and the server to come back to is a leader that was deposed and
// wakes. It answers a sync by itself and shows what was before the write. Who reads behind
// ErrUnknownOutcome must not be told that by it.
func TestAReadBehindAnUnknownOutcomeIsNotOfThePast(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(s *session.Session) error{
		"create": func(s *session.Session) error {
			_, err := s.Create(context.Background(), "/new", nil)
			return err
		},
		"multi": func(s *session.Session) error {
			_, err := s.Multi(context.Background(), session.CreateOp("/new", nil))
			return err
		},
		"multi of a client": func(s *session.Session) error {
			client, err := s.Client("test", func(session.Event) {})
			if err != nil {
				return err
			}
			answer := make(chan error, 1)
			client.Commit(s.Status().Epoch, []session.Op{session.CreateOp("/new", nil)}, func(_ []session.Result, err error) { answer <- err })
			return <-answer
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range uint64(8) {
				inBubbleHere(t, func(w *world) { w.pastAnswer(write) }, zktest.WithServers(3), zktest.WithSeed(round+1))
			}
		})
	}
}

func (w *world) pastAnswer(write func(s *session.Session) error) {
	const old, other = int64(0), int64(1)
	var reachable atomic.Int64
	reachable.Store(other)
	s := w.session(session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != w.srv.Hosts()[reachable.Load()] {
			return nil, errors.New("out of reach")
		}
		return w.srv.Dialer()(ctx, network, addr)
	}))
	require.NoError(w, s.Sync(w.ctx, "/"))
	w.srv.Depose(int(old))
	time.Sleep(20 * time.Second)
	synctest.Wait()

	remove := w.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		switch r.Op {
		case zktest.OpCreate, zktest.OpCreate2, zktest.OpMulti:
			reachable.Store(old)
			return zktest.CutAfter
		}
		return zktest.Pass
	})
	outcome := make(chan error, 1)
	go func() { outcome <- write(s) }() // ends with the session
	synctest.Wait()
	remove()
	require.Equal(w, old, reachable.Load())
	w.srv.Continue(int(old))
	select {
	case err := <-outcome:
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
	case <-time.After(time.Minute):
		require.Fail(w, "the write does not end")
	}
	_, exists, err := s.Exists(w.ctx, "/new")
	require.NoError(w, err)
	require.True(w, exists, "it was carried out")
}
