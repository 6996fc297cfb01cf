package work

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/troupe-go/troupe/debug"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
)

// watched are options that have each session tell its events: to a function that checks their
// order, to one that never returns, until forever closes, and to OpenTelemetry. See look.
func (e *env) watched(forever <-chan struct{}) []session.Option {
	e.metrics = sdkmetric.NewManualReader()
	meters, tracers := sdkmetric.NewMeterProvider(sdkmetric.WithReader(e.metrics)), sdktrace.NewTracerProvider(sdktrace.WithSyncer(nil))
	var mu sync.Mutex
	watches := make(map[*session.Session]*watch)
	return []session.Option{
		telemetry.Option(meters, tracers),
		session.WithEvents(func(*session.Session, session.Event) { <-forever }),
		session.WithEvents(func(s *session.Session, ev session.Event) {
			mu.Lock()
			w := watches[s]
			if w == nil {
				w = &watch{given: make(map[possession]uint64), was: make(map[possession]bool), waits: make(map[possession]int)}
				watches[s] = w
			}
			if ev.Kind == session.EventClosed {
				delete(watches, s)
			}
			mu.Unlock()
			if wrong := w.see(ev); wrong != "" {
				e.failed("events", fmt.Errorf("%s: %+v", wrong, ev))
			}
		}),
	}
}

// look does what operators do all the time: it collects the metrics, and asks for the page and for
// a snapshot.
func (e *env) look(ctx context.Context) {
	var metrics metricdata.ResourceMetrics
	if err := e.metrics.Collect(context.WithoutCancel(ctx), &metrics); err != nil {
		e.failed("metrics", err)
	}
	page := httptest.NewRecorder()
	debug.Handler(e.sess).ServeHTTP(page, httptest.NewRequestWithContext(ctx, http.MethodGet, "/?all", nil))
	if page.Code != http.StatusOK {
		e.failed("page", errors.New(page.Body.String()))
	}
	for _, h := range e.sess.Snapshot().Held {
		if h.Path == "" || h.Token == 0 || h.Since.IsZero() {
			e.failed("snapshot", fmt.Errorf("held: %+v", h))
		}
	}
}

// watch is what the events of a session have told so far.
type watch struct {
	began, ended, dropped uint64                // epochs, and events
	given                 map[possession]uint64 // that have not ended, with their epochs
	was                   map[possession]bool   // given, ever: a downgrade gives the token again
	waits                 map[possession]int    // without an answer, by recipe, path and name
	closed                bool
}

type possession struct {
	recipe, path, name string // several items may have one token
	token              int64
}

// see takes an event in. It says what is wrong with its order; "": nothing.
func (w *watch) see(ev session.Event) string {
	p := possession{ev.Recipe, ev.Path, ev.Name, ev.Token}
	_, given := w.given[p]
	wait := possession{recipe: ev.Recipe, path: ev.Path, name: ev.Name}
	w.dropped += ev.Dropped
	switch {
	case w.closed:
		return "an event after the last one"
	case w.dropped > 0: // what was given may not be known
	case ev.Kind == session.EventGranted, ev.Kind == session.EventItemClaimed:
		if given {
			return "a possession is given twice"
		}
		if ev.Kind == session.EventGranted && !w.was[p] {
			w.waits[wait]--
		}
		w.given[p], w.was[p] = ev.Epoch, true
	case ev.Kind == session.EventWanted:
		w.waits[wait]++
	case ev.Kind == session.EventWithdrawn:
		w.waits[wait]--
	case ev.Kind == session.EventReleased, ev.Kind == session.EventLost, ev.Kind == session.EventItemSettled:
		if !given {
			return "the end of a possession that was not given"
		}
		delete(w.given, p)
	case ev.Kind == session.EventEpochBegan:
		if ev.Epoch <= w.began || w.began != w.ended {
			return "an epoch begins before the end of the one before"
		}
		w.began = ev.Epoch
	case ev.Kind == session.EventEpochEnded:
		w.ended = ev.Epoch
		for of, epoch := range w.given {
			if epoch == ev.Epoch && of.recipe != "queue" {
				return fmt.Sprintf("an epoch ends before the possession %v", of)
			}
		}
	}
	w.closed = ev.Kind == session.EventClosed
	for of, n := range w.waits {
		if w.dropped == 0 && (n < 0 || n > 0 && w.closed) {
			return fmt.Sprintf("%d waits of %v without an answer", n, of)
		}
	}
	return ""
}
