// What is told of an outage: in the log, and at its end.

package session_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// A server that hangs takes connections and answers nothing, so that attempts last for minutes: the
// log tells every thirty seconds that there still is no connection, and what the attempt that is
// under way has seen.
func TestAServerThatHangsIsToldLikeOneThatIsDead(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s := w.open(session.WithLogger(slog.New(log.handler(slog.LevelWarn))))
		log.reads(w)
		w.srv.Stop(0)
		time.Sleep(200 * time.Second)
		const still = `WARN msg="still no connection to ZooKeeper" epoch=1 %s for=`
		const silent = `s servers="192.0.2.1:2181: no answer for `
		log.reads(w,
			`WARN msg="no connection to ZooKeeper" epoch=1 %s server=192.0.2.1:2181 cause="no answer for 1\.\d+s since the connect request.*"`,
			still+`3\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`1m\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`1m3\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`2m\d\.\d+`+silent+`\S+s since the connect request"`,
			still+`2m3\d\.\d+`+silent+`2m\S+s since the connect request"`,
			still+`3m\d\.\d+`+silent+`2m\S+s since the connect request"`,
		)
		w.srv.Continue(0)
		time.Sleep(time.Minute)
		require.Equal(w, session.Connected, s.Status().State)
		log.lines()
		time.Sleep(time.Hour)
		log.reads(w)
	})
}
