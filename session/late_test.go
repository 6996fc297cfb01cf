// Writes that a server keeps while its link to the leader is down are not carried out once they
// were said not to be.

package session_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A server keeps a write, and its connection is lost. The session goes on at another server, where
// a read says that the write was not carried out. Then the first server is asked for the session
// once more, and again, and its link to the leader heals.
func TestAWriteThatWasDeniedIsNotCarriedOutLate(t *testing.T) {
	each(t, map[string]func(f *misled, file string) (closed bool){
		"the session goes on": func(f *misled, _ string) bool {
			f.srv.Disconnect(f.id)
			return false
		},
		"it is closed": func(f *misled, _ string) bool {
			f.srv.Disconnect(f.id)
			go func() { _ = f.s.Close(f.ctx) }() // the end of the test waits for it
			return true
		},
		"it is closed by the process after one that was killed": func(f *misled, file string) bool {
			next := filepath.Join(f.TempDir(), "next")
			text, err := os.ReadFile(file)
			require.NoError(f, err)
			require.NoError(f, os.WriteFile(next, text, 0o600))
			var first atomic.Bool
			f.session(session.WithSessionFile(next), session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				if first.CompareAndSwap(false, true) {
					return f.srv.Dialer()(ctx, network, f.srv.Hosts()[1])
				}
				return f.dial(ctx, network, addr)
			})).Start()
			return true
		},
	}, func(w *world, again func(f *misled, file string) (closed bool)) {
		file := filepath.Join(w.TempDir(), "session")
		f := w.atALeader(session.WithSessionFile(file))
		heal := w.srv.HoldUp(0)
		outcome := bubble.Begin(func() error { _, err := f.s.Create(w.ctx, "/late", nil); return err })
		synctest.Wait()
		w.srv.Disconnect(f.id)
		time.Sleep(timeout / 10)
		f.reachable.Store(1)
		require.ErrorIs(w, <-outcome, session.ErrUnknownOutcome)
		require.False(w, w.exists(f.s, "/late"))

		f.reachable.Store(0)
		closed := again(f, file)
		time.Sleep(timeout / 10)
		heal()
		time.Sleep(timeout)
		_, err := w.srv.Get("/late")
		require.ErrorIs(w, err, zktest.ErrNoNode)
		lives := slices.ContainsFunc(w.srv.Sessions(), func(s zktest.Session) bool { return s.ID == f.id })
		require.Equal(w, closed, !lives)
	}, zktest.WithServers(3))
}
