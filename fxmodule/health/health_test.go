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

	"github.com/troupe-go/troupe/fxmodule/health"
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
		probes := func(when string, ready, live int, text string) {
			t.Helper()
			for _, probe := range []struct {
				handler http.Handler
				code    int
			}{{health.Ready(s), ready}, {health.Live(s), live}} {
				w := httptest.NewRecorder()
				probe.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
				require.Equal(t, probe.code, w.Code, when)
				require.Equal(t, text, strings.TrimSpace(w.Body.String()), when)
			}
		}
		probes("before the start", 503, 200, "connecting")
		require.NoError(t, s.Connect(t.Context()))
		probes("connected", 200, 200, "connected")
		heal := server.Partition(s.Status().SessionID)
		time.Sleep(time.Hour)
		w := httptest.NewRecorder()
		health.Ready(s).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		require.Equal(t, 503, w.Code)
		require.Regexp(t, `^untrusted: no connection to ZooKeeper for \S+: `+server.Hosts()[0]+`: `, w.Body.String())
		heal()
		time.Sleep(time.Minute)
		probes("back", 200, 200, "connected")
		require.NoError(t, s.Close(context.Background()))
		require.Equal(t, session.Closed, s.Status().State)
		w = httptest.NewRecorder()
		health.Live(s).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/", nil))
		require.Equal(t, 503, w.Code)
		require.Contains(t, w.Body.String(), session.ErrClosed.Error())
		w = httptest.NewRecorder()
		health.Ready(s).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		require.Equal(t, 503, w.Code)
	})
}
