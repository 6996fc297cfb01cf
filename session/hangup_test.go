package session_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// hangsUp lets the servers hang up at the requests that match, as servers do at what they don't
// know and at what is too large for them.
func (w *world) hangsUp(at func(r *zktest.Request) bool) (times func() int) {
	n := 0
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		if !at(r) {
			return zktest.Pass
		}
		n++
		return zktest.CutBefore
	})
	return func() (all int) {
		w.script(func() { all = n })
		return all
	}
}

// ZooKeeper before 3.5 doesn't know containers, nor create2, and hangs up. That is found out twice,
// remembered for the epoch, and parents are made persistent.
func TestAServerWithoutContainersGetsPersistentParents(t *testing.T) {
	inBubble(t, func(w *world) {
		w.hangsUp(func(r *zktest.Request) bool { return r.Op == zktest.OpCreate2 })
		times := w.hangsUp(func(r *zktest.Request) bool { return r.Op == zktest.OpCreateContainer })
		s := w.open()
		t := w.client(s)
		require.NoError(w, t.join(w, 1, session.Join{Parent: "/a/b/line", Name: "lock-"}).Err)
		require.NoError(w, t.join(w, 1, session.Join{Parent: "/c/d/line", Name: "lock-"}).Err)
		require.LessOrEqual(w, times(), 2)
		_, stat, err := s.Get(w.ctx, "/c/d/line")
		require.NoError(w, err)
		require.Zero(w, stat.EphemeralOwner, "not persistent")
		_, err = s.Create(w.ctx, "/container", nil, session.Container())
		require.ErrorIs(w, err, session.ErrUnsupported)
	})
}

// The network may well lose the answers to the first creations of containers, and to the first
// create2. Servers that have create2 have containers, so parents are containers all the same:
// persistent ones would stay for ever.
func TestAnswersThatAreLostMakeNoPersistentParents(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(w *world, s *session.Session) error{
		"of a contender": func(w *world, s *session.Session) error {
			return w.client(s).join(w, 1, session.Join{Parent: "/a/b/line", Name: "lock-"}).Err
		},
		"of a znode": func(w *world, s *session.Session) error {
			_, err := s.Create(w.ctx, "/a/b/line/x", nil, session.Parents(), session.Ephemeral())
			return err
		},
	} {
		for _, lost := range [][2]int{ // creations of containers, and create2
			{1, 0}, {2, 0}, {3, 0}, {5, 0}, {2, 1}, {2, 2}, {3, 2},
		} {
			t.Run(fmt.Sprint(name, " ", lost), func(t *testing.T) {
				inBubble(t, func(w *world) {
					for i, op := range []zktest.Op{zktest.OpCreateContainer, zktest.OpCreate2} {
						left := lost[i]
						w.hangsUp(func(r *zktest.Request) bool {
							if r.Op != op {
								return false
							}
							left--
							return left >= 0
						})
					}
					s := w.open()
					require.NoError(w, add(w, s))
					require.NoError(w, s.Close(w.ctx))
					time.Sleep(5 * time.Minute)
					require.NotContains(w, w.srv.Dump(), "/a", "it is no container")
				})
			})
		}
	}
}

// A request at which servers hang up is asked three times, with pauses, and ends with an error that
// says so; eight times if every server knows its like, since it may be the network then. The
// session goes on.
func TestARequestAtWhichServersHangUpIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op    zktest.Op
		usual bool
		ask   func(w *world, s *session.Session, t *client) error
	}{
		"joining": {zktest.OpCreate2, true, func(w *world, s *session.Session, t *client) error {
			return t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Err
		}},
		"ensuring": {zktest.OpCreate, true, func(w *world, s *session.Session, t *client) error {
			return wait(w, func(done func(error)) { t.Ensure(1, "/line/bad", false, nil, done) })
		}},
		"reading":  {zktest.OpGetData, true, func(w *world, s *session.Session, t *client) error { return t.read(w, 1, "/line/bad", false).Err }},
		"watching": {zktest.OpGetData, true, func(w *world, s *session.Session, t *client) error { return t.read(w, 1, "/line/bad", true).Err }},
		"of the application": {zktest.OpGetData, true, func(w *world, s *session.Session, t *client) error {
			_, _, err := s.Get(w.ctx, "/line/bad")
			return err
		}},
		"protected": {zktest.OpCreate, true, func(w *world, s *session.Session, t *client) error {
			_, err := s.Create(w.ctx, "/line/bad", nil, session.Protected())
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(session.WithRetry(session.RetryTimes(8))) // which governs the application's reads
				_, err := s.Create(w.ctx, "/line", nil)
				require.NoError(w, err)
				times := w.hangsUp(func(r *zktest.Request) bool {
					return strings.HasPrefix(r.Path, "/line/") && (r.Op == c.op || r.Op == zktest.OpCreate)
				})
				t := w.client(s)
				begun := time.Now()
				require.ErrorIs(w, c.ask(w, s, t), session.ErrHungUp)
				most := 3
				if c.usual {
					most = 8
				}
				require.LessOrEqual(w, times(), most+2)
				require.Less(w, time.Since(begun), 5*time.Second)
				_, err = s.Create(w.ctx, "/other", nil)
				require.NoError(w, err)
				before := times()
				time.Sleep(time.Hour)
				require.Equal(w, before, times(), "it is still asked")
				require.Empty(w, w.ephemerals(id(s)))
			})
		})
	}
}

// Servers take less than the session was told. What is too large for them is found out, and refused
// before it is sent.
func TestARequestThatIsTooLargeForTheServersIsFoundOut(t *testing.T) {
	inBubble(t, func(w *world) {
		handshakes := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				handshakes++
			}
			return zktest.Pass
		})
		s := w.open()
		_, err := s.Create(w.ctx, "/a", make([]byte, 2000))
		require.NoError(w, err)
		for range 3 {
			_, err = s.Set(w.ctx, "/a", make([]byte, 30_000), -1)
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
		}
		_, _, err = s.Get(w.ctx, "/a")
		require.NoError(w, err)
		before := 0
		w.script(func() { before = handshakes })
		_, err = s.Set(w.ctx, "/a", make([]byte, 30_000), -1)
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.ErrorContains(w, err, "jute.maxbuffer")
		_, err = s.Set(w.ctx, "/a", make([]byte, 9_000), -1)
		require.NoError(w, err)
		joined := w.client(s).join(w, 1, session.Join{Parent: "/line", Name: "lock-", Data: make([]byte, 40_000)})
		require.ErrorIs(w, joined.Err, session.ErrTooLarge)
		w.script(func() { require.Equal(w, before, handshakes, "it was sent") })
		require.EqualValues(w, 1, s.Status().Epoch)
	}, zktest.WithMaxPacket(10_000))
}

// A server answers everything with "authenticate first", and hangs up. The session says why, does
// not storm, and closes at once.
func TestAServerThatInsistsOnAuthentication(t *testing.T) {
	var log bytes.Buffer
	inBubble(t, func(w *world) {
		var handshakes []time.Time
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				handshakes = append(handshakes, time.Now())
				return zktest.Pass
			}
			return zktest.Fail(zktest.ErrAuthRequired)
		})
		s := w.session(session.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		err := s.Connect(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorIs(w, err, session.ErrAuthRequired)
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
		require.Equal(w, 1, strings.Count(log.String(), "level=WARN"), log.String())
		require.Contains(w, log.String(), "insists on authentication")
	})
}

// So does one that begins to insist when there is a session already. What that has standing can't
// be taken away, and Close says so, at once.
func TestAServerThatComesToInsistOnAuthentication(t *testing.T) {
	inBubble(t, func(w *world) {
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

// A request that is under way whenever the connection goes, at somebody else's request that is too
// large, is not taken for the reason.
func TestWhoStandsByIsNotBlamed(t *testing.T) {
	inBubble(t, func(w *world) {
		held := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData && r.Path == "/innocent" && held < 3 {
				held++
				return zktest.DropRequest // and so it is under way when the connection goes
			}
			return zktest.Pass
		})
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		t, innocent := w.client(s), make(chan error, 1)
		t.Read(1, "/innocent", false, func(seen session.Seen) { innocent <- seen.Err })
		for range 3 {
			time.Sleep(50 * time.Millisecond)
			_, err = s.Set(w.ctx, "/a", make([]byte, 30_000), -1)
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
		}
		require.NoError(w, <-innocent)
		w.script(func() { require.Equal(w, 3, held) })
	}, zktest.WithMaxPacket(10_000))
}

// Nor is it however often that happens: in the end it is alone, and answered.
func TestWhoStandsByAtManyLossesIsNotBlamed(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		held, done := 0, make(chan error, 1)
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				if held++; held < 8 {
					return zktest.DropRequest // and so it is under way when the connection goes
				}
			}
			return zktest.Pass
		})
		begun := time.Now()
		w.client(s).Read(1, "/a", false, func(seen session.Seen) { done <- seen.Err })
		for losses := 0; losses < 7; {
			time.Sleep(10 * time.Millisecond)
			var asked int
			w.script(func() { asked = held })
			if asked > losses {
				w.srv.Disconnect(id(s))
				losses++
			}
			require.Less(w, time.Since(begun), 20*time.Second)
		}
		require.NoError(w, <-done)
		w.script(func() { require.Equal(w, 8, held) })
	})
}

// A network on which connections break again and again is no reason to give up on what every server
// knows.
func TestAUsualRequestOutlastsABadNetwork(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		t := w.client(s)
		lost := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData && lost < 6 {
				lost++
				return zktest.CutBefore
			}
			return zktest.Pass
		})
		require.NoError(w, t.read(w, 1, "/a", false).Err)
		w.script(func() { require.Equal(w, 6, lost) })
	})
}
