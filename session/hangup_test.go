// Servers hang up at what they do not know and at what is too large: such a request is given up.
// Helpers: helper_test.go.

package session_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A server without containers, or without create2, says so. That is remembered for the epoch, and
// parents are made persistent.
func TestAServerWithoutContainersGetsPersistentParents(t *testing.T) {
	inBubble(t, func(w *harness) {
		asked := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			switch r.Op {
			case zktest.OpCreateContainer:
				asked++
				return zktest.Fail(zktest.ErrUnimplemented)
			case zktest.OpCreate2:
				return zktest.Fail(zktest.ErrUnimplemented)
			}
			return zktest.Pass
		})
		s, t := w.openClient()
		require.NoError(w, t.join(w, 1, session.Join{Parent: "/a/b/queue", Name: "lock-"}).Err)
		require.NoError(w, t.join(w, 1, session.Join{Parent: "/c/d/queue", Name: "lock-"}).Err)
		w.script(func() { require.Equal(w, 1, asked) })
		_, stat, err := s.Get(w.ctx, "/c/d/queue")
		require.NoError(w, err)
		require.Zero(w, stat.EphemeralOwner, "not persistent")
		w.create(s, "/e/f/g", nil, session.Parents())
		require.ErrorIs(w, errOf(s.Create(w.ctx, "/container", nil, session.Container())), session.ErrUnsupported)
	})
}

// The network may well lose the answers to the first creations of containers, and to the first
// create2. Parents are containers all the same: persistent ones would stay for ever.
func TestAnswersThatAreLostMakeNoPersistentParents(t *testing.T) {
	pairs(t, map[string]func(w *harness, s *session.Session) error{
		"of a contender": func(w *harness, s *session.Session) error {
			return w.client(s).join(w, 1, session.Join{Parent: "/a/b/queue", Name: "lock-"}).Err
		},
		"of a znode": func(w *harness, s *session.Session) error {
			return errOf(s.Create(w.ctx, "/a/b/queue/x", nil, session.Parents(), session.Ephemeral()))
		},
	}, map[string][2]int{ // creations of containers, and create2
		"1, 0": {1, 0}, "2, 0": {2, 0}, "3, 0": {3, 0}, "5, 0": {5, 0}, "2, 1": {2, 1}, "2, 2": {2, 2}, "3, 2": {3, 2},
	}, func(w *harness, add func(w *harness, s *session.Session) error, lost [2]int) {
		for i, op := range []zktest.Op{zktest.OpCreateContainer, zktest.OpCreate2} {
			w.meets(zktest.CutBefore, first(lost[i], func(r *zktest.Request) bool { return r.Op == op }))
		}
		s := w.open()
		require.NoError(w, add(w, s))
		require.NoError(w, s.Close(w.ctx))
		time.Sleep(5 * time.Minute)
		require.NotContains(w, w.srv.Dump(), "/a", "it is no container")
	})
}

// One lost connection is one reason, however many requests were on it.
func TestManyRequestsOnALostConnectionMakeNoPersistentParents(t *testing.T) {
	inBubble(t, func(w *harness) {
		for _, op := range []zktest.Op{zktest.OpCreate2, zktest.OpCreateContainer} {
			w.meets(zktest.CutBefore, first(1, func(r *zktest.Request) bool { return r.Op == op }))
		}
		s := w.open(w.farAway())
		var joining sync.WaitGroup
		for i := range 12 {
			t := w.client(s)
			joining.Go(func() {
				require.NoError(w, t.join(w, 1, session.Join{Parent: fmt.Sprintf("/a/%d/queue", i), Name: "lock-"}).Err)
			})
		}
		joining.Wait()
		require.NoError(w, s.Close(w.ctx))
		time.Sleep(5 * time.Minute)
		require.NotContains(w, w.srv.Dump(), "/a", "it is no container")
	})
}

// A request at which servers hang up is asked eight times, with pauses, and ends with an error that
// says so. So is what goes ahead of it, since a znode above is missing, or the namespace's own. The
// session goes on.
func TestARequestAtWhichServersHangUpIsGivenUp(t *testing.T) {
	type row struct {
		opts []session.Option
		ask  func(w *harness, s *session.Session, t *client) error
	}
	join := func(parent string) func(*harness, *session.Session, *client) error {
		return func(w *harness, _ *session.Session, t *client) error {
			return t.join(w, 1, session.Join{Parent: parent, Name: "lock-"}).Err
		}
	}
	create := func(path string, opts ...session.CreateOption) func(*harness, *session.Session, *client) error {
		return func(w *harness, s *session.Session, _ *client) error {
			return errOf(s.Create(w.ctx, path, nil, opts...))
		}
	}
	namespace := []session.Option{session.WithNamespace("/bad")}
	each(t, map[string]row{
		"joining": {nil, join("/queue")},
		"ensuring": {nil, func(w *harness, _ *session.Session, t *client) error {
			return wait(w, func(done func(error)) { t.Ensure(1, "/queue/bad", false, nil, done) })
		}},
		"reading":            {nil, func(w *harness, _ *session.Session, t *client) error { return t.read(w, 1, "/queue/bad", false).Err }},
		"of the application": {nil, func(w *harness, s *session.Session, _ *client) error { return errOf(s.Get(w.ctx, "/queue/bad")) }},
		"protected":          {nil, create("/queue/bad", session.Protected())},

		"parent of a contender":    {nil, join("/bad/queue")},
		"parent of a path":         {nil, func(w *harness, s *session.Session, _ *client) error { return s.EnsurePath(w.ctx, "/bad/queue") }},
		"parent of a znode":        {nil, create("/bad/a", session.Parents())},
		"namespace of a znode":     {namespace, create("/a")},
		"namespace that is listed": {namespace, func(w *harness, s *session.Session, _ *client) error { return errOf(s.Children(w.ctx, "/")) }},
	}, func(w *harness, row row) {
		w.create(w.open(), "/queue", nil)
		s := w.open(append(row.opts, session.WithRetry(session.RetryTimes(8)))...) // which governs the application's reads
		times := w.hangsUp(func(r *zktest.Request) bool {
			bad := strings.HasPrefix(r.Path, "/queue/") || r.Path == "/bad"
			return bad && (r.Op == zktest.OpGetData || strings.HasPrefix(r.Op.String(), "create"))
		})
		t := w.client(s)
		answer := bubble.Begin(func() error { return row.ask(w, s, t) })
		require.ErrorIs(w, bubble.Within(w, 10*time.Second, answer, "it is asked for ever"), session.ErrHungUp)
		require.LessOrEqual(w, times(), 10, "those of containers among them")
		before := times()
		time.Sleep(time.Hour)
		require.Equal(w, before, times(), "it is still asked")
		require.Empty(w, w.ephemerals(id(s)))
		if row.opts == nil {
			w.create(s, "/other", nil)
		}
		require.EqualValues(w, 1, s.Status().Epoch)
		require.Equal(w, session.Connected, s.Status().State)
	})
}

// Servers take less than the session was told. What is too large for them is found out, and refused
// before it is sent.
func TestARequestThatIsTooLargeForTheServersIsFoundOut(t *testing.T) {
	inBubble(t, func(w *harness) {
		handshakes := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				handshakes++
			}
			return zktest.Pass
		})
		s := w.open()
		w.create(s, "/a", make([]byte, 2000))
		for range 3 {
			require.ErrorIs(w, errOf(s.Set(w.ctx, "/a", make([]byte, 30_000), -1)), session.ErrUnknownOutcome)
		}
		require.NoError(w, errOf(s.Get(w.ctx, "/a")))
		before := 0
		w.script(func() { before = handshakes })
		_, err := s.Set(w.ctx, "/a", make([]byte, 30_000), -1)
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.ErrorContains(w, err, "jute.maxbuffer")
		w.write(s, "/a", make([]byte, 9_000))
		require.ErrorIs(w, w.client(s).join(w, 1, session.Join{Parent: "/queue", Name: "lock-", Data: make([]byte, 40_000)}).Err, session.ErrTooLarge)
		w.script(func() { require.Equal(w, before, handshakes, "it was sent") })
		require.EqualValues(w, 1, s.Status().Epoch)
	}, zktest.WithMaxPacket(10_000))
}

// A server answers everything with "authenticate first", and hangs up. The session says why, does
// not storm, and closes at once.
func TestAServerThatInsistsOnAuthenticationIsNamed(t *testing.T) {
	var log bytes.Buffer
	inBubble(t, func(w *harness) {
		var handshakes []time.Time
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				handshakes = append(handshakes, time.Now())
				return zktest.Pass
			}
			return zktest.Fail(zktest.ErrAuthRequired)
		})
		s := w.session(session.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		err := s.Connect(w.within(75 * time.Second))
		isAll(w, err, context.DeadlineExceeded, session.ErrAuthRequired)
		w.script(func() {
			require.Greater(w, len(handshakes), 10)
			for n := 10; n < len(handshakes); n++ { // by then pauses are as long as they get, and half of that is drawn
				require.GreaterOrEqual(w, handshakes[n].Sub(handshakes[n-1]), 500*time.Millisecond)
			}
		})
		begun := time.Now()
		require.NoError(w, s.Close(w.ctx), "nothing was ever done in its ZooKeeper session")
		require.Zero(w, time.Since(begun))
		synctest.Wait()
		require.Equal(w, 3, strings.Count(log.String(), "level=WARN"), "at first, and every thirty seconds: "+log.String())
		require.Equal(w, 3, strings.Count(log.String(), "insists on authentication"))
	})
}

// So does one that begins to insist when there is a session already. What that has standing can't
// be taken away, and Close says so, at once.
func TestCloseSaysThatAServerInsistsOnAuthentication(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				return zktest.Pass
			}
			return zktest.Fail(zktest.ErrAuthRequired)
		})
		time.Sleep(time.Minute)
		begun := time.Now()
		require.ErrorIs(w, s.Close(w.ctx), session.ErrAuthRequired)
		require.Zero(w, time.Since(begun))
	})
}

// takes limits what the servers take from now on: they hang up at what has more data. raise changes
// that.
func (w *harness) takes(bytes int) (raise func(bytes int), hangUps func() int) {
	hangUps = w.hangsUp(func(r *zktest.Request) bool { return len(r.Data) > bytes })
	return func(to int) { w.script(func() { bytes = to }) }, hangUps
}

// set sets data of that size, and returns what it was told.
func (w *harness) set(s *session.Session, size int) error {
	return errOf(s.Set(w.ctx, "/a", make([]byte, size), -1))
}

// A server's limit is found out, and so is that it was raised: within a minute.
func TestALimitThatIsRaisedIsFoundOut(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/a", make([]byte, 2000))
		raise, hangUps := w.takes(10_000)
		for range 3 {
			require.ErrorIs(w, w.set(s, 30_000), session.ErrUnknownOutcome)
		}
		refused := 0
		for range 3600 {
			time.Sleep(time.Second)
			if err := w.set(s, 30_000); err != nil {
				refused++
			}
		}
		require.Equal(w, 3600, refused)
		require.LessOrEqual(w, hangUps(), 3+60, "one a minute")
		raise(100_000)
		time.Sleep(time.Minute)
		for _, size := range []int{30_000, 20_000, 40_000, 30_000} {
			require.NoError(w, w.set(s, size))
		}
	})
}

// A loss makes a size suspect that has nothing to do with it: not for long, not for each of many
// that went with one connection, and not for smaller ones.
func TestASuspicionOfASizeIsNarrow(t *testing.T) {
	lose := func(w *harness) {
		w.cutOnce(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpSetData })
	}
	each(t, map[string]func(w *harness, s *session.Session){
		"it fades": func(w *harness, s *session.Session) {
			for range 5 { // connections go now and then, each time with a large request on them
				time.Sleep(time.Hour)
				lose(w)
				require.ErrorIs(w, w.set(s, 30_000), session.ErrUnknownOutcome)
			}
			require.NoError(w, w.set(s, 30_000), "right behind the last loss")
		},
		"one lost connection is one suspicion": func(w *harness, s *session.Session) {
			lose(w)
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() { require.ErrorIs(w, w.set(s, 30_000+i), session.ErrUnknownOutcome) })
			}
			all.Wait()
			require.NoError(w, w.set(s, 40_000))
		},
		"it is not of smaller ones": func(w *harness, s *session.Session) {
			lose(w)
			require.ErrorIs(w, w.set(s, 3_000), session.ErrUnknownOutcome) // once, whatever the reason
			w.takes(10_000)
			for range 3 {
				require.Error(w, w.set(s, 30_000))
			}
			require.ErrorIs(w, w.set(s, 30_000), session.ErrTooLarge)
			require.NoError(w, w.set(s, 3_000), "servers take it")
			for range 100 { // asked for again and again
				time.Sleep(time.Second)
				require.Error(w, w.set(s, 30_000))
			}
			require.NoError(w, w.set(s, 4_000))
		},
	}, func(w *harness, test func(w *harness, s *session.Session)) {
		s := w.open(w.farAway())
		w.create(s, "/a", nil)
		test(w, s)
	})
}

// bystanders are requests of others, the nth of their kind. On the way to servers that are far away
// they take their time, so that they are under way whenever the connection goes.
var bystanders = map[string]func(w *harness, s *session.Session, n int) error{
	"read by the application": func(w *harness, s *session.Session, n int) error { return errOf(s.Get(w.ctx, "/others/one")) },
	"create that is protected": func(w *harness, s *session.Session, n int) error {
		return errOf(s.Create(w.ctx, fmt.Sprint("/others/new-", n), nil, session.Protected()))
	},
	"large create that is protected": func(w *harness, s *session.Session, n int) error {
		return errOf(s.Create(w.ctx, fmt.Sprint("/others/new-", n), make([]byte, 5_000), session.Protected()))
	},
	"read": func(w *harness, s *session.Session, n int) error {
		return w.client(s).read(w, 1, "/others/one", false).Err
	},
	"watch": func(w *harness, s *session.Session, n int) error {
		return w.client(s).read(w, 1, fmt.Sprint("/others/one-", n), true).Err
	},
	"contender": func(w *harness, s *session.Session, n int) error {
		return w.client(s).join(w, 1, session.Join{Parent: "/others", Name: "lock-"}).Err
	},
}

// away is how far the servers are: what one has answered is lost if it hangs up meanwhile.
const away = 20 * time.Millisecond

func (w *harness) farAway() session.Option {
	host := w.srv.Host("far away")
	host.Slow(away)
	return session.WithDialer(host.Dialer())
}

// One request at which servers hang up is tried, and given up. No other request suffers: not what
// is held in the session, nor those whose requests are under way each time that the connection
// goes.
func TestARequestAtWhichServersHangUpHarmsNobodyElse(t *testing.T) {
	pairs(t, poisons, bystanders, (*harness).poisoned)
}

// poisons are requests at which servers hang up. The create finds out, before it is sent again,
// whether it was carried out, and so comes later.
var poisons = map[string]func(w *harness, s *session.Session) error{
	"read": func(w *harness, s *session.Session) error { return w.client(s).read(w, 1, "/poison", false).Err },
	"create": func(w *harness, s *session.Session) error {
		return errOf(s.Create(w.ctx, "/poison", nil, session.Protected()))
	},
}

func (w *harness) poisoned(poison func(w *harness, s *session.Session) error, ask func(w *harness, s *session.Session, n int) error) {
	const others = 10
	s := w.open(w.farAway())
	for _, path := range []string{"/others", "/others/one"} {
		w.create(s, path, nil)
	}
	held := w.client(s).hold(w, 1, "/queue")
	hangUps := w.hangsUpSlowly(func(r *zktest.Request) bool { return strings.HasSuffix(r.Path, "poison") })
	answers := make(chan error, others)
	for n := range others {
		go func() { answers <- ask(w, s, n) }()
	}
	synctest.Wait() // they are on their way
	require.ErrorIs(w, poison(w, s), session.ErrHungUp)
	require.True(w, held.Valid())
	for range others {
		require.NoError(w, <-answers)
	}
	require.True(w, held.Valid())
	require.NoError(w, held.Err())
	require.LessOrEqual(w, hangUps(), 10) // eight, see mostLosses in request.go, and two for which others were blamed
	require.EqualValues(w, 1, s.Status().Epoch)
}

// hangsUpSlowly lets the servers hang up at the requests that match, and take in nothing that comes
// behind.
func (w *harness) hangsUpSlowly(at func(r *zktest.Request) bool) (times func() int) {
	n, deaf := 0, false
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case r.Op == zktest.OpConnect:
			deaf = false
		case at(r):
			n++
			deaf = true
			time.AfterFunc(away/2, func() { w.srv.Disconnect(r.SessionID) })
		}
		if deaf {
			return zktest.DropRequest
		}
		return zktest.Pass
	})
	return func() (all int) {
		w.script(func() { all = n })
		return all
	}
}
