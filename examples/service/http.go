package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/debug"
	"github.com/troupe-go/troupe/health"
	"github.com/troupe-go/troupe/session"
)

const (
	patience = 5 * time.Second  // with ZooKeeper, in a request; and with requests, at the end
	grace    = 30 * time.Second // for how long an outage of ZooKeeper leaves a process ready
	largest  = 1 << 16          // bytes of a request
)

var errBad = errors.New("no such settings")

func handler(p Parts) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /ready", health.Ready(p.Session, health.WithGrace(grace)))
	mux.Handle("GET /live", health.Live(p.Session))
	mux.Handle("GET /leading", health.Leading(p.Reminder))
	mux.HandleFunc("POST /letters", answer(func(ctx context.Context, body []byte) (any, error) {
		return p.Letters.Put(ctx, body)
	}))
	mux.HandleFunc("PUT /settings", answer(func(ctx context.Context, body []byte) (any, error) {
		now, err := p.Settings.Update(ctx, func(s Settings) (Settings, error) {
			if err := json.Unmarshal(body, &s); err != nil {
				return s, fmt.Errorf("%w: %w", errBad, err)
			}
			return s, nil
		})
		return now.Version, err
	}))
	return mux
}

// operators is what only those who run the service should reach: see -debug.
type operators struct{ http.Handler }

// watched makes a page of the session, and metrics in the form of Prometheus. Troupe reports to the
// provider, as to each that the graph has.
func watched(s *session.Session, registry *prometheus.Registry) operators {
	mux := http.NewServeMux()
	mux.Handle("/debug/troupe/", debug.Handler(s))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return operators{mux}
}

func measured() (*prometheus.Registry, metric.MeterProvider, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, nil, err
	}
	return registry, sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), nil
}

// answer is a handler that calls f with a request's body.
func answer(f func(ctx context.Context, body []byte) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result, err := f(ctx, body)
		if errors.Is(err, errBad) {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintln(w, result) // the client may have hung up
	}
}

// serving runs the service with its HTTP servers. fx stops in the reverse order of these options:
// requests end first, then the workers, then the page and metrics, and the session at last.
func serving(requests, debug string, service fx.Option) fx.Option {
	return fx.Options(served[operators]("listening for operators", debug), service, served[http.Handler]("listening", requests))
}

// served serves a handler of the graph, or not if there is no address; says is the line of the log.
func served[H http.Handler](says, address string) fx.Option {
	if address == "" {
		return fx.Options()
	}
	return fx.Invoke(func(lc fx.Lifecycle, h H, sd fx.Shutdowner, log *slog.Logger) {
		server := &http.Server{Handler: h, ReadHeaderTimeout: patience}
		lc.Append(fx.StartStopHook(
			func(ctx context.Context) error {
				l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
				if err != nil {
					return err
				}
				log.Info(says, "address", l.Addr().String())
				go func() { // ends with the server
					if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
						log.Error("the HTTP server has failed", "error", err)
						_ = sd.Shutdown(fx.ExitCode(1)) // refused only if it is being shut down
					}
				}()
				return nil
			},
			func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				return server.Shutdown(ctx)
			},
		))
	})
}
