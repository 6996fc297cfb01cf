package health_test

// The probes, while a session connects, is connected, is cut off, and is over; of an election,
// while a term begins and ends; and of a consumer, until it ends.

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/health"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

func TestMain(m *testing.M) { tier.Main(m) }

func ask(t *testing.T, probe http.Handler, method string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	probe.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
	return w
}

// answer is the text of an answer to GET, which has to have this status.
func answer(t *testing.T, probe http.Handler, code int) string {
	t.Helper()
	w := ask(t, probe, http.MethodGet)
	require.Equal(t, code, w.Code, w.Body)
	return strings.TrimSpace(w.Body.String())
}

func TestProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		s, err := session.New(server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		probes := func(readiness, liveness int, text string) {
			t.Helper()
			require.Equal(t, text, answer(t, health.Ready(s), readiness))
			require.Equal(t, text, answer(t, health.Live(s), liveness))
		}
		probes(503, 200, "connecting")
		require.NoError(t, s.Connect(t.Context()))
		probes(200, 200, "connected")
		heal := server.Partition(s.Status().SessionID)
		time.Sleep(time.Hour)
		require.Regexp(t, `^untrusted: no connection to ZooKeeper for \S+: `+server.Hosts()[0]+`: `, answer(t, health.Ready(s), 503))
		answer(t, health.Live(s), 200)
		heal()
		time.Sleep(time.Minute)
		probes(200, 200, "connected")
		require.NoError(t, s.Close(context.Background()))
		require.Equal(t, session.Closed, s.Status().State)
		require.Contains(t, answer(t, health.Live(s), 503), session.ErrClosed.Error())
		answer(t, health.Ready(s), 503)
	})
}

// The grace lasts from the loss of the connection, also if that is noticed without a probe, and
// across the end of the ZooKeeper session. It is over when the session is closed, and there is none
// before the first connection.
func TestAGraceKeepsAProcessReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const grace = 30 * time.Second
		server := zktest.Start(t)
		s, err := session.New(server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		probe := health.Ready(s, health.WithGrace(grace))
		require.Equal(t, "connecting", answer(t, probe, 503))
		require.NoError(t, s.Connect(t.Context()))

		for range 2 {
			states := s.ObserveStatus(t.Context())
			require.Equal(t, session.Connected, (<-states).State)
			heal := server.Partition(s.Status().SessionID)
			require.NotEqual(t, session.Connected, (<-states).State)
			time.Sleep(grace - 1)
			require.Contains(t, answer(t, probe, 200), "no connection to ZooKeeper")
			answer(t, health.Ready(s), 503)
			time.Sleep(1)
			answer(t, probe, 503)
			heal()
			time.Sleep(time.Minute)
			require.Equal(t, "connected", answer(t, probe, 200))
		}
		require.NoError(t, s.Close(context.Background()))
		answer(t, probe, 503)
	})
}

// A process leads until the instant at which its trust ends, and for each term anew.
func TestLeading(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		s := zksession.Open(w.T, w.Server)
		e, err := election.New(s, "/leader")
		require.NoError(w, err)
		probe := health.Leading(e)
		require.Equal(w, "not leading", answer(w.T, probe, 503))
		term, err := e.Lead(w.Context())
		require.NoError(w, err)
		require.Equal(w, "leading", answer(w.T, probe, 200))

		heal := w.Server.Partition(s.Status().SessionID)
		time.Sleep(time.Until(s.Status().TrustedUntil) - time.Millisecond)
		answer(w.T, probe, 200)
		time.Sleep(time.Millisecond)
		require.Equal(w, "not leading", answer(w.T, probe, 503))
		<-term.Done()
		heal()
		time.Sleep(time.Minute)
		answer(w.T, probe, 503)

		_, err = e.Lead(w.Context())
		require.NoError(w, err)
		answer(w.T, probe, 200)
		require.NoError(w, e.Close(w.Context()))
		require.Regexp(w, `^not leading: .*`+session.ErrClosed.Error(), answer(w.T, probe, 503))
	})
}

func TestConsuming(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		s := zksession.Open(w.T, w.Server)
		q, err := queue.New(s, "/jobs")
		require.NoError(w, err)
		c, err := q.Consume()
		require.NoError(w, err)
		probe := health.Consuming(c)
		heal := w.Server.Partition(s.Status().SessionID)
		time.Sleep(time.Hour)
		require.Equal(w, "consuming", answer(w.T, probe, 200))
		heal()
		require.NoError(w, c.Close(w.Context()))
		require.Contains(w, answer(w.T, probe, 503), session.ErrClosed.Error())
	})
}

// Nobody changes anything with a probe, and nothing keeps an answer.
func TestWhatIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		probe := health.Live(zksession.Open(t, zktest.Start(t)))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := ask(t, probe, method)
			require.Equal(t, http.StatusOK, w.Code, method)
			require.Equal(t, http.Header{
				"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}, "Cache-Control": {"no-store"},
			}, w.Header(), method)
		}
		w := ask(t, probe, http.MethodPost)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		require.Empty(t, w.Body.String())
	})
}

// An option that is not valid is named by each answer, also while the session is connected, and by
// the log once.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := zksession.Open(t, zktest.Start(t), session.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		probe := health.Ready(s, health.WithGrace(-time.Second))
		for range 2 {
			require.Equal(t, "WithGrace: -1s is negative", answer(t, probe, 503))
		}
		synctest.Wait() // the log is written by a goroutine
		require.Equal(t, 1, strings.Count(log.String(), "WithGrace: -1s is negative"), log.String())
		require.Equal(t, "opts[0]: nil", answer(t, health.Ready(s, nil), 503))
	})
	require.Equal(t, "nil *session.Session", answer(t, health.Ready(nil, health.WithGrace(-1)), 503))
	require.Equal(t, "nil *election.Election", answer(t, health.Leading(nil), 503))
}
