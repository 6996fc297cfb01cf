// What is logged, and what errors say, over a session with a namespace: absolute paths.

package session_test

import (
	"errors"
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
		for name, call := range operations(s, "/none/a") {
			err := call(w.ctx)
			var oe *session.OpError
			if !errors.As(err, &oe) || oe.Path == "" {
				continue
			}
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
		log.lines()
		c.End(h, session.ErrDeleted)
		log.reads(w, `WARN msg="a possession is lost" .* path=/app/line/.*`)
		c.hold(w, 1, "/line")
		w.srv.Expire(id(s))
		time.Sleep(time.Minute)
		require.Regexp(w, `has ended".* paths=/app/line/\S+ `, log.lines()[0])
	})
}
