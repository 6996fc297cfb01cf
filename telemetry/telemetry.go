// Package telemetry reports what a session and its recipes do to OpenTelemetry.
//
//	sess, err := session.New(servers, telemetry.Option(meterProvider, tracerProvider))
//
// docs/observability.md lists all instruments, their attributes and the spans. Those of queues are
// of OpenTelemetry's semantic conventions for messaging, version 1.43.0, in which they are in
// development. No attribute contains data, a credential or the text of an error.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	meternoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/session"
)

const (
	scope      = "github.com/troupe-go/troupe/telemetry"
	version    = "https://opentelemetry.io/schemas/1.43.0" // of the conventions
	mostNames  = 100
	mostPaths  = 4096
	nameLength = 255
)

// Setting changes what [Option] reports.
type Setting func(*observer) error

// WithSessionName gives everything that is reported of the session the attribute
// troupe.session.name. Of two sessions with the same providers one needs a name: gauges would else
// show the state of either.
func WithSessionName(name string) Setting {
	return func(o *observer) error {
		if o.session = name; name == "" {
			return errors.New("WithSessionName: name: empty")
		}
		return nil
	}
}

// WithNames sets the attribute troupe.name, which says what a recipe is for, in all processes
// alike. f is told the recipe's path, absolute: see [session.Session.Path]. Where it returns "",
// and without this setting, the name is the path, in which GUIDs and numbers are replaced by "#". f
// is called by several goroutines, one at a time, and must not block. A session reports at most 100
// names; the rest are together in "other".
func WithNames(f func(s *session.Session, path string) string) Setting {
	return func(o *observer) error {
		if o.named = f; f == nil {
			return errors.New("WithNames: f: nil")
		}
		return nil
	}
}

// Option is an option of a session, which reports to these providers from its start until it is
// closed. A session that is never started reports nothing. A nil provider stands for none of its
// kind: there are no metrics, or no spans. The option can be used for several sessions: see
// [WithSessionName].
//
// With a TracerProvider, items that are put into a queue have the trace of the context of the Put
// in their headers, "traceparent" and "tracestate", unless the Put sets them: see [Link].
//
// What is present, as what is held, is read when metrics are collected. Counters and histograms are
// told by session.WithEvents, so a moment later; what that drops, they lack, and
// troupe.events.dropped counts. The page docs/observability.md has all names.
func Option(meters metric.MeterProvider, tracers trace.TracerProvider, set ...Setting) session.Option {
	begin := func() (func(*session.Session, session.Event), func(context.Context) []string, error) {
		o := &observer{known: make(map[[4]string]metric.MeasurementOption), names: make(map[string]string), used: make(map[string]bool), recorded: make(map[string]session.RequestsEnded)}
		o.named = func(*session.Session, string) string { return "" }
		if err := seam.Apply(o, set); err != nil {
			return nil, nil, fmt.Errorf("telemetry.Option: %w", err)
		}
		o.tracer = cmp.Or[trace.TracerProvider](tracers, tracenoop.NewTracerProvider()).Tracer(scope, trace.WithSchemaURL(version))
		o.meter = cmp.Or[metric.MeterProvider](meters, meternoop.NewMeterProvider()).Meter(scope, metric.WithSchemaURL(version))
		if o.make(); o.err != nil {
			return nil, nil, fmt.Errorf("telemetry.Option: meters: %w", o.err)
		}
		switch {
		case tracers != nil:
			return o.on, headers, nil
		case meters != nil:
			return o.on, nil, nil
		}
		return nil, nil, nil
	}
	return seam.Hooks.(func(func() (func(*session.Session, session.Event), func(context.Context) []string, error)) session.Option)(begin)
}

// observer reports one session.
type observer struct {
	session string
	named   func(*session.Session, string) string
	meter   metric.Meter
	tracer  trace.Tracer
	instruments

	// Of the hook's goroutine.
	registration metric.Registration // nil: the session was not started
	known        map[[4]string]metric.MeasurementOption

	mu       sync.Mutex        // guards what follows, for the hook and for the readers of metrics
	names    map[string]string // by path, of the latest
	used     map[string]bool   // names
	recorded map[string]session.RequestsEnded
}

// of makes the attributes of a measurement of keys and values by turns, without those that are
// empty.
func (o *observer) of(pairs ...string) metric.MeasurementOption {
	var all []attribute.KeyValue
	for pair := range slices.Chunk(append(pairs, "troupe.session.name", o.session), 2) {
		if pair[1] != "" {
			all = append(all, attribute.String(pair[0], pair[1]))
		}
	}
	return metric.WithAttributes(all...)
}

// about is of for an event of a possession, or of an operation on a queue. It keeps what it made:
// events come often.
func (o *observer) about(s *session.Session, ev *session.Event, operation, failed string) metric.MeasurementOption {
	key := [4]string{ev.Recipe, ev.Path, operation, failed}
	if o.known[key] == nil {
		if len(o.known) >= mostPaths {
			clear(o.known)
		}
		if name := o.name(s, ev.Path); operation == "" {
			o.known[key] = o.of("troupe.recipe", ev.Recipe, "troupe.name", name, "error.type", failed)
		} else {
			o.known[key] = o.of("messaging.system", "troupe", "messaging.operation.name", operation, "messaging.destination.name", name, "error.type", failed)
		}
	}
	return o.known[key]
}

// numbers are GUIDs, other long hexadecimal numbers, and numbers.
var numbers = regexp.MustCompile(`[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{16,}|[0-9]+`)

// name is the name of the recipe at a path.
func (o *observer) name(s *session.Session, path string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if name, known := o.names[path]; known {
		return name
	}
	name := cmp.Or(o.named(s, path), numbers.ReplaceAllString(path, "#"))
	name = strings.ToValidUTF8(name[:min(len(name), nameLength)], "")
	if !o.used[name] && len(o.used) >= mostNames {
		name = "other"
	} else {
		o.used[name] = true
	}
	if len(o.names) >= mostPaths {
		clear(o.names)
	}
	o.names[path] = name
	return name
}
