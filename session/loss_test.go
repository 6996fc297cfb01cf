// An ensemble that has lost its data, or got back an older copy; and ensembles that only seem so.
// Helpers: roads below, helper_test.go; onEnsemble in real_test.go.

package session_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// roads are what the addresses zk0 to zk2 lead to.
type roads struct {
	mu sync.Mutex
	to [3]place
}

// place is one of several servers that share a tree.
type place struct {
	srv *zktest.Server
	i   int
}

func (r *roads) lead(to ...place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.to {
		r.to[i] = to[i%len(to)]
	}
}

func (r *roads) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	r.mu.Lock()
	to := r.to[addr[2]-'0'] // of "zk0"
	r.mu.Unlock()
	return to.srv.Dialer()(ctx, network, to.srv.Hosts()[to.i])
}

// ofThree are the three servers of a test.
func (w *harness) ofThree() []place { return []place{{w.srv, 0}, {w.srv, 1}, {w.srv, 2}} }

// onRoads is a session with so many addresses, which lead to the three servers of the test.
func (w *harness) onRoads(n int, opts ...session.Option) (*session.Session, *roads) {
	w.Helper()
	r := new(roads)
	r.lead(w.ofThree()...)
	s, err := session.New([]string{"zk0", "zk1", "zk2"}[:n], append([]session.Option{session.WithTimeout(timeout), session.WithDialer(r.dial)}, opts...)...)
	require.NoError(w, err)
	w.Cleanup(func() { _ = session.CloseWithin(s, time.Minute) })
	require.NoError(w, s.Connect(w.ctx))
	return s, r
}

// another starts servers with another history.
func (w *harness) another(opts ...zktest.Option) *zktest.Server {
	w.Helper()
	return zktest.Start(w, append(opts, zktest.WithTick(5*time.Second))...)
}

// lastZxid is that of the last transaction of a server.
func lastZxid(w *harness, srv *zktest.Server) (zxid int64) {
	require.NoError(w, errOf(fmt.Sscanf(srv.Dump(), "zxid 0x%x,", &zxid)))
	return zxid
}

// reaches makes transactions up to one with that zxid.
func reaches(w *harness, srv *zktest.Server, zxid int64) {
	for lastZxid(w, srv) < zxid {
		require.NoError(w, srv.Znodes(w).Set("/", nil))
	}
}

var threeTicking = []zktest.Option{zktest.WithServers(3), zktest.WithTick(5 * time.Second), zktest.WithSeed(1)}

func TestALossOfDataEndsTheEpoch(t *testing.T) {
	type row struct {
		addresses int
		next      func(w *harness, copied string) *zktest.Server
		a         string // what is left of /a
	}
	each(t, map[string]row{
		"emptied":                     {3, func(w *harness, _ string) *zktest.Server { return w.another() }, ""},
		"restored from an older copy": {3, func(w *harness, copied string) *zktest.Server { return w.another(zktest.WithTree(copied)) }, "old"},
		"with a transaction that is equal": {1, func(w *harness, _ string) *zktest.Server {
			other := w.another()
			reaches(w, other, lastZxid(w, w.srv)-2) // a scout's session, and its transaction
			return other
		}, ""},
	}, func(w *harness, row row) {
		reaches(w, w.srv, 1000)
		var log journal
		s, r := w.onRoads(row.addresses, log.warnings())
		w.create(s, "/a", []byte("old"))
		copied, err := w.srv.Tree()
		require.NoError(w, err)
		states := s.WatchData(w.ctx, "/a")
		w.write(s, "/a", []byte("new"))
		t := w.client(s)
		h, lasting := t.hold(w, 1, "/queue"), w.client(s)
		lasting.UntilExpiry()
		member := lasting.hold(w, 1, "/members")
		seen := lastZxid(w, w.srv)
		r.lead(place{row.next(w, copied), 0})
		require.NoError(w, w.srv.Close())
		lost := time.Now()
		t.told()
		<-member.Done()
		require.Greater(w, time.Since(lost), timeout)
		require.Less(w, time.Since(lost), 3*timeout)
		require.ErrorIs(w, member.Err(), session.ErrDataLoss)
		require.ErrorIs(w, h.Err(), session.ErrUntrusted, "what had ended before keeps its cause")
		require.NotErrorIs(w, h.Err(), session.ErrDataLoss)
		require.NoError(w, s.Connect(w.ctx))
		require.Contains(w, strings.Join(t.told(), "; "), "ended 1: the ZooKeeper session has expired\nthe ZooKeeper ensemble has lost")
		st := s.Status()
		require.EqualValues(w, 2, st.Epoch)
		isAll(w, st.Cause, session.ErrDataLoss, session.ErrExpired)
		require.Regexp(w, fmt.Sprintf(`(?s)ERROR msg="the ZooKeeper ensemble has lost its data" epoch=1 seen=0x%x next=0x.*msg="the ZooKeeper session has ended"`, seen), strings.Join(log.lines(), "\n"))
		for d := range states {
			if !d.Stale && string(d.Bytes) != "new" {
				require.Equal(w, row.a, string(d.Bytes))
				break
			}
		}
	}, threeTicking...)
}

// Where history is whole the session goes on.
func TestNothingIsLostWhereHistoryIsWhole(t *testing.T) {
	outOfQuorum := func(w *harness) (heal func()) { // zk2 is down, the others have no quorum
		w.srv.Kill(2)
		w.srv.Kill(0)
		require.NoError(w, w.srv.Restart(0))
		w.srv.Kill(1)
		return func() {
			require.NoError(w, w.srv.Restart(1))
			require.NoError(w, w.srv.Restart(2))
		}
	}
	each(t, map[string]func(w *harness, s *session.Session, r *roads) (heal func()){
		"the quorum is away": func(w *harness, _ *session.Session, r *roads) func() {
			heal := outOfQuorum(w)
			r.lead(place{w.srv, 0})
			return func() { heal(); r.lead(w.ofThree()...) }
		},
		"an emptied stray, one without a quorum, one that is down": func(w *harness, _ *session.Session, r *roads) func() {
			heal := outOfQuorum(w)
			r.lead(place{w.another(), 0}, place{w.srv, 0}, place{w.srv, 2})
			return func() { heal(); r.lead(w.ofThree()...) }
		},
		"a stray with more transactions": func(w *harness, s *session.Session, r *roads) func() {
			heal := outOfQuorum(w)
			stray := w.another()
			reaches(w, stray, 2000)
			stray.Intercept(func(q *zktest.Request) zktest.Verdict { // it had none when it was asked for the session
				if q.Op == zktest.OpConnect && q.SessionID != 0 {
					return zktest.CutBefore
				}
				return zktest.Pass
			})
			r.lead(place{stray, 0}, place{w.srv, 0}, place{w.srv, 0})
			return func() { heal(); r.lead(w.ofThree()...) }
		},
	}, func(w *harness, strikes func(w *harness, s *session.Session, r *roads) (heal func())) {
		reaches(w, w.srv, 1000) // servers in memory number transactions from 1 on, in every history
		s, r := w.onRoads(3)
		t := w.client(s)
		t.UntilExpiry()
		h := t.hold(w, 1, "/queue")
		first := id(s)
		heal := strikes(w, s, r)
		time.Sleep(10 * timeout)
		require.NotEqual(w, session.Connected, s.Status().State)
		heal()
		time.Sleep(timeout / 2)
		require.NoError(w, h.Err())
		require.True(w, t.read(w, 1, h.Path(), false).Exists, "its place is kept")
		require.Equal(w, first, id(s))
		require.EqualValues(w, 1, s.Status().Epoch)
	}, threeTicking...)
}

// One that lags hangs up on the session, and so does an observer, or a leader that was deposed and
// wakes. What a scout finds there is above what was seen, or nothing.
func TestAServerThatLagsHasLostNothing(t *testing.T) {
	each(t, map[string]func(w *harness){
		"a follower, or an observer": func(w *harness) { w.srv.Lag(0, 1000) },
		"a deposed leader": func(w *harness) {
			w.srv.Depose(0)
			w.writes()
			w.srv.Continue(0)
		},
	}, func(w *harness, lag func(w *harness)) {
		s, r := w.onRoads(3, session.WithTimeout(4*time.Second))
		first := id(s)
		r.lead(place{w.srv, 1})
		w.srv.Disconnect(first)
		time.Sleep(time.Second)
		lag(w)
		w.create(s, "/seen", nil)
		r.lead(place{w.srv, 0})
		w.srv.Disconnect(first)
		scouts := w.scouts()
		time.Sleep(3 * time.Second)
		require.NotEqual(w, session.Connected, s.Status().State, "it hangs up")
		time.Sleep(7 * time.Second)
		require.NotZero(w, scouts.Load())
		r.lead(w.ofThree()...)
		time.Sleep(10 * time.Second)
		require.Equal(w, session.Connected, s.Status().State)
		require.Equal(w, first, id(s))
	}, zktest.WithServers(3), zktest.WithTick(30*time.Second), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithSeed(2))
}

// writes has others write something.
func (w *harness) writes() {
	for range 10 {
		require.NoError(w, w.srv.Znodes(w).Set("/", nil))
	}
}

// scouts counts the handshakes for new sessions from now on.
func (w *harness) scouts() *atomic.Int32 {
	n := new(atomic.Int32)
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpConnect && r.SessionID == 0 {
			n.Add(1)
		}
		return zktest.Pass
	})
	return n
}

// The epoch that follows stands by what was seen in the one before: it does not begin quietly where
// that is gone.
func TestTheNextEpochStandsByWhatWasSeen(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, r := w.onRoads(3)
		w.writes()
		w.create(s, "/a", nil)
		emptied := w.another()
		w.intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpConnect {
				r.lead(place{emptied, 0}) // when it has been told
			}
			return zktest.Pass
		})
		w.srv.Expire(id(s))
		time.Sleep(timeout / 2)
		require.ErrorIs(w, s.Status().Cause, session.ErrExpired)
		require.EqualValues(w, 2, s.Status().Epoch)
		require.Empty(w, emptied.Sessions())
		require.NoError(w, s.Connect(w.ctx))
		require.EqualValues(w, 3, s.Status().Epoch)
		require.ErrorIs(w, s.Status().Cause, session.ErrDataLoss)
	}, threeTicking...)
}

// However many clients there are: while the quorum is away each sends a scout in its timeout, all
// come back to the sessions that they have, and no epoch ends.
func TestAHerdWhoseQuorumIsAwayLosesNothing(t *testing.T) {
	inBubble(t, func(w *harness) {
		const herd, timeouts = 100, 10
		system, _ := actors.New()
		w.Cleanup(func() { require.NoError(w, system.Close(context.Background())) })
		sessions := make([]*session.Session, herd)
		for i := range sessions {
			sessions[i], _ = w.onRoads(3, session.WithSystem(system))
		}
		w.srv.Kill(2)
		w.srv.Kill(1)
		scouts := w.scouts()
		time.Sleep(timeouts * timeout)
		require.InDelta(w, herd*timeouts, scouts.Load(), herd*3)
		require.NoError(w, w.srv.Restart(1))
		w.srv.SlowHandshakes(20 * time.Millisecond)
		time.Sleep(timeout)
		for _, s := range sessions {
			require.Equal(w, session.Connected, s.Status().State)
			require.EqualValues(w, 1, s.Status().Epoch)
		}
		w.srv.SlowHandshakes(0)
		w.settled(sessions)
	}, append([]zktest.Option{zktest.WithJournal(1 << 18)}, threeTicking...)...)
}

// serverEpoch is the epoch that a server of an ensemble has stored in its folder, which is that of
// the last leader's election.
func serverEpoch(w *harness, folder string) int {
	text, err := os.ReadFile(filepath.Join(folder, "version-2", "currentEpoch"))
	require.NoError(w, err)
	epoch, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(w, err)
	return epoch
}

// What real servers show, of which all are stopped and have lost their data, or get back a copy of
// them. Each start of a restored ensemble is an election, whose epoch is above that of the copy. So
// a loss can't be seen if the copy is of the epoch in which the session saw something last: then it
// goes on as if nothing had happened. If it is of the epoch before, the loss can be seen until the
// transactions of the new one have passed those of the old.
func TestRealLossOfData(t *testing.T) {
	tier.Real(t)
	const emptied = -1
	for name, row := range map[string]struct {
		servers, elections int // between the copy and the loss
		passed             bool
		seen               bool
	}{
		"one server, emptied":                     {servers: 1, elections: emptied, seen: true},
		"three servers, emptied":                  {servers: 3, elections: emptied, seen: true},
		"no election":                             {servers: 3},
		"one election":                            {servers: 3, elections: 1, seen: true},
		"one election, and the counter is passed": {servers: 3, elections: 1, passed: true},
		"two elections":                           {servers: 3, elections: 2, seen: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, servers := onEnsemble(t, row.servers)
			s := w.openOn(servers.Proxied(), session.WithTimeout(6*time.Second))
			const writes = 200
			w.create(s, "/a", []byte("old"))
			copied := w.TempDir()
			for i := range row.servers {
				require.NoError(w, os.CopyFS(filepath.Join(copied, fmt.Sprint(i)), os.DirFS(servers.Folder(i))))
			}
			for range row.elections {
				leader := bubble.Leader(t, servers)
				servers.Kill(leader)
				require.NoError(w, errOf(servers.AwaitLeader(w.ctx)))
				require.NoError(w, servers.Restart(leader))
				w.write(s, "/a", []byte("old"))
			}
			for range writes {
				w.write(s, "/a", []byte("new"))
			}
			first := id(s)
			for _, p := range servers.Proxies() {
				p.Cut()
			}
			before := 0 // the copy's epoch
			if row.elections != emptied {
				before = serverEpoch(w, filepath.Join(copied, "0"))
			}
			restore := func() {
				for i := range row.servers {
					servers.Kill(i)
					data := filepath.Join(servers.Folder(i), "version-2")
					require.NoError(w, os.RemoveAll(data))
					if row.elections != emptied {
						require.NoError(w, os.CopyFS(data, os.DirFS(filepath.Join(copied, fmt.Sprint(i), "version-2"))))
					}
				}
				for i := range row.servers {
					require.NoError(w, servers.Restart(i))
				}
				require.NoError(w, servers.Await(w.ctx))
			}
			restore()
			for row.servers > 1 && serverEpoch(w, servers.Folder(0)) > before+1 { // a busy machine needs a second election at times
				restore()
			}
			if row.passed {
				other := w.openOn(servers.Servers())
				for range writes + 10 {
					w.create(other, "/b-", nil, session.Sequential())
				}
			}
			for _, p := range servers.Proxies() {
				p.Heal()
			}
			epoch := uint64(1)
			if row.seen {
				epoch = 2
			}
			for st := range s.ObserveStatus(w.ctx) {
				if st.State == session.Connected && st.Epoch >= epoch {
					break
				}
			}
			data, _, err := s.Get(w.ctx, "/a")
			st := s.Status()
			require.Equal(w, epoch, st.Epoch, "%v", st.Cause)
			if row.elections == emptied {
				require.ErrorIs(w, err, session.ErrNoNode)
			} else {
				require.NoError(w, err)
				require.Equal(w, "old", string(data))
			}
			if row.seen {
				isAll(w, st.Cause, session.ErrDataLoss, session.ErrExpired)
				return
			}
			require.NoError(w, st.Cause)
			require.Equal(w, first, st.SessionID)
		})
	}
}
