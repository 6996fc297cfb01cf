package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/session"
)

type instruments struct {
	// Read when metrics are collected.
	connected, held, waiting, leading, token, watches metric.Int64ObservableGauge
	timeout, trust, age                               metric.Float64ObservableGauge
	active                                            metric.Int64ObservableUpDownCounter
	dropped                                           metric.Int64ObservableCounter
	observed                                          []metric.Observable // all of these
	// Told by events, but for request, which is recorded when metrics are collected.
	transitions, losses, restarts, sent, consumed  metric.Int64Counter
	stall, request, wait, hold, operation, process metric.Float64Histogram

	err error // of making them
}

// put puts an instrument into its place.
func put[I any](o *instruments, to *I) func(I, error) {
	return func(i I, err error) { *to, o.err = i, errors.Join(o.err, err) }
}

// make makes all instruments. It registers nothing.
func (o *observer) make() {
	m, i, unit, about, buckets := o.meter, &o.instruments, metric.WithUnit, metric.WithDescription, metric.WithExplicitBucketBoundaries
	long := buckets(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
	messaging := buckets(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10) // of the conventions
	put(i, &o.connected)(m.Int64ObservableGauge("troupe.session.connected", unit("{connection}"), about("1 while there is a connection to ZooKeeper, and trust")))
	put(i, &o.timeout)(m.Float64ObservableGauge("troupe.session.timeout", unit("s"), about("session timeout, as negotiated")))
	put(i, &o.trust)(m.Float64ObservableGauge("troupe.session.trust.remaining", unit("s"), about("for how long the session may be trusted if nothing more is heard")))
	put(i, &o.transitions)(m.Int64Counter("troupe.session.transitions", unit("{transition}"), about("changes of the session to a state")))
	put(i, &o.stall)(m.Float64Histogram("troupe.session.stall.duration", unit("s"), long, about("how long this process stood still while something was held")))
	put(i, &o.request)(m.Float64Histogram("troupe.request.duration", unit("s"), buckets(seam.RequestBounds...), about("how long requests to ZooKeeper took")))
	put(i, &o.active)(m.Int64ObservableUpDownCounter("troupe.request.active", unit("{request}"), about("requests that are not answered yet")))
	put(i, &o.wait)(m.Float64Histogram("troupe.possession.wait.duration", unit("s"), long, about("how long was waited, until it was given or not wanted any more")))
	put(i, &o.hold)(m.Float64Histogram("troupe.possession.hold.duration", unit("s"), long, about("how long was held what has ended")))
	put(i, &o.held)(m.Int64ObservableGauge("troupe.possession.held", unit("{possession}"), about("what is held")))
	put(i, &o.waiting)(m.Int64ObservableGauge("troupe.possession.waiting", unit("{possession}"), about("what is waited for")))
	put(i, &o.age)(m.Float64ObservableGauge("troupe.possession.hold.age", unit("s"), about("for how long the oldest has been held")))
	put(i, &o.losses)(m.Int64Counter("troupe.possession.losses", unit("{possession}"), about("possessions that ended otherwise than by their release or by Close")))
	put(i, &o.leading)(m.Int64ObservableGauge("troupe.election.leading", unit("{leader}"), about("1 while this process leads")))
	put(i, &o.token)(m.Int64ObservableGauge("troupe.election.token", unit("{token}"), about("fencing token of the term; the greater one is newer")))
	put(i, &o.operation)(m.Float64Histogram("messaging.client.operation.duration", unit("s"), messaging, about("how long puts took")))
	put(i, &o.sent)(m.Int64Counter("messaging.client.sent.messages", unit("{message}"), about("items that were to be put")))
	put(i, &o.consumed)(m.Int64Counter("messaging.client.consumed.messages", unit("{message}"), about("items that were claimed")))
	put(i, &o.process)(m.Float64Histogram("messaging.process.duration", unit("s"), messaging, about("how long items were claimed")))
	put(i, &o.restarts)(m.Int64Counter("troupe.actor.restarts", unit("{restart}"), about("restarts of a recipe after a panic")))
	put(i, &o.watches)(m.Int64ObservableGauge("troupe.watch.count", unit("{watch}"), about("watches that the servers have for the session")))
	put(i, &o.dropped)(m.Int64ObservableCounter("troupe.events.dropped", unit("{event}"), about("events that functions of session.WithEvents did not keep up with")))
	i.observed = []metric.Observable{i.connected, i.held, i.waiting, i.leading, i.token, i.watches, i.timeout, i.trust, i.age, i.active, i.dropped}
}

const election = "election"

// present is what the recipes of one kind and name have, together.
type present struct {
	held, waiting, token int64
	age                  time.Duration
}

// observe reports the present state, and records the requests since the last time.
func (o *observer) observe(s *session.Session, to metric.Observer) {
	snap := s.Snapshot()
	if snap.Status.State == session.Closed {
		return // EventClosed is late, or was dropped
	}
	of, up := o.of(), int64(0)
	if snap.Status.State == session.Connected {
		up = 1
	}
	to.ObserveInt64(o.connected, up, of)
	to.ObserveFloat64(o.timeout, snap.Status.Timeout.Seconds(), of)
	to.ObserveFloat64(o.trust, max(0, snap.Status.TrustedUntil.Sub(snap.Time).Seconds()), of)
	to.ObserveInt64(o.watches, int64(snap.Watches), of)
	to.ObserveInt64(o.dropped, int64(snap.Dropped), of)
	for _, r := range snap.Requests {
		to.ObserveInt64(o.active, int64(r.Active), o.of("troupe.request.op", r.Op))
	}
	o.record(snap.Requests)

	all := make(map[[2]string]*present)
	at := func(recipe, path string) *present {
		key := [2]string{recipe, o.name(s, path)}
		if all[key] == nil {
			all[key] = new(present)
		}
		return all[key]
	}
	for _, r := range snap.Recipes {
		if r.Recipe == election {
			at(r.Recipe, r.Path) // also if it neither leads nor waits
		}
	}
	for _, h := range snap.Held {
		p := at(h.Recipe, h.Path)
		p.held, p.token, p.age = p.held+1, max(p.token, h.Token), max(p.age, snap.Time.Sub(h.Since))
	}
	for _, w := range snap.Waiting {
		at(w.Recipe, w.Path).waiting++
	}
	for key, p := range all {
		of, named := o.of("troupe.recipe", key[0], "troupe.name", key[1]), o.of("troupe.name", key[1])
		to.ObserveInt64(o.held, p.held, of)
		to.ObserveInt64(o.waiting, p.waiting, of)
		to.ObserveFloat64(o.age, p.age.Seconds(), of)
		if key[0] == election {
			to.ObserveInt64(o.leading, p.held, named)
			if p.held > 0 {
				to.ObserveInt64(o.token, p.token, named)
			}
		}
	}
}

// record records the requests that have ended since the last time: those of a bucket as so many
// that took their mean, so that their number, their bucket and their sum are right. Of several
// readers the first one records.
func (o *observer) record(all []session.Requests) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range all {
		for _, e := range r.Ended {
			bucket := fmt.Sprint(r.Op, e.Error, e.UpTo)
			last := o.recorded[bucket]
			if n := e.Count - last.Count; n > 0 { // else another reader may have a later snapshot
				o.recorded[bucket] = e
				of, mean := o.of("troupe.request.op", r.Op, "error.type", e.Error), (e.Took-last.Took).Seconds()/float64(n)
				for range n {
					o.request.Record(context.Background(), mean, of)
				}
			}
		}
	}
}
