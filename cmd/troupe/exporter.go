package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

func exporter(a *app) *cobra.Command {
	e, listen := exporting{app: a, queues: map[string]bool{}, contended: map[string]bool{}, failed: map[string]int{}}, ""
	cmd := a.command("exporter", "Report queues, locks and elections to Prometheus", func(ctx context.Context, s *session.Session, _ []string) error {
		e.s = s
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		fmt.Fprintf(a.out, "listening on http://%s/metrics\n", l.Addr())
		mux := http.NewServeMux()
		mux.HandleFunc("GET /metrics", e.scrape)
		server := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		err = server.Serve(l)
		return choose(errors.Is(err, http.ErrServerClosed), nil, err)
	})
	cmd.Long = `Serve /metrics: of queues the items by state, the age of the oldest that waits, and the dead letters; of locks and elections the contenders,
holders included. One process is enough. It reads when Prometheus asks, at most once in 10 s. A path that does not exist is empty. One that
can't be read, or not within 9 s with all others, is missing, and counted in troupe_exporter_failures_total; the log has its first error.`
	for name, paths := range map[string]map[string]bool{"queue": e.queues, "contenders": e.contended} {
		cmd.Flags().Func(name, "a `path`; may be repeated", func(path string) error {
			paths[path] = true
			return znode.Validate(path)
		})
	}
	cmd.Flags().StringVar(&listen, "listen", "localhost:9281", "address; port 0 takes a free port")
	cmd.MarkFlagsOneRequired("queue", "contenders")
	return cmd
}

// reported are the metrics, in the order in which they are written.
var reported = []struct{ name, kind, help string }{
	{"troupe_queue_depth", "gauge", "items of the queue, by state"},
	{"troupe_queue_oldest_age_seconds", "gauge", "age of the oldest item that waits"},
	{"troupe_queue_dead", "gauge", "dead letters of the queue"},
	{"troupe_contenders", "gauge", "contenders of the lock or election, holders included"},
	{"troupe_exporter_failures_total", "counter", "readings of the path that failed"},
}

type exporting struct {
	*app
	s                 *session.Session
	queues, contended map[string]bool
	mu                sync.Mutex // guards what follows
	last              time.Time  // the end of the last reading
	text              string     // what it found
	failed            map[string]int
}

func (e *exporting) scrape(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprint(w, e.read(context.WithoutCancel(r.Context())))
}

// read returns the samples of all paths, at most 10 s old.
func (e *exporting) read(ctx context.Context) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.last) < 10*time.Second {
		return e.text
	}
	ctx, cancel := context.WithTimeout(ctx, 9*time.Second) // Prometheus waits for 10 s
	defer cancel()
	found := map[string]string{}
	add := func(metric, path, more string, value any) {
		label := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.s.Path(path)) // %q has escapes that the format does not have
		found[metric] += fmt.Sprintf("%s{path=\"%s\"%s} %v\n", metric, label, more, value)
	}
	for _, path := range slices.Sorted(maps.Keys(e.queues)) {
		if _, is, letters, err := counted(ctx, &app{log: io.Discard}, e.s, path); e.reads(path, err) {
			add("troupe_queue_depth", path, `,state="claimed"`, is.Claimed)
			add("troupe_queue_depth", path, `,state="delayed"`, is.Delayed)
			add("troupe_queue_depth", path, `,state="waiting"`, is.Waiting)
			add("troupe_queue_oldest_age_seconds", path, "", choose(is.Oldest.IsZero(), 0, max(0, time.Since(is.Oldest).Seconds())))
			add("troupe_queue_dead", path, "", letters.Items)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(e.contended)) {
		if names, _, err := e.s.Children(ctx, path); e.reads(path, err) {
			add("troupe_contenders", path, "", len(znode.NewContenders(names).Contenders))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(e.failed)) {
		add("troupe_exporter_failures_total", path, "", e.failed[path])
	}
	e.text = ""
	for _, m := range reported {
		e.text += fmt.Sprintf("# HELP %s %s\n# TYPE %[1]s %[3]s\n%s", m.name, m.help, m.kind, found[m.name])
	}
	e.last = time.Now()
	return e.text
}

// reads counts an error, and logs the first. That a path does not exist is none.
func (e *exporting) reads(path string, err error) bool {
	fails := err != nil && !errors.Is(err, session.ErrNoNode)
	if e.failed[path] += choose(fails, 1, 0); fails && e.failed[path] == 1 {
		e.to.log.Warn("a path can't be read, and is not reported", "path", path, "error", err)
	}
	return !fails
}
