// Package health answers the probes of an orchestrator with the state of a session, an election or
// a consumer. It needs no fx.
//
//	mux.Handle("/ready", health.Ready(sess, health.WithGrace(30*time.Second)))
//	mux.Handle("/live", health.Live(sess))
//	mux.Handle("/leading", health.Leading(candidate))
//
// Every handler answers GET and HEAD, and refuses other methods with 405. The body is a line of
// plain text that says why, without a credential; what it says is not cached. No handler asks
// ZooKeeper anything.
package health

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// Option configures [Ready], whose answers name an option that is not valid.
type Option func(*config) error

type config struct{ grace time.Duration }

// WithGrace lets [Ready] answer 200 for that long after the session was connected last, unless it
// is closed. Without it, a short outage of ZooKeeper takes all processes out of service at once.
// The grace begins when the session notices that it is cut off. Before the first connection there
// is none. The default is 0; a negative one is not valid.
func WithGrace(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return fmt.Errorf("WithGrace: %v is negative", d)
		}
		c.grace = d
		return nil
	}
}

// Ready answers 200 while the session is connected to ZooKeeper, and within the grace of
// [WithGrace]; and 503 otherwise. The body has the state, and why there is no connection. Use it
// for the probe that decides whether this process gets requests, unless the service can answer them
// without ZooKeeper. With an option that is not valid every answer is 503 and names it, and the
// session's log has it once.
func Ready(s *session.Session, opts ...Option) http.Handler {
	var c config
	err := seam.Apply(&c, opts)
	if err != nil && s != nil {
		seam.Logger.(func(*session.Session) *slog.Logger)(s).Error("an option of a probe is not valid: it answers 503", "error", err)
	}
	connectedAt := seam.ConnectedAt.(func(*session.Session) time.Time)
	return probe(s, func(s *session.Session) (bool, string) {
		if err != nil {
			return false, err.Error()
		}
		is := s.Status()
		text := is.State.String()
		if is.Server == "" && is.State != session.Closed && is.Cause != nil {
			text += ": " + is.Cause.Error()
		}
		if is.State == session.Connected || is.State == session.Closed {
			return is.State == session.Connected, text
		}
		return time.Since(connectedAt(s)) < c.grace, text // before the first connection that is long
	})
}

// Live answers 200 until the session has ended for good (session.Session.Done), and 503 from then
// on, with the cause in the body. Use it for the probe whose failure restarts the process. It never
// depends on ZooKeeper: it answers 200 during an outage of any length, since restarting every
// process would not end that.
func Live(s *session.Session) http.Handler {
	return probe(s, func(s *session.Session) (bool, string) {
		if err := s.Err(); err != nil {
			return false, err.Error()
		}
		return true, s.Status().State.String()
	})
}

// Leading answers 200 while this process leads, and 503 otherwise. It asks the candidate at each
// request, so it answers 503 from the instant on at which the term is no longer valid
// (session.Hold.Valid). Between two processes this decides nothing: the answer may be old when it
// arrives. Why it does not lead, a request cannot tell: [election.Election.ObserveStatus] has the
// candidate's state, and [Ready] that of the session. Do not use it for the readiness of all
// processes of an election, since one at a time leads, and a rolling update waits for the others in
// vain.
func Leading(e *election.Election) http.Handler {
	return probe(e, func(e *election.Election) (bool, string) {
		if t := e.Term(); t != nil && t.Valid() {
			return true, "leading"
		}
		if err := e.Err(); err != nil {
			return false, "not leading: " + err.Error()
		}
		return false, "not leading"
	})
}

// Consuming answers 200 until the consumer has ended (queue.Consumer.Done), and 503 from then on,
// with the cause in the body. A consumer outlives outages of ZooKeeper.
func Consuming(c *queue.Consumer) http.Handler {
	return probe(c, func(c *queue.Consumer) (bool, string) {
		if err := c.Err(); err != nil {
			return false, err.Error()
		}
		return true, "consuming"
	})
}

// probe answers with what is said of the thing at each request. Nothing can be said of nil.
func probe[T any](of *T, say func(*T) (well bool, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		well, text := false, fmt.Sprintf("nil %T", of)
		if of != nil {
			well, text = say(of)
		}
		if !well {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, text+"\n") // the probe may have hung up
	})
}
