// What may be a slip, and works all the same: the log warns of it.

package session_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// A namespace that is mistyped is made, and the log says so, once.
func TestTheLogTellsOfANamespaceThatWasMade(t *testing.T) {
	inBubble(t, func(w *world) {
		const made = `WARN msg="the namespace did not exist, and was created" namespace=/app/billing`
		var log journal
		for _, want := range [][]string{{made}, nil} {
			s := w.open(session.WithNamespace("/app/billing"), session.WithLogger(slog.New(log.handler(slog.LevelWarn))))
			w.create(s, "/rates", nil, session.Sequential())
			w.create(s, "/a/b", nil, session.Parents(), session.Sequential())
			require.NoError(w, s.EnsurePath(w.ctx, "/"))
			log.reads(w, want...)
		}
	})
}

// A timeout that the servers have cut down, or raised, is told with both values, once.
func TestTheLogTellsOfAnotherTimeout(t *testing.T) {
	type row struct{ asked, given time.Duration }
	each(t, map[string]row{"cut": {time.Hour, 40 * time.Second}, "raised": {time.Second, 4 * time.Second}, "as asked": {10 * time.Second, 0}}, func(w *world, r row) {
		var log journal
		s := w.open(session.WithTimeout(r.asked), session.WithLogger(slog.New(log.handler(slog.LevelWarn))))
		if r.given == 0 {
			log.reads(w)
			return
		}
		log.reads(w, fmt.Sprintf(`WARN msg="the servers have given another session timeout than was asked for" %%s epoch=1 asked=%v given=%v`, r.asked, r.given))
		w.srv.Expire(id(s))
		time.Sleep(time.Minute)
		require.NotContains(w, strings.Join(log.lines(), " "), "another session timeout")
	})
}
