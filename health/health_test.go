package health_test

// The probes, while a session connects, is connected, is cut off, and is over.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/health"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

func TestProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		s, err := session.New(server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		answer := func(probe http.Handler, method string, code int) string {
			t.Helper()
			w := httptest.NewRecorder()
			probe.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
			require.Equal(t, code, w.Code)
			return strings.TrimSpace(w.Body.String())
		}
		probes := func(ready, live int, text string) {
			t.Helper()
			require.Equal(t, text, answer(health.Ready(s), http.MethodGet, ready))
			require.Equal(t, text, answer(health.Live(s), http.MethodGet, live))
		}
		probes(503, 200, "connecting")
		require.NoError(t, s.Connect(t.Context()))
		probes(200, 200, "connected")
		heal := server.Partition(s.Status().SessionID)
		time.Sleep(time.Hour)
		require.Regexp(t, `^untrusted: no connection to ZooKeeper for \S+: `+server.Hosts()[0]+`: `, answer(health.Ready(s), http.MethodGet, 503))
		heal()
		time.Sleep(time.Minute)
		probes(200, 200, "connected")
		require.NoError(t, s.Close(context.Background()))
		require.Equal(t, session.Closed, s.Status().State)
		require.Contains(t, answer(health.Live(s), http.MethodHead, 503), session.ErrClosed.Error())
		answer(health.Ready(s), http.MethodGet, 503)
	})
}
