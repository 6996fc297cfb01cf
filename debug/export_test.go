package debug

import (
	"net/http"

	"github.com/troupe-go/troupe/session"
)

// HandlerOf serves the page of fixed snapshots.
func HandlerOf(snapshots ...func() session.Snapshot) http.Handler { return handler(snapshots) }
