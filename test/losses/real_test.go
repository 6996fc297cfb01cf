package losses_test

// Losses on three real servers: holders that are cut off, a leader that is frozen, deposed and
// woken, and writes that a server keeps while its link to the leader is down.

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// B05, B06, B44: seventeen holders are cut off at once, three times. Packets vanish between them
// and all servers, or their server loses its leader and goes on answering them. The Done of each
// closes before its rival is granted.
func TestB05_B06_B44_HoldersThatAreCutOff(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	timeout := session.WithTimeout(4 * time.Second) // half of it is the margin, which has to bear a machine so busy that servers pass on late what they hear
	for _, isolated := range []bool{false, true} {
		t.Run(fmt.Sprint("isolated server: ", isolated), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, 3)
			holdersOn, rivalsOn, cut := e.Proxied(), e.Servers(), func() (heal func()) {
				for _, p := range e.Proxies() {
					p.Blackhole()
				}
				return func() {
					for _, p := range e.Proxies() {
						p.Heal()
					}
				}
			}
			if isolated {
				follower := (bubble.Leader(t, e) + 1) % 3
				holdersOn, rivalsOn = e.Servers()[follower:follower+1], slices.Delete(slices.Clone(e.Servers()), follower, follower+1)
				cut = func() func() { return e.Isolate(follower) }
			}
			longest, rivals := bubble.Pauses(t), bubble.Open(t, rivalsOn, timeout)
			var pairs [][2]*lock.Lock
			for i := range 17 {
				path := fmt.Sprint("/overlap/", i)
				holder := bubble.Open(t, holdersOn[i%len(holdersOn):][:1], timeout)
				pairs = append(pairs, [2]*lock.Lock{must(lock.New(holder, path)), must(lock.New(rivals, path))})
			}
			var leads []time.Duration
			for range 3 {
				var each []<-chan time.Duration
				for _, p := range pairs {
					g := bubble.Within(t, patience, inLine(t, p[0]).Acquired(), "the holder")
					each = append(each, lead(t, g, inLine(t, p[1])))
				}
				heal := cut()
				for _, l := range each {
					leads = append(leads, bubble.Within(t, patience, l, "the rival"))
				}
				heal()
				require.NoError(t, e.Await(bubble.Minute(t)))
				for _, p := range pairs {
					require.NoError(t, p[1].Withdraw(bubble.Minute(t)))
					require.NoError(t, p[0].Withdraw(bubble.Minute(t)))
				}
			}
			bubble.InTime(t, t.Name(), leads, longest())
		})
	}
}

// inLine states the intent and waits until the lock is in the queue, or held.
func inLine(t *testing.T, l *lock.Lock) *lock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l.Acquire()
	for s := range l.ObserveStatus(ctx) {
		if s.State == lock.Holding || s.Ahead > 0 {
			return l
		}
	}
	t.Fatal("never in the queue")
	return nil
}

// lead is the time from a grant's Done to the rival's grant; below zero both hold. Each instant is
// noted by a goroutine that does nothing else.
func lead(t *testing.T, g *lock.Grant, rival *lock.Lock) <-chan time.Duration {
	ended := bubble.Begin(func() time.Time { <-g.Done(); return time.Now() })
	return bubble.Begin(func() time.Duration {
		select {
		case <-rival.Acquired():
			won := time.Now()
			return won.Sub(<-ended)
		case <-t.Context().Done():
			return 0
		}
	})
}

var deposedRounds = flag.Int("deposed-rounds", 3, "how often a real leader is frozen, deposed and woken")

// The leader of three is stopped when it has carried out a release that the waiter does not hear
// of. The others elect another leader, which ends the waiter's session, and a rival is granted. The
// old leader goes on, and takes itself for the leader for up to a tick. With a C compiler, its
// clock stands still meanwhile, like that of a suspended machine.
func TestADeposedRealLeaderThatWakesVouchesForNoWaiter(t *testing.T) {
	tier.Soak(t)
	if so := frozenClock(t); so != "" {
		t.Setenv("LD_PRELOAD", so)
	}
	e := ensemble.Start(t, 3, ensemble.WithTick(tick), ensemble.WithSyncLimit(3))
	for round := range *deposedRounds {
		overlap := deposedRound(t, e, fmt.Sprintf("/deposed/%d", round))
		t.Logf("round %d: overlap %v", round, overlap.Round(time.Millisecond))
		require.Zero(t, overlap)
	}
}

// frozenClock compiles a library with which the clock of a stopped process stands still; "" where
// that is impossible.
func frozenClock(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Log("without a C compiler, or not on Linux, the clock of a stopped server goes on")
		return ""
	}
	so := filepath.Join(t.TempDir(), "frozen.so")
	said, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O2", "-o", so, "testdata/frozen.c", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", said)
	return so
}

const tick = time.Second

func deposedRound(t *testing.T, e *ensemble.Ensemble, path string) (overlap time.Duration) {
	const timeout = 6 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, e.Await(ctx))
	leader := bubble.Leader(t, e)
	others := slices.Delete(slices.Clone(e.Servers()), leader, leader+1)
	proxy := must(ensemble.NewProxy(e.Servers()[leader]))
	defer proxy.Close()
	waiters := bubble.Open(t, []string{proxy.Addr()}, session.WithTimeout(timeout))
	holder := must(lock.New(bubble.Open(t, others, session.WithTimeout(timeout)), path))
	waiter := must(lock.New(waiters, path))
	rival := must(lock.New(bubble.Open(t, others, session.WithTimeout(timeout)), path))
	bubble.Within(t, patience, inLine(t, holder).Acquired(), "the holder")
	inLine(t, waiter)
	inLine(t, rival)
	before := waiters.Status().Epoch

	proxy.Blackhole(ensemble.ToClient)
	require.NoError(t, holder.Withdraw(ctx))
	e.Stop(leader)
	proxy.Reset()
	proxy.Heal()
	granted := bubble.Within(t, patience, rival.Acquired(), "the rival")
	e.Continue(leader)
	select {
	case g := <-waiter.Acquired():
		began := time.Now()
		if !granted.Valid() {
			break // the rival has lost it by itself, on a machine that is too busy, and the waiter has it by right
		}
		select {
		case <-g.Done():
		case <-granted.Done():
		}
		overlap = time.Since(began)
	case <-time.After(4 * tick): // the old leader knows long since
		require.NoError(t, rival.Close(ctx))
		bubble.Within(t, patience, waiter.Acquired(), "the waiter, in its next session")
		require.Greater(t, waiters.Status().Epoch, before)
	}
	for _, l := range []*lock.Lock{waiter, rival} {
		require.NoError(t, l.Close(ctx))
	}
	return overlap
}

// ways is a client's dialer: one server at a time can be reached.
type ways struct {
	mu    sync.Mutex
	open  string
	conns []net.Conn
	asked chan struct{} // has an element after a write
}

func (w *ways) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr != w.open {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		w.conns = append(w.conns, conn)
		conn = told{conn, w.asked}
	}
	return conn, err
}

// lead cuts all connections, and lets one server be reached.
func (w *ways) lead(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = addr
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
	select {
	case <-w.asked:
	default:
	}
}

// told is a connection that reports writes.
type told struct {
	net.Conn
	wrote chan<- struct{}
}

func (c told) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		return n, err
	}
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return n, nil
}

// Locks are asked for while the session's server has no link to the leader. The connection is lost;
// the session asks that server again, gives up, and gets the locks through another one. When the
// link heals, the first server passes on all that it was asked.
func TestNoContenderStandsTwiceInALineBehindAStall(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 3, ensemble.WithSyncLimit(300))
	leader := bubble.Leader(t, e)
	f, g := (leader+1)%3, (leader+2)%3
	way := &ways{open: e.Servers()[f], asked: make(chan struct{}, 1)}
	s := bubble.Open(t, []string{e.Servers()[f], e.Servers()[g]}, session.WithTimeout(time.Minute), session.WithDialer(way.dial))
	id := s.Status().SessionID
	var locks []*lock.Lock
	for i := range 40 {
		locks = append(locks, inLine(t, must(lock.New(s, fmt.Sprint("/stall/", i)))))
	}
	for _, l := range locks {
		bubble.Within(t, patience, l.Acquired(), "the first time")
		require.NoError(t, l.Withdraw(bubble.Minute(t)))
	}

	worker, checks := bubble.Open(t, e.Servers()[leader:leader+1]), make([]session.Op, 10_000)
	for i := range checks {
		checks[i] = session.CheckOp("/", -1)
	}

	heal := e.Sever(f, leader)
	defer heal()
	for _, l := range locks {
		l.Acquire()
	}
	waiting := func(i int) func() bool {
		return func() bool {
			stats, err := e.Stats(i)
			return err == nil && stats.Raw["zk_outstanding_requests"] != "0"
		}
	}
	require.Eventually(t, waiting(f), patience, 5*time.Millisecond)
	way.lead(e.Servers()[f])
	bubble.Within(t, patience, way.asked, "F is asked again")
	way.lead(e.Servers()[g])
	for _, l := range locks {
		bubble.Within(t, patience, l.Acquired(), "again")
	}
	// The leader is kept busy: it takes connect requests at once, and other requests in their turn.
	worked := bubble.Begin(func() error {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _, _ = worker.Multi(bubble.Minute(t), checks...) }) // owner: the test, which waits below
		}
		all.Wait()
		return nil
	})
	require.Eventually(t, func() bool { return len(worked) > 0 || waiting(leader)() }, patience, time.Millisecond)
	heal()
	bubble.Within(t, patience, worked)

	require.Equal(t, id, s.Status().SessionID)
	other := bubble.Open(t, e.Servers()[f:f+1]) // its session comes behind all that waited
	for i := range locks {
		names, _, err := other.Children(bubble.Minute(t), fmt.Sprint("/stall/", i))
		require.NoError(t, err)
		var guids []znode.GUID
		for _, name := range names {
			guid, _, ok := znode.Protection(name)
			require.True(t, ok, name)
			require.NotContains(t, guids, guid, "%v", names)
			guids = append(guids, guid)
		}
	}
}
