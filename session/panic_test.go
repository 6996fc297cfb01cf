// What panics in a session, and connections that refuse deadlines. Helpers: helper_test.go; what
// panics is in export_test.go.

package session_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAPanicInAnAlarmIsNobodyElsesLoss(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		s, a := w.openClient(log.logger())
		var ended atomic.Int32
		for range 3 {
			j := a.inQueue(w)
			_, err := a.Hold(1, j.Path, j.Stat.Czxid, func(error) {
				if ended.Add(1) == 1 {
					panic("when trust ended")
				}
			})
			require.NoError(w, err)
		}
		heal := w.srv.Partition(id(s))
		<-time.After(s.Status().Timeout)
		require.EqualValues(w, 3, ended.Load(), "each of them is told")
		require.Contains(w, log.String(), "when trust ended")
		heal()
		<-time.After(2 * s.Status().Timeout)
		require.Equal(w, session.Connected, s.Status().State)
		require.EqualValues(w, 2, s.Status().Epoch)
	})
}

// A panic in the session's own actor, or in one of its tasks, begins a new epoch: its watches are
// lost with it. The old ZooKeeper session is closed, so that its znodes go at once.
func TestAPanicInTheSessionBeginsAnEpoch(t *testing.T) {
	type row struct {
		where string
		fail  func(s *session.Session, c *client)
	}
	each(t, map[string]row{
		"its actor": {"export_test.go", func(s *session.Session, _ *client) { session.PanicSession(s, "on purpose") }},
		"a task": {"panic_test.go", func(_ *session.Session, c *client) {
			c.Read(1, "/queue", false, func(session.Seen) { panic("on purpose") })
		}},
	}, func(w *harness, r row) {
		var log journal
		s, t := w.openClient(log.logger())
		first := id(s)
		h := t.hold(w, 1, "/queue")
		states := s.WatchData(w.ctx, h.Path())
		require.True(w, newest(w, states).Exists)
		t.told()
		r.fail(s, w.client(s))
		<-h.Done()
		isAll(w, h.Err(), session.ErrRestarted, session.ErrLost)
		synctest.Wait()
		require.Contains(w, log.String(), "on purpose")
		require.Contains(w, log.String(), r.where, "where it happened")
		_, alive := w.srv.Session(first)
		require.False(w, alive, "the old ZooKeeper session is closed, not left to expire")
		require.NoError(w, s.Connect(w.ctx))
		require.Equal(w, []string{"ended 1: " + session.ErrRestarted.Error(), "began 2"}, t.told())
		require.False(w, newest(w, states).Exists)
		w.create(s, h.Path(), nil, session.Parents())
		require.True(w, newest(w, states).Exists, "watches go on")
	})
}

// What was asked when the actor failed is answered all the same: its epoch is over.
func TestReadsAreAnsweredWhenTheSessionPanics(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		heal := w.srv.Isolate()
		set := bubble.Begin(func() error { return errOf(s.Set(w.ctx, "/a", nil, -1)) }) // holds up what is behind it
		synctest.Wait()
		var seen []session.Seen
		for range 3 { // one that arms, two that wait for it
			t.Read(1, "/a", true, func(a session.Seen) { seen = append(seen, a) })
		}
		synctest.Wait()
		require.Empty(w, seen)
		session.PanicSession(s, "on purpose")
		synctest.Wait()
		require.Len(w, seen, 3)
		for _, a := range seen {
			require.ErrorIs(w, a.Err, session.ErrExpired)
		}
		heal()
		require.NoError(w, <-set, "it was sent before, and the farewell runs behind it")
	})
}

func TestASessionThatIsGivenUpEnds(t *testing.T) {
	inBubble(t, func(w *harness) {
		system, _ := actors.New(actors.WithRestarts(actors.Restarts{Limit: 3}))
		s := w.open(session.WithSystem(system))
		bystander := w.open(session.WithSystem(system))
		t := w.client(s)
		h := t.hold(w, 1, "/queue")
		states := s.WatchData(w.ctx, "/queue")
		require.True(w, newest(w, states).Exists)
		for range 4 {
			session.PanicSession(s, errors.New("on purpose"))
			time.Sleep(10 * time.Second)
		}
		<-s.Done()
		require.ErrorIs(w, s.Err(), actors.ErrGivenUp)
		require.ErrorContains(w, s.Err(), "on purpose")
		<-h.Done()
		_, _, err := s.Get(w.ctx, "/")
		isAll(w, err, session.ErrClosed, actors.ErrGivenUp)
		for range states {
			// until it closes
		}
		require.Contains(w, last(t.told()), "session ended: ")
		require.NoError(w, s.Close(w.ctx))
		require.Len(w, w.srv.Sessions(), 1)
		require.NoError(w, bystander.Sync(w.ctx, "/"), "nothing else is touched")
		require.EqualValues(w, 1, bystander.Status().Epoch)
		require.NoError(w, bystander.Close(w.ctx))
		require.NoError(w, system.Close(w.ctx))
	})
}

func TestAPanicInASharedWatchIsItsOwn(t *testing.T) {
	inBubble(t, func(w *harness) {
		system, _ := actors.New(actors.WithRestarts(actors.Restarts{Limit: 3}))
		s := w.open(session.WithSystem(system))
		w.create(s, "/a", []byte("1"))
		states, others := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/a")
		require.Equal(w, "1", string(newest(w, states).Bytes))
		require.True(w, newest(w, others).Exists)
		require.True(w, session.PanicWatchData(s, "/a", "on purpose"))
		w.write(s, "/a", []byte("2"))
		time.Sleep(time.Second)
		require.Equal(w, "2", string(newest(w, states).Bytes), "it goes on")
		require.EqualValues(w, 1, s.Status().Epoch, "and nothing else is touched")

		for range 3 {
			require.True(w, session.PanicWatchData(s, "/a", "on purpose"))
			time.Sleep(10 * time.Second)
		}
		for range states {
			// until it closes
		}
		require.NoError(w, s.Err())
		quiet(w, others)
		again := s.WatchData(w.ctx, "/a")
		require.Equal(w, "2", string(newest(w, again).Bytes), "a new subscription begins anew")
		require.NoError(w, s.Close(w.ctx))
		require.NoError(w, system.Close(w.ctx))
	})
}

func TestASessionEndsWithItsSystem(t *testing.T) {
	inBubble(t, func(w *harness) {
		system, _ := actors.New()
		s, _, h := w.holding(session.WithSystem(system))
		require.NoError(w, system.Close(w.ctx))
		<-s.Done()
		require.ErrorIs(w, s.Err(), session.ErrClosed)
		<-h.Done()
		require.NoError(w, s.Close(w.ctx))
		require.Empty(w, w.srv.Sessions())
	})
}

func TestTheTreeShowsWhatLives(t *testing.T) {
	inBubble(t, func(w *harness) {
		system, _ := actors.New()
		s := w.open(session.WithSystem(system), session.WithNamespace("/ns"))
		ctx := w.Context()
		_ = s.WatchData(ctx, "/a")
		synctest.Wait()
		tree := system.Tree()
		require.Len(w, tree, 1)
		require.Equal(w, "session", tree[0].Kind)
		require.Contains(w, tree[0].Name, "/ns")
		require.Len(w, tree[0].Children, 2)
		require.Equal(w, "session", tree[0].Children[0].Name)
		require.Equal(w, "connected", tree[0].Children[0].Phase)
		require.Equal(w, "data:/a", tree[0].Children[1].Name)
		require.Equal(w, "watching", tree[0].Children[1].Phase)
		require.NoError(w, s.Close(w.ctx))
		require.Empty(w, system.Tree())
		require.NoError(w, system.Close(w.ctx))
	})
}

// curt is a connection that refuses deadlines, as one through SSH does.
type curt struct{ net.Conn }

func (curt) SetDeadline(time.Time) error      { return errors.New("no deadlines") }
func (curt) SetReadDeadline(time.Time) error  { return errors.New("no deadlines") }
func (curt) SetWriteDeadline(time.Time) error { return errors.New("no deadlines") }

func TestAConnectionThatRefusesDeadlinesIsLeftWhenItIsSilent(t *testing.T) {
	inBubble(t, func(w *harness) {
		host := w.srv.Host("a")
		s := w.open(session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := host.Dialer()(ctx, network, addr)
			return curt{conn}, err
		}))
		w.create(s, "/a", nil)
		time.Sleep(time.Hour)
		require.EqualValues(w, 1, s.Status().Epoch)
		heal := host.Partition()
		time.Sleep(s.Status().Timeout)
		require.NotEqual(w, session.Connected, s.Status().State)
		heal()
		time.Sleep(time.Minute)
		require.Equal(w, session.Connected, s.Status().State)
		require.True(w, w.exists(s, "/a"))
	})
}

// A further session takes less than 60 kB, with what the server in this process has for it, and one
// that is closed leaves nothing. Not parallel: it measures the process.
func TestAFurtherSessionIsSmall(t *testing.T) {
	tier.Soak(t)
	const n = 300
	server := zktest.Start(t)
	open := func() *session.Session {
		s, err := session.Open(t.Context(), server.Servers())
		require.NoError(t, err)
		return s
	}
	heap := func() int {
		server.ClearJournal() // it grows with each request
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc + m.StackInuse)
	}
	all := []*session.Session{open()}
	before := heap()
	for range n {
		all = append(all, open())
	}
	each := (heap() - before) / n
	t.Logf("%d bytes a session", each)
	require.Less(t, each, 60_000)
	for _, s := range all {
		require.NoError(t, s.Close(t.Context()))
	}
	clear(all)
	closed := func(times int) int {
		for range times {
			require.NoError(t, open().Close(t.Context()))
		}
		time.Sleep(time.Second) // the closing of a connection may take a tenth of that
		return heap()
	}
	before = closed(1000)
	left := float64(closed(2000)-before) / 2000
	t.Logf("%.0f bytes of each session that was closed", left)
	require.Less(t, left, 64.0)
}
