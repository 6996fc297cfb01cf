package zkconn

import (
	"fmt"
	"log/slog"
)

// hosts tells the library of one server after the other, without end: which is really connected to
// is decided in connect. It never reports the end of a round, since the library would then wait for
// a second and fail what is queued; the pauses are made there too, and the library's end comes at
// the stub.
type hosts struct{ servers []string }

// Init ignores the library's own order.
func (h *hosts) Init([]string) error { return nil }

// Len is the number of servers.
func (h *hosts) Len() int { return len(h.servers) }

// Next is called by the library's loop alone.
func (h *hosts) Next() (server string, retryStart bool) { return h.servers[0], false }

// Connected needs no answer: what a connection was worth is judged when it is lost.
func (h *hosts) Connected() {}

// logger passes on what the library has to say; it is of interest to those who debug alone.
type logger struct{ log *slog.Logger }

// Printf is called by the library.
func (l logger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}
