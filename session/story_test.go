// The log: what an operator reads of losses and their ends, of slips, and how much of it; and that
// it shows absolute paths, as errors do. Helpers: journal in helper_test.go.

package session_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
)

// lines are those of the log since the last call, without time and address.
func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := strings.TrimSpace(j.text.String())
	j.text.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// warnings and infos have a session write it from that level on.
func (j *journal) warnings() session.Option {
	return session.WithLogger(slog.New(j.handler(slog.LevelWarn)))
}

func (j *journal) infos() session.Option {
	return session.WithLogger(slog.New(j.handler(slog.LevelInfo)))
}

func (j *journal) handler(least slog.Level) slog.Handler {
	return slog.NewTextHandler(j, &slog.HandlerOptions{Level: least, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "address" {
			return slog.Attr{}
		}
		return a
	}})
}

// reads fails unless these are the lines of the log since the last call, as regular expressions.
// %s is the session.
func (j *journal) reads(w *harness, want ...string) {
	w.Helper()
	synctest.Wait() // lines are handed over a little later
	lines := j.lines()
	require.Len(w, lines, len(want), strings.Join(lines, "\n"))
	for i, line := range lines {
		require.Regexp(w, "^level="+strings.ReplaceAll(want[i], "%s", "session=0x[0-9a-f]{15}")+"$", line)
	}
}

// Of a loss the log tells what was lost and why, in a warning, and when that was over.
func TestTheLogTellsALossAndItsEnd(t *testing.T) {
	const ended = `WARN msg="trust in the ZooKeeper session has ended, and with it what was held" %s epoch=1 possessions=1 paths=/queue/\S+ `
	const again = `INFO msg="the ZooKeeper session is trusted again" %s epoch=1 after=`
	const over, next = `WARN msg="the ZooKeeper session has ended" %s epoch=1 `, `INFO msg="a ZooKeeper session has begun" %s epoch=2 timeout=10s server=192.0.2.1:2181 after=`
	const up = `INFO msg="connected to ZooKeeper" epoch=[12] server=192.0.2.1:2181 %s timeout=10s after=0s`
	type row struct {
		fails func(w *harness, s *session.Session, t *client, h *session.Hold) (mend func())
		want  []string
	}
	each(t, map[string]row{
		"the server is down": {func(w *harness, _ *session.Session, _ *client, _ *session.Hold) func() {
			w.srv.Kill(0)
			return func() { require.NoError(w, w.srv.Restart(0)) }
		}, []string{
			`WARN msg="no connection to ZooKeeper" epoch=1 %s server=192.0.2.1:2181 cause="connection refused"`,
			ended + `silent=5s stood_still=0s`,
			`WARN msg="still no connection to ZooKeeper" epoch=1 %s for=3[01].*s servers="192.0.2.1:2181: it refuses connections"`,
			`WARN msg="still no connection to ZooKeeper" epoch=1 %s for=1m[012].*s servers="192.0.2.1:2181: it refuses connections"`,
			`INFO msg="connected to ZooKeeper" epoch=1 server=192.0.2.1:2181 %s timeout=10s after=1m5.*s`,
			again + `1m0.*s`,
		}},
		"the network is silent until the session has expired": {func(w *harness, s *session.Session, _ *client, _ *session.Hold) func() {
			return w.srv.Partition(id(s))
		}, []string{
			ended + `silent=5s stood_still=0s server=192.0.2.1:2181`,
			`WARN msg="no connection to ZooKeeper" epoch=1 %s server=192.0.2.1:2181 cause=.*`,
			`WARN msg="still no connection to ZooKeeper" epoch=1 %s for=3[01].*s servers="192.0.2.1:2181: no answer for .*s since the connect request"`,
			over + `cause="[^"]* has expired" silent=1m.*s`,
			up, next + `[15].*s`,
		}},
		"this process stands still": {func(_ *harness, s *session.Session, _ *client, _ *session.Hold) func() {
			session.ShiftMono(s, time.Minute)
			session.ShiftWall(s, time.Minute)
			return func() {}
		}, []string{ended + `silent=1m.*s stood_still=1m0.*s server=192.0.2.1:2181`, again + `.*s`}},
		"the session expires": {func(w *harness, s *session.Session, _ *client, _ *session.Hold) func() {
			w.srv.Expire(id(s))
			return func() {}
		}, []string{over + `possessions=1 paths=/queue/\S+ cause="[^"]* has expired" silent=.*s`, up, next + `.*ms`}},
		"its znode is deleted": {func(_ *harness, _ *session.Session, t *client, h *session.Hold) func() {
			t.End(h, session.ErrDeleted)
			return func() {}
		}, []string{`WARN msg="a possession is lost" %s epoch=1 recipe=test path=/queue/.* token=\d+ cause="the znode was deleted"`}},
		"the connection is lost, under WithStrict": {func(w *harness, s *session.Session, _ *client, _ *session.Hold) func() {
			w.srv.Disconnect(id(s))
			return func() {}
		}, []string{
			`WARN msg="the connection is lost, and with it what was held" %s epoch=1 possessions=1 paths=/queue/\S+`,
			`INFO msg="the connection is back" %s epoch=1 server=192.0.2.1:2181 after=.*ms`, up,
		}},
		"it is given up": {func(_ *harness, _ *session.Session, t *client, h *session.Hold) func() {
			t.End(h, session.ErrReleased)
			return func() {}
		}, nil},
	}, func(w *harness, row row) {
		var log journal
		opts := []session.Option{log.infos()}
		if slices.ContainsFunc(row.want, func(line string) bool { return strings.Contains(line, "the connection is back") }) {
			opts = append(opts, session.WithStrict())
		}
		s, t, h := w.holding(opts...)
		log.reads(w, up, `INFO msg="a ZooKeeper session has begun" %s epoch=1 timeout=10s server=192.0.2.1:2181 after=0s`)
		mend := row.fails(w, s, t, h)
		<-h.Done()
		time.Sleep(time.Minute)
		mend()
		time.Sleep(time.Minute)
		log.reads(w, row.want...)
	})
}

// While there is no connection the log tells servers apart: what is wrong with each.
func TestTheLogTellsWhatIsWrongWithEachServer(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s, err := session.New([]string{"refuses", "silent", "page", "leaderless"}, log.infos(),
			session.WithDialer(func(ctx context.Context, _, addr string) (net.Conn, error) {
				if strings.HasPrefix(addr, "refuses") {
					w.srv.Kill(0)
					return w.srv.Dialer()(ctx, "tcp", w.srv.Hosts()[0])
				}
				ours, theirs := net.Pipe()
				go func() { // ends with the connection
					_, _ = theirs.Read(make([]byte, 512))
					switch host, _, _ := net.SplitHostPort(addr); host {
					case "page":
						_, _ = io.WriteString(theirs, "HTTP/1.1 400 Bad Request\r\n\r\n")
					case "silent":
						_, _ = theirs.Read(make([]byte, 1))
					}
					_ = theirs.Close()
				}()
				return ours, nil
			}))
		require.NoError(w, err)
		session.Start(s)
		time.Sleep(50 * time.Second)
		require.NoError(w, s.Close(w.ctx))
		require.Regexp(w, `servers="leaderless:2181: it hangs up: it has no quorum, or does not accept this client; `+
			`page:2181: it does not speak ZooKeeper's protocol; refuses:2181: it refuses connections; silent:2181: no answer for [0-9.]+s since the connect request"`, strings.Join(log.lines(), "\n"))
	})
}

// Where nothing was held nothing is said of a loss: neither that trust has ended, nor that no
// possession was lost with the session.
func TestTheLogSaysNothingOfALossWhereNothingWasHeld(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s, c := w.openClient(log.infos())
		c.StandBy(1, true)
		heal := w.srv.Partition(id(s))
		time.Sleep(time.Minute)
		heal()
		time.Sleep(time.Minute)
		text := strings.Join(log.lines(), "\n")
		require.Contains(w, text, "the ZooKeeper session has ended")
		require.NotContains(w, text, "trust")
		require.NotContains(w, text, "possessions")
	})
}

// A loss is one line: it has the number of all that was lost, and the paths of the first. A session
// that is idle for long has heard of its server all the same: "silent" does not count from the last
// proof.
func TestALossIsOneLine(t *testing.T) {
	type row struct {
		holds int
		idle  time.Duration
		want  string
	}
	each(t, map[string]row{
		"of many":          {7, 0, ` possessions=7 paths="(/queue/[^ ",]+, ){4}/queue/[^ ",]+" `},
		"of an idle one's": {0, 5 * time.Hour, ` silent=[0-3]\.?\d*m?s`},
	}, func(w *harness, r row) {
		var log journal
		s, t := w.openClient(log.warnings())
		for range r.holds {
			t.hold(w, 1, "/queue")
		}
		time.Sleep(r.idle)
		w.srv.Expire(id(s))
		time.Sleep(time.Minute)
		require.Regexp(w, `has ended".*`+r.want, log.lines()[0])
	})
}

// Of one warning a line a second is logged: the first, and then the last with their number. What is
// about different things is told apart, up to twenty of them. Errors are never held back.
func TestAStormOfWarningsIsALineASecond(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s := w.open(log.warnings())
		for i := range 25 {
			s.Logger().With("i", i).Warn("again")
			s.Logger().Info("never held back")
			time.Sleep(110 * time.Millisecond)
		}
		s.Logger().Warn("another")
		time.Sleep(10 * time.Second)
		s.Logger().Warn("again")
		synctest.Wait()
		require.Equal(w, []string{
			"level=WARN msg=again i=0", "level=WARN msg=again i=9 repeated=9", "level=WARN msg=again i=18 repeated=9", "level=WARN msg=another",
			"level=WARN msg=again i=24 repeated=6", "level=WARN msg=again",
		}, log.lines())
		for i := range 50 {
			s.Logger().Warn("dead", "item", i%25)
			s.Logger().With("path", i%2).Warn("held")
			s.Logger().Error("a bug")
		}
		time.Sleep(10 * time.Second)
		lines := map[string]int{}
		for _, line := range log.lines() {
			level, _, _ := strings.Cut(strings.TrimPrefix(line, "level="), " ")
			_, message, _ := strings.Cut(line, "msg=")
			word, _, _ := strings.Cut(message, " ")
			lines[level+" "+strings.Trim(word, `"`)]++
		}
		// Twenty items and one line for the others, two paths; and after a second each again, with
		// its number.
		require.Equal(w, map[string]int{"WARN dead": 20 + 1 + 21, "WARN held": 2 + 2, "ERROR a": 50}, lines)
	})
}

// Without a logger warnings go to the program's, whichever that is when there is something to say.
// Not parallel: it is the program's.
func TestWithoutALoggerWarningsGoToTheProgramsLog(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	inBubbleHere(t, func(w *harness) {
		s, err := session.New(w.srv.Hosts())
		require.NoError(w, err)
		log := s.Logger().With("a", 1).WithGroup("g").With("b", 2)
		var first, second journal
		for n, to := range []*journal{&first, &second} {
			slog.SetDefault(slog.New(to.handler(slog.LevelDebug)))
			log.Info("of no interest")
			log.Warn(fmt.Sprint("warning ", n))
			synctest.Wait()
		}
		require.Equal(w, []string{`level=WARN msg="warning 0" a=1 g.b=2`}, first.lines())
		require.Equal(w, []string{`level=WARN msg="warning 1" a=1 g.b=2`}, second.lines())
		slog.SetDefault(before)
		require.NoError(w, s.Close(w.ctx))
	})
}

// So do the ends of what was warned of, and nothing else at Info. Not parallel: likewise.
func TestTheProgramsLogGetsTheEndsOfItsWarnings(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	inBubbleHere(t, func(w *harness) {
		var log journal
		slog.SetDefault(slog.New(log.handler(slog.LevelDebug)))
		s, _, h := w.holding()
		for _, fails := range []struct {
			with func()
			want []string
		}{
			{func() {
				w.srv.Kill(0)
				<-h.Done()
				require.NoError(w, w.srv.Restart(0))
			}, []string{
				`WARN msg="no connection to ZooKeeper".*`, `WARN msg="trust in the ZooKeeper session has ended.*`,
				`INFO msg="connected to ZooKeeper" .* after=.*s`, `INFO msg="the ZooKeeper session is trusted again".* after=.*s`,
			}},
			{func() { w.srv.Disconnect(id(s)) }, nil},
			{func() { w.srv.Expire(id(s)) }, []string{`WARN msg="the ZooKeeper session has ended".*`, `INFO msg="a ZooKeeper session has begun".* epoch=2 .*`}},
		} {
			fails.with()
			time.Sleep(10 * time.Second)
			log.reads(w, fails.want...)
		}
		slog.SetDefault(before)
		require.NoError(w, s.Close(w.ctx))
	})
}

// A namespace that is mistyped is made, and the log says so, once.
func TestTheLogTellsOfANamespaceThatWasMade(t *testing.T) {
	inBubble(t, func(w *harness) {
		const made = `WARN msg="the namespace did not exist, and was created" namespace=/app/billing`
		var log journal
		for _, want := range [][]string{{made}, nil} {
			s := w.open(session.WithNamespace("/app/billing"), log.warnings())
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
	each(t, map[string]row{"cut": {time.Hour, 40 * time.Second}, "raised": {time.Second, 4 * time.Second}, "as asked": {10 * time.Second, 0}}, func(w *harness, r row) {
		var log journal
		s := w.open(session.WithTimeout(r.asked), log.warnings())
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

// The path of an error is the caller's, that of its text is ZooKeeper's.
func TestErrorsShowAbsolutePaths(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open(session.WithNamespace("/app"))
		for _, name := range []string{"create", "protected", "get", "children", "set", "delete", "acl", "set acl"} {
			err := operations(s, "/none/a")[name](w.ctx)
			var oe *session.OpError
			require.ErrorAs(w, err, &oe, name)
			require.Equal(w, "/none/a", oe.Path, name)
			require.ErrorContains(w, err, " /app/none/a: ", name)
		}
		require.EqualError(w, errOf(s.Get(w.ctx, "/none")), "get /app/none: the znode does not exist")
		require.ErrorContains(w, errOf(s.Set(w.ctx, "/", nil, 7)), "set /app: ")
	})
}

// A znode may have been deleted with its session, whose end is not known here yet. So the loss is
// logged when the server has answered something that was asked since, or after T/6, or when this
// process closes the session. Done closes at once. The line has the recipe alone, and the absolute
// path, as everywhere in the log.
func TestADeletionIsLoggedWhenTheSessionIsKnownToLive(t *testing.T) {
	const lost = `WARN msg="a possession is lost" %s epoch=1 recipe=test path=/app/queue/\S+ token=\d+ cause="the znode was deleted"`
	const up = `INFO msg="connected to ZooKeeper".*`
	type row struct {
		then func(w *harness, s *session.Session)
		want []string
	}
	each(t, map[string]row{
		"nothing is asked":         {func(w *harness, _ *session.Session) { time.Sleep(10*time.Second/6 - 10*time.Millisecond) }, nil},
		"nothing is asked for T/6": {func(w *harness, _ *session.Session) { time.Sleep(10 * time.Second / 6) }, []string{lost}},
		"the server answers":       {func(w *harness, s *session.Session) { w.create(s, "/other", nil) }, []string{lost}},
		"the session is resumed": {func(w *harness, s *session.Session) {
			w.srv.Disconnect(id(s))
			time.Sleep(time.Second)
		}, []string{lost, up}},
		"it is closed": {func(w *harness, s *session.Session) { require.NoError(w, s.Close(w.ctx)) }, []string{lost}},
		"it has expired": {func(w *harness, s *session.Session) {
			w.srv.Expire(id(s))
			time.Sleep(time.Minute)
		}, []string{
			`WARN msg="the ZooKeeper session has ended" %s epoch=1 possessions=1 paths=/app/queue/\S+ cause="[^"]* has expired" silent=.*s`,
			up, `.* msg="a ZooKeeper session has begun" %s epoch=2 .*`,
		}},
	}, func(w *harness, row row) {
		var log journal
		s, t, h := w.holding(log.infos(), session.WithNamespace("/app"))
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

// The answer to a request that was sent before the deletion may be older than the deletion.
func TestAnEarlierAnswerProvesNothingAfterADeletion(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s, t, h := w.holding(log.warnings())
		defer w.srv.Slow(id(s), 100*time.Millisecond)()
		created := bubble.Begin(func() error { return errOf(s.Create(w.ctx, "/other", nil)) })
		time.Sleep(50 * time.Millisecond)
		t.End(h, session.ErrDeleted)
		require.NoError(w, <-created)
		log.reads(w)
		time.Sleep(2 * time.Second)
		log.reads(w, `WARN msg="a possession is lost".*`)
	})
}
