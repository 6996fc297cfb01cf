package main

// troupe exporter: what it reports, and how often it reads. Its process is in process_test.go.

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// scraper is a run of the exporter with a session, and its log.
func scraper(s *session.Session, log *text, queues, contended []string) *exporting {
	e := &exporting{app: &app{}, s: s, queues: map[string]bool{}, contended: map[string]bool{}, failed: map[string]int{}}
	for _, path := range queues {
		e.queues[path] = true
	}
	for _, path := range contended {
		e.contended[path] = true
	}
	e.to.log = slog.New(slog.NewTextHandler(log, nil))
	return e
}

func (e *exporting) scraped(t *bubble.World) string {
	t.Helper()
	w := httptest.NewRecorder()
	e.scrape(w, httptest.NewRequestWithContext(bubble.Minute(t), http.MethodGet, "/metrics", nil))
	require.Equal(t, "text/plain; version=0.0.4", w.Header().Get("Content-Type"))
	return w.Body.String()
}

// Paths are absolute, as in the metrics of processes. What has not been used yet is empty.
func TestExporterReportsQueuesAndContenders(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		jobs(t)
		queued(t, "/locks/a")
		must(t.Session().Create(bubble.Minute(t), "/app", nil))
		e := scraper(t.Session(), nil, []string{"/jobs", "/no"}, []string{"/locks/a", "/no"})
		same(t, "exporter", e.scraped(t))
		e = scraper(t.Session(session.WithNamespace("/app")), nil, nil, []string{`/a"\`})
		require.Contains(t, e.scraped(t), `troupe_contenders{path="/app/a\"\\"} 0`)
		e = scraper(t.Session(), nil, []string{"/é\u00a0\u200b"}, nil)
		out := e.scraped(t)
		require.NotContains(t, out, `\u`, "the format has no such escape, and Prometheus would refuse all samples")
		require.Contains(t, out, "troupe_queue_dead{path=\"/é\u00a0\u200b\"} 0")
	})
}

// However often it is asked, it reads once in 10 s.
func TestExporterReadsOnceInAWhile(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, _ := queued(t, "/l")
		e := scraper(t.Session(), nil, []string{"/q"}, []string{"/l"})
		first := e.scraped(t)
		require.Contains(t, first, `troupe_contenders{path="/l"} 2`)
		require.NoError(t, holder.Withdraw(bubble.Minute(t)))
		reads := len(t.Server.Journal())
		for range 9 {
			time.Sleep(time.Second)
			require.Equal(t, first, e.scraped(t))
		}
		for _, r := range t.Server.Journal()[reads:] {
			require.NotContains(t, []string{"/l", "/q"}, r.Path)
		}
		time.Sleep(time.Second)
		require.Contains(t, e.scraped(t), `troupe_contenders{path="/l"} 1`)
	}, zktest.WithJournal(10_000))
}

// What cannot be read is missing and counted, and is in the log once. So it is in an outage, and a
// scrape ends within the time that Prometheus waits.
func TestExporterCountsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		alice := t.Session(session.WithAuth("digest", []byte("alice:secret")))
		for _, path := range []string{"/secret", "/secret-queue"} {
			must(alice.Create(bubble.Minute(t), path, nil, session.WithNodeACL(session.AuthACL(session.PermAll)...)))
		}
		must(lock.New(t.Session(), "/l"))
		var log text
		e := scraper(t.Session(), &log, []string{"/secret-queue"}, []string{"/secret", "/l"})
		for n := range 3 {
			out := e.scraped(t)
			for _, path := range []string{"/secret", "/secret-queue"} {
				require.Equal(t, 1, strings.Count(out, `"`+path+`"`), "but for the failures it is missing")
				require.Contains(t, out, `troupe_exporter_failures_total{path="`+path+`"} `+string(rune('1'+n)))
			}
			require.Contains(t, out, `troupe_exporter_failures_total{path="/l"} 0`)
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, 1, strings.Count(log.String(), "path=/secret "), log.String())
		require.Equal(t, 1, strings.Count(log.String(), "path=/secret-queue "), log.String())

		t.Server.Close()
		began := time.Now()
		require.Contains(t, e.scraped(t), `troupe_exporter_failures_total{path="/l"} 1`)
		require.Equal(t, 9*time.Second, time.Since(began))
	})
}

// hungUp is a client that asks, and reads nothing.
type hungUp struct {
	*httptest.ResponseRecorder
	over <-chan struct{}
}

func (h hungUp) Write(p []byte) (int, error) {
	<-h.over
	return len(p), nil
}

// A client that does not read its answer keeps the others from nothing.
func TestExporterWaitsForNoClient(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		e := scraper(t.Session(), nil, nil, []string{"/l"})
		over := make(chan struct{})
		go e.scrape(hungUp{httptest.NewRecorder(), over}, httptest.NewRequestWithContext(bubble.Minute(t), http.MethodGet, "/metrics", nil))
		synctest.Wait()
		defer close(over)
		require.True(t, e.mu.TryLock())
		e.mu.Unlock()
		require.Contains(t, e.scraped(t), `troupe_contenders{path="/l"} 0`)
	})
}

func TestExporterRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, executed("exporter", "--servers", "127.0.0.1:1"), "[queue contenders]")
	require.ErrorContains(t, executed("exporter", "--servers", "127.0.0.1:1", "--queue", "jobs"), "--queue")
	require.ErrorContains(t, executed("exporter", "--servers", "127.0.0.1:1", "--contenders", "/a/"), "--contenders")
}
