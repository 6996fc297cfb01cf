// A possession whose znode was deleted: what the log says of it, and when.

package session_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// That a znode was deleted may come of the end of the session, of which word is on its way. So it
// is logged when the server has answered something that was asked since, or after T/6, or when this
// process closes the session. Done closes at once.
func TestADeletionIsLoggedWhenTheSessionIsKnownToLive(t *testing.T) {
	const lost = `WARN msg="a possession is lost" %s epoch=1 recipe=test path=/line/\S+ token=\d+ cause="the znode was deleted"`
	type row struct {
		then func(w *world, s *session.Session)
		want []string
	}
	each(t, map[string]row{
		"nothing is asked":         {func(w *world, _ *session.Session) { time.Sleep(10*time.Second/6 - 10*time.Millisecond) }, nil},
		"nothing is asked for T/6": {func(w *world, _ *session.Session) { time.Sleep(10 * time.Second / 6) }, []string{lost}},
		"the server answers":       {func(w *world, s *session.Session) { w.create(s, "/other", nil) }, []string{lost}},
		"the session is resumed": {func(w *world, s *session.Session) {
			w.srv.Disconnect(id(s))
			time.Sleep(time.Second)
		}, []string{lost}},
		"it is closed": {func(w *world, s *session.Session) { require.NoError(w, s.Close(w.ctx)) }, []string{lost}},
		"it has expired": {func(w *world, s *session.Session) {
			w.srv.Expire(id(s))
			time.Sleep(time.Minute)
		}, []string{
			`WARN msg="the ZooKeeper session has ended" %s epoch=1 possessions=1 paths=/line/\S+ cause="[^"]* has expired" silent=.*s`,
			`.* msg="a ZooKeeper session has begun" %s epoch=2 .*`,
		}},
	}, func(w *world, row row) {
		var log journal
		s, t, h := w.holding(session.WithLogger(slog.New(log.handler(slog.LevelInfo))))
		time.Sleep(time.Second)
		log.reads(w, `INFO msg="a ZooKeeper session has begun".*`)
		t.End(h, session.ErrDeleted)
		synctest.Wait()
		require.ErrorIs(w, h.Err(), session.ErrDeleted)
		log.reads(w)
		row.then(w, s)
		log.reads(w, row.want...)
	})
}
