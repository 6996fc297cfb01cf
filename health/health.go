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

// Ready answers 200 while the session is connected to ZooKeeper, and 503 otherwise. The body has
// the state, and why there is no connection. Use it for the probe that decides whether this process
// gets requests, unless the service can answer them without ZooKeeper.
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

// Live answers 200 until the session has ended for good (session.Session.Done), and 503 from then
// on, with the cause in the body. Use it for the probe whose failure restarts the process. It
// answers 200 during an outage of ZooKeeper, since restarting every process would not end that.
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
