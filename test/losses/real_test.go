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

// split is a way to cut holders off, and to leave their rivals connected.
type split struct {
	holders, rivals []string // the servers of each
	cut             func() (heal func())
}

// packetsVanish: between the holders and all servers.
func packetsVanish(_ *testing.T, e *ensemble.Ensemble) split {
	return split{e.Proxied(), e.Servers(), func() (heal func()) {
		for _, p := range e.Proxies() {
			p.Blackhole()
		}
		return func() {
			for _, p := range e.Proxies() {
				p.Heal()
			}
		}
	}}
}

// serverIsolated: the holders' server loses its leader, and goes on answering them.
func serverIsolated(t *testing.T, e *ensemble.Ensemble) split {
	t.Helper()
	follower := (bubble.Leader(t, e) + 1) % 3
	others := slices.Delete(slices.Clone(e.Servers()), follower, follower+1)
	return split{e.Servers()[follower : follower+1], others, func() (heal func()) { return e.Isolate(follower) }}
}

// B05, B06, B44 (see decision 6): seventeen holders are cut off at once, three times. The Done of
// each closes before its rival is granted.
func TestB05_B06_B44_HoldersThatAreCutOff(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	timeout := session.WithTimeout(4 * time.Second) // half of it is the margin, which has to bear a machine so busy that servers pass on late what they hear
	for name, splitOf := range map[string]func(*testing.T, *ensemble.Ensemble) split{"packets vanish": packetsVanish, "server isolated": serverIsolated} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, 3)
			on := splitOf(t, e)
			longest, rivals := bubble.Pauses(t), bubble.Open(t, on.rivals, timeout)
			var pairs [][2]*lock.Lock // the holder's and the rival's
			for i := range 17 {
				path := fmt.Sprint("/overlap/", i)
				holder := bubble.Open(t, on.holders[i%len(on.holders):][:1], timeout)
				pairs = append(pairs, [2]*lock.Lock{must(lock.New(holder, path)), must(lock.New(rivals, path))})
			}
			var leads []time.Duration
			for range 3 {
				var each []<-chan time.Duration
				for _, p := range pairs {
					g := bubble.Within(t, patience, queued(t, p[0]).Acquired(), "the holder")
					each = append(each, leadOf(t, g, queued(t, p[1])))
				}
				heal := on.cut()
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

// queued states the intent and waits until the lock is in the queue, or held.
func queued(t *testing.T, l *lock.Lock) *lock.Lock {
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

// leadOf is the time from a grant's Done to the rival's grant; below zero both held. Each of the
// two instants is taken by a goroutine that does nothing else.
func leadOf(t *testing.T, g *lock.Grant, rival *lock.Lock) <-chan time.Duration {
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

const tick = time.Second // of the real servers

// deposedRound returns for how long the waiter and the rival held at once.
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
	bubble.Within(t, patience, queued(t, holder).Acquired(), "the holder")
	queued(t, waiter)
	queued(t, rival)
	before := waiters.Status().Epoch

	proxy.Blackhole(ensemble.ToClient) // the waiter hears nothing of the release
	require.NoError(t, holder.Withdraw(ctx))
	e.Stop(leader)
	proxy.Reset() // the waiter asks the old leader again, when that goes on
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
	case <-time.After(4 * tick): // more than the tick for which the old leader takes itself for the leader
		require.NoError(t, rival.Close(ctx))
		bubble.Within(t, patience, waiter.Acquired(), "the waiter, in its next session")
		require.Greater(t, waiters.Status().Epoch, before)
	}
	for _, l := range []*lock.Lock{waiter, rival} {
		require.NoError(t, l.Close(ctx))
	}
	return overlap
}

// oneServer is a client's dialer that reaches one server at a time.
type oneServer struct {
	mu    sync.Mutex
	addr  string // the server that can be reached
	conns []net.Conn
	wrote chan struct{} // has an element after a write since the last call of reach
}

func (o *oneServer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if addr != o.addr {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		o.conns = append(o.conns, conn)
		conn = reporting{conn, o.wrote}
	}
	return conn, err
}

// reach cuts all connections, and lets another server be reached, or the same one again.
func (o *oneServer) reach(addr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addr = addr
	for _, conn := range o.conns {
		conn.Close()
	}
	o.conns = nil
	select {
	case <-o.wrote:
	default:
	}
}

// reporting is a connection that reports writes.
type reporting struct {
	net.Conn
	wrote chan<- struct{}
}

func (r reporting) Write(b []byte) (int, error) {
	n, err := r.Conn.Write(b)
	if err != nil {
		return n, err
	}
	select {
	case r.wrote <- struct{}{}:
	default:
	}
	return n, nil
}

// The order of events of decision 37, on three real servers: F, G and the leader.
//
//  1. The session is at F, whose link to the leader is cut. It asks for locks, and F keeps the
//     requests.
//  2. The connection is lost. The session asks F again, gets no answer, and goes to G, where it gets
//     the locks.
//  3. The link heals, and F passes on all that it was asked. The leader takes connect requests at
//     once, and others in their turn, which is late, since it is kept busy. So if F was asked for
//     this session, F has it again when the requests of step 1 are checked: they are carried out.
//
// No contender may then have a second znode.
func TestNoContenderQueuesTwiceBehindAStall(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 3, ensemble.WithSyncLimit(300)) // ticks, so that the cut link does not end F's following
	leader := bubble.Leader(t, e)
	f, g := (leader+1)%3, (leader+2)%3
	way := &oneServer{addr: e.Servers()[f], wrote: make(chan struct{}, 1)}
	s := bubble.Open(t, []string{e.Servers()[f], e.Servers()[g]}, session.WithTimeout(time.Minute), session.WithDialer(way.dial))
	id := s.Status().SessionID
	var locks []*lock.Lock
	for i := range 40 {
		locks = append(locks, queued(t, must(lock.New(s, fmt.Sprint("/stall/", i)))))
	}
	for _, l := range locks {
		bubble.Within(t, patience, l.Acquired(), "the first time")
		require.NoError(t, l.Withdraw(bubble.Minute(t)))
	}
	// Twenty transactions of so many checks keep the leader busy until the connect request comes.
	worker, checks := bubble.Open(t, e.Servers()[leader:leader+1]), make([]session.Op, 10_000)
	for i := range checks {
		checks[i] = session.CheckOp("/", -1)
	}
	outstanding := func(server int) func() bool { // whether the server has requests that it has not answered
		return func() bool {
			stats, err := e.Stats(server)
			return err == nil && stats.Raw["zk_outstanding_requests"] != "0"
		}
	}

	// Step 1.
	heal := e.Sever(f, leader)
	defer heal()
	for _, l := range locks {
		l.Acquire()
	}
	require.Eventually(t, outstanding(f), patience, 5*time.Millisecond)

	// Step 2.
	way.reach(e.Servers()[f])
	bubble.Within(t, patience, way.wrote, "F is asked again")
	way.reach(e.Servers()[g])
	for _, l := range locks {
		bubble.Within(t, patience, l.Acquired(), "again")
	}

	// Step 3.
	worked := bubble.Begin(func() error {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _, _ = worker.Multi(bubble.Minute(t), checks...) }) // owner: the test, which waits below
		}
		all.Wait()
		return nil
	})
	require.Eventually(t, func() bool { return len(worked) > 0 || outstanding(leader)() }, patience, time.Millisecond)
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
