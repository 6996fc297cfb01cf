package session_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// handshakes are those that the servers have received since the journal was cleared, and how many
// sessions were found to have expired by them.
func (w *world) handshakes() (all, expired int) {
	over := map[int64]bool{}
	for _, r := range w.srv.Journal() {
		if r.Op == zktest.OpConnect {
			all++
			if r.Replied && !r.Served {
				over[r.SessionID] = true
			}
		}
	}
	return all, len(over)
}

// All clients of a server come back at once when it has been restarted, and each handshake costs it
// work, one after the other. Clients that gave up too early would make it work for nothing, and the
// more so the more of them there are. All are back within twice the time that the server needs for
// all of them.
func TestAHerdComesBackInTwiceTheTimeThatItsHandshakesTake(t *testing.T) {
	t.Parallel()
	herds := map[int]time.Duration{300: 20 * time.Millisecond}
	if tier.Soaking() {
		herds[5000] = 2 * time.Millisecond
	}
	for clients, cost := range herds {
		t.Run(fmt.Sprint(clients), func(t *testing.T) {
			inBubble(t, func(w *world) { herd(w, clients, cost) }, zktest.WithJournal(1<<16))
		})
	}
}

func herd(w *world, n int, cost time.Duration) {
	system := actors.New()
	w.Cleanup(func() { require.NoError(w, system.Close(context.Background())) })
	sessions := make([]*session.Session, n)
	for i := range sessions {
		sessions[i] = w.open(session.WithSystem(system), session.WithTimeout(10*time.Second))
	}
	w.srv.Kill(0)
	time.Sleep(time.Second)
	w.srv.SlowHandshakes(cost)
	w.srv.ClearJournal()
	require.NoError(w, w.srv.Restart(0))
	restarted := time.Now()
	var back sync.WaitGroup
	var failed atomic.Int32
	for _, s := range sessions {
		back.Go(func() { // ends when the session is connected, for good or for the epoch that follows
			ctx, cancel := context.WithTimeout(w.ctx, time.Hour)
			defer cancel()
			if err := s.Connect(ctx); err != nil {
				failed.Add(1)
			}
		})
	}
	back.Wait()
	took := time.Since(restarted)
	require.Zero(w, failed.Load(), "clients never came back")
	all, expired := w.handshakes()
	needed := time.Duration(n+expired) * cost // whoever is told that his session has expired has to ask for another one
	w.Logf("%v for %d handshakes, %d of which told of an expiry; in turn %d take %v", took, all, expired, n+expired, needed)
	require.Less(w, took, 2*needed)
	synctest.Wait()
	w.srv.SlowHandshakes(0)
	w.settled(sessions)
}

// settled: nothing of the herd is left over that would let connections go again.
func (w *world) settled(sessions []*session.Session) {
	w.Helper()
	time.Sleep(10 * time.Second)
	w.srv.ClearJournal()
	time.Sleep(10 * time.Second)
	again, _ := w.handshakes()
	require.Zero(w, again, "connections still come and go")
	for _, s := range sessions {
		require.Equal(w, session.Connected, s.Status().State)
	}
}
