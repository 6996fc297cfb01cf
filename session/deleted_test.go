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
	const up = `INFO msg="connected to ZooKeeper".*`
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
		}, []string{lost, up}},
		"it is closed": {func(w *world, s *session.Session) { require.NoError(w, s.Close(w.ctx)) }, []string{lost}},
		"it has expired": {func(w *world, s *session.Session) {
			w.srv.Expire(id(s))
			time.Sleep(time.Minute)
		}, []string{
			`WARN msg="the ZooKeeper session has ended" %s epoch=1 possessions=1 paths=/line/\S+ cause="[^"]* has expired" silent=.*s`,
			up, `.* msg="a ZooKeeper session has begun" %s epoch=2 .*`,
		}},
	}, func(w *world, row row) {
		var log journal
		s, t, h := w.holding(session.WithLogger(slog.New(log.handler(slog.LevelInfo))))
		time.Sleep(time.Second)
		log.lines()
		t.End(h, session.ErrDeleted)
		synctest.Wait()
		require.ErrorIs(w, h.Err(), session.ErrDeleted)
		log.reads(w)
		row.then(w, s)
		log.reads(w, row.want...)
	})
}

// The answer to what was asked before the deletion may have been on its way since before it.
func TestAnEarlierAnswerProvesNothingAfterADeletion(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s, t, h := w.holding(session.WithLogger(slog.New(log.handler(slog.LevelWarn))))
		defer w.srv.Slow(id(s), 100*time.Millisecond)()
		created := make(chan error, 1)
		go func() { // ends with the answer
			_, err := s.Create(w.ctx, "/other", nil)
			created <- err
		}()
		time.Sleep(50 * time.Millisecond)
		t.End(h, session.ErrDeleted)
		require.NoError(w, <-created)
		log.reads(w)
		time.Sleep(2 * time.Second)
		log.reads(w, `WARN msg="a possession is lost".*`)
	})
}

// What was lost is named as everywhere in the log: the recipe alone, and the absolute path.
func TestADeletionIsLoggedWithItsAbsolutePath(t *testing.T) {
	type row struct {
		then func(w *world, s *session.Session)
		want string
	}
	each(t, map[string]row{
		"while the session lives": {func(w *world, s *session.Session) { w.create(s, "/other", nil) }, ` recipe=test path=/app/line/\S+ `},
		"with the session":        {func(w *world, s *session.Session) { w.srv.Expire(id(s)) }, ` possessions=1 paths=/app/line/\S+ `},
	}, func(w *world, row row) {
		var log journal
		s := w.open(session.WithNamespace("/app"), session.WithLogger(slog.New(log.handler(slog.LevelWarn))))
		t := &client{}
		var err error
		t.Client, err = s.Client("test:/line", t.take)
		require.NoError(w, err)
		h := t.hold(w, 1, "/line")
		time.Sleep(time.Second)
		log.lines()
		t.End(h, session.ErrDeleted)
		row.then(w, s)
		time.Sleep(10 * time.Second)
		require.Regexp(w, row.want, log.lines()[0])
	})
}
