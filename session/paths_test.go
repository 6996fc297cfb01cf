// What is logged, and what errors say, over a session with a namespace: absolute paths.

package session_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// The path of an error is the caller's, that of its text is ZooKeeper's.
func TestErrorsShowAbsolutePaths(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithNamespace("/app"))
		for _, name := range []string{"create", "protected", "get", "children", "set", "delete", "acl", "set acl"} {
			err := operations(s, "/none/a")[name](w.ctx)
			var oe *session.OpError
			require.ErrorAs(w, err, &oe, name)
			require.Equal(w, "/none/a", oe.Path, name)
			require.ErrorContains(w, err, " /app/none/a: ", name)
		}
		_, _, err := s.Get(w.ctx, "/none")
		require.EqualError(w, err, "get /app/none: the znode does not exist")
		_, err = s.Set(w.ctx, "/", nil, 7)
		require.ErrorContains(w, err, "set /app: ")
	})
}

func TestTheLogShowsAbsolutePaths(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s, c, h := w.holding(session.WithNamespace("/app"), session.WithLogger(slog.New(log.handler(slog.LevelWarn))))
		log.reads(w, `WARN msg="the namespace did not exist, and was created" namespace=/app`)
		c.End(h, session.ErrDeleted)
		time.Sleep(timeout) // a deletion is told when the session is known to live
		log.reads(w, `WARN msg="a possession is lost" .* path=/app/line/.*`)
		c.hold(w, 1, "/line")
		w.srv.Expire(id(s))
		time.Sleep(time.Minute)
		require.Regexp(w, `has ended".* paths=/app/line/\S+ `, log.lines()[0])
	})
}
