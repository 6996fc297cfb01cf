// What is told of an outage: in the log, and at its end.

package session_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A server that hangs takes connections and answers nothing, so that attempts last for minutes: the
// log tells every thirty seconds that there still is no connection, and what the attempt that is
// under way has seen.
func TestAServerThatHangsIsToldLikeOneThatIsDead(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s := w.open(log.warnings())
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
			still+`3m\d\.\d+`+silent+`(2m\S+|3m0)s since the connect request"`,
		)
		w.srv.Continue(0)
		time.Sleep(time.Minute)
		require.Equal(w, session.Connected, s.Status().State)
		log.lines()
		time.Sleep(time.Hour)
		log.reads(w)
	})
}

// A wait that ends by its context says that there was no connection, for how long, and why. So does
// the status, until there is one again, and with it why the epoch before has ended.
func TestAWaitWithoutAConnectionSaysSo(t *testing.T) {
	const down = `no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused`
	inBubble(t, func(w *world) {
		s := w.open()
		w.srv.Expire(id(s))
		time.Sleep(time.Second)
		require.EqualError(w, s.Status().Cause, session.ErrExpired.Error())
		w.srv.Kill(0)
		cause := errors.New("the shift is over")
		ctx, cancel := context.WithTimeoutCause(w.ctx, 40*time.Second, cause)
		defer cancel()
		calls := make(map[string]<-chan error)
		for name, call := range operations(s, "/a") {
			calls[name] = bubble.Begin(func() error { return call(ctx) })
		}
		for name, done := range calls {
			err := <-done
			require.ErrorIs(w, err, cause, name)
			require.Regexp(w, ": "+down+": the shift is over$", err.Error(), name)
		}
		was := s.Status()
		require.Regexp(w, "^"+down+"; before that: the ZooKeeper session has expired$", was.Cause.Error())
		require.ErrorIs(w, was.Cause, session.ErrExpired)
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, s.Connect(w.ctx))
		require.EqualError(w, s.Status().Cause, session.ErrExpired.Error())
		time.Sleep(time.Second) // what those calls have left under way is answered: its answers would overtake the next one's
		ctx, cancel = context.WithTimeoutCause(w.ctx, time.Second, cause)
		defer cancel()
		defer w.meets(zktest.DropRequest, func(r *zktest.Request) bool { return r.Op == zktest.OpGetData })()
		require.EqualError(w, errOf(s.Get(ctx, "/a")), "get /a: the shift is over", "there was a connection")
	})
}

// The limits of attempts are no end of the caller's context.
func TestAnOutageIsNoEndOfAContext(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.session(session.WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, context.DeadlineExceeded }))
		ctx, cancel := context.WithCancel(w.ctx)
		time.AfterFunc(time.Minute, cancel)
		err := s.Connect(ctx)
		require.ErrorIs(w, err, context.Canceled)
		require.NotErrorIs(w, err, context.DeadlineExceeded)
	})
}

// A close that has to wait for a connection says so at once, and at the end why it was in vain,
// before what follows from it.
func TestACloseInAnOutageSaysWhatItWaitsFor(t *testing.T) {
	type row struct {
		within time.Duration
		upTo   string
		err    string
	}
	each(t, map[string]row{
		"less than the session lives": {2 * time.Second, "2s", `close: no connection to ZooKeeper for 3(\.\d)?s: 192.0.2.1:2181: connection refused: not closed within 2s: .*`},
		"longer":                      {time.Minute, "9s", `close: no connection to ZooKeeper for 10(\.\d)?s: 192.0.2.1:2181: connection refused: .* left to expire: .*`},
	}, func(w *world, r row) {
		var log journal
		s := w.open(log.warnings())
		w.srv.Kill(0)
		time.Sleep(time.Second)
		log.lines()
		done := bubble.Begin(func() error { return s.CloseWithin(r.within) })
		log.reads(w, `WARN msg="waiting for a connection, to close the ZooKeeper session" up_to=`+r.upTo+` cause="no connection to ZooKeeper for 1s: 192.0.2.1:2181: connection refused"`)
		require.Regexp(w, "^"+r.err+"$", (<-done).Error())
		time.Sleep(time.Minute)
	})
}

// A line of the log, and an error, names a server once, whatever the dialer's errors repeat; and an
// error names all servers, with what is wrong with each.
func TestAnOutageNamesEachServerOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s := w.session(log.logger())
		for i := range w.srv.Hosts() {
			w.srv.Kill(i)
		}
		err := s.Connect(w.within(40 * time.Second))
		require.Regexp(w, `^connect: no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused; 192.0.2.2:2181: connection refused: context deadline exceeded$`, err.Error())
		require.Regexp(w, `^no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused; 192.0.2.2:2181: connection refused$`, s.Status().Cause.Error())
		require.ErrorIs(w, err, syscall.ECONNREFUSED)
		require.Contains(w, log.String(), `server=192.0.2.`)
		for line := range strings.Lines(log.String()) {
			for _, host := range w.srv.Hosts() {
				require.LessOrEqual(w, strings.Count(line, host), 1, line)
			}
		}
	}, zktest.WithServers(2))
}
