// Package health answers the probes of an orchestrator with the state of a session. It needs no fx.
//
//	mux.Handle("/ready", health.Ready(sess))
//	mux.Handle("/live", health.Live(sess))
package health

import (
	"fmt"
	"net/http"

	"github.com/troupe-go/troupe/session"
)

// Ready answers 200 while the session has a connection to ZooKeeper, and 503 otherwise, with the
// state in the body, and why there is no connection: for the probe that decides whether requests
// are sent here. A service that can answer without ZooKeeper does not want it.
func Ready(s *session.Session) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		is := s.Status()
		text := is.State.String()
		if is.Server == "" && is.State != session.Closed && is.Cause != nil {
			text += ": " + is.Cause.Error()
		}
		answer(w, is.State == session.Connected, text)
	})
}

// Live answers 200 until the session is over for good (session.Session.Done), and 503 from then on,
// with the cause in the body: for the probe whose failure restarts the process. An outage of
// ZooKeeper is no such failure: a restart of every process would not end it.
func Live(s *session.Session) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-s.Done():
			answer(w, false, s.Err())
		default:
			answer(w, true, s.Status().State)
		}
	})
}

func answer(w http.ResponseWriter, well bool, text any) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, text) // the probe may have hung up
}
