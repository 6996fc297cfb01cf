// Many sessions in one process: they share the actor library's system, and nothing else.

package session_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Sessions of the default system live in bubbles of virtual time, side by side, and outside.
func TestSessionsInBubblesAndOutsideShareASystem(t *testing.T) {
	t.Parallel()
	use := func(t *testing.T, s *session.Session) {
		for i := range 20 {
			_, err := s.Create(t.Context(), fmt.Sprintf("/%d", i), nil, session.Parents())
			require.NoError(t, err)
		}
		require.NoError(t, s.Close(t.Context()))
	}
	for i := range 3 {
		t.Run(fmt.Sprint("bubble ", i), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := zktest.Start(t)
				for n := range 3 {
					s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()), session.WithNamespace(fmt.Sprint("/", n)))
					require.NoError(t, err)
					_, err = s.Create(t.Context(), "/before", nil, session.Parents())
					require.NoError(t, err)
					server.Expire(s.Status().SessionID)
					time.Sleep(time.Minute)
					use(t, s)
				}
			})
		})
	}
	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		s, err := session.Open(t.Context(), zktest.Start(t).Servers())
		require.NoError(t, err)
		use(t, s)
	})
}

// A further session takes less than 60 kB, with what the server in this process has for it, and one
// that is closed leaves nothing. Not parallel: it measures the process.
func TestAFurtherSessionIsSmall(t *testing.T) {
	tier.Soak(t)
	const n = 300
	server := zktest.Start(t)
	open := func() *session.Session {
		s, err := session.Open(t.Context(), server.Servers())
		require.NoError(t, err)
		return s
	}
	heap := func() int {
		server.ClearJournal() // it grows with each request
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc + m.StackInuse)
	}
	all := []*session.Session{open()}
	before := heap()
	for range n {
		all = append(all, open())
	}
	each := (heap() - before) / n
	t.Logf("%d bytes a session", each)
	require.Less(t, each, 60_000)
	for _, s := range all {
		require.NoError(t, s.Close(t.Context()))
	}
	clear(all)
	closed := func(times int) int {
		for range times {
			require.NoError(t, open().Close(t.Context()))
		}
		time.Sleep(time.Second) // the closing of a connection may take a tenth of that
		return heap()
	}
	before = closed(1000)
	left := float64(closed(2000)-before) / 2000
	t.Logf("%.0f bytes of each session that was closed", left)
	require.Less(t, left, 64.0)
}
