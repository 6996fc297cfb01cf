// Package debug shows sessions, and what is done with them, on a page for people:
//
//	mux.Handle("/debug/troupe/", debug.Handler(sess))
//
// The page has the state of each session with the trust that is left, what is held, what is waited
// for and who has it, queues, the tree of actors, and the last events. It works without scripts and
// asks ZooKeeper nothing. The package registers nothing and never listens by itself: serve the page
// on an address that only operators reach, since it shows paths, hosts and places in the source. It
// shows no credentials, and cannot change anything.
package debug

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/session"
)

//go:embed page.html style.css
var files embed.FS

var document = template.Must(template.ParseFS(files, "page.html"))

// Handler serves the page of these sessions. It keeps no state: each request gets a
// [session.Session.Snapshot]. It may be mounted at any path, and answers GET and HEAD alone. A
// session that is nil is shown as such.
//
// A section has at most 500 rows, the oldest first, and says how many it leaves out; ?all shows
// them. Texts of more than 200 characters are cut, with their length behind. ?refresh=2 loads the
// page again every 2 seconds, of at most 3,600. ?format=json is the same as JSON, with the names of
// [session.Snapshot] and durations in seconds.
func Handler(sessions ...*session.Session) http.Handler {
	h := make(handler, len(sessions))
	for i, s := range sessions {
		if s != nil {
			h[i] = s.Snapshot
		}
	}
	return h
}

// handler is the snapshots to take; nil for a session that is nil.
type handler []func() session.Snapshot

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-ancestors 'self'")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
		return
	}
	kind, body, err := h.answer(r)
	if err != nil {
		code := http.StatusInternalServerError
		if kind == "" {
			code = http.StatusBadRequest
		}
		http.Error(w, err.Error(), code)
		return
	}
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) //nolint:gosec // html/template has escaped it; the reader may have hung up
}

// answer is the content type, "" if the query is wrong, and the body of an answer. The style sheet
// is a query too, so that the page need not know where it is mounted.
func (h handler) answer(r *http.Request) (kind string, body []byte, err error) {
	query := r.URL.Query()
	if query.Has("style") {
		body, err = files.ReadFile("style.css")
		return "text/css; charset=utf-8", body, err
	}
	p, most := page{Time: time.Now(), All: query.Has("all")}, mostRows
	if p.All {
		most = math.MaxInt
	}
	if text := query.Get("refresh"); text != "" {
		if p.Refresh, err = strconv.Atoi(text); err != nil || p.Refresh < 1 || p.Refresh > slowest {
			return "", nil, fmt.Errorf("refresh: %.80q is no number of seconds from 1 to %d", text, slowest)
		}
	}
	for _, snapshot := range h {
		p.Sessions = append(p.Sessions, viewOf(snapshot, most))
	}
	switch format := query.Get("format"); format {
	case "":
		var text bytes.Buffer
		err = document.Execute(&text, p)
		return "text/html; charset=utf-8", text.Bytes(), err
	case "json":
		body, err = json.Marshal(p) //nolint:musttag // its names are those of the snapshot
		return "application/json", body, err
	default:
		return "", nil, fmt.Errorf("format: %.80q is not json", format)
	}
}
