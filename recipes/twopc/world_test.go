// The helpers of this package's tests: coordinators and sites in a bubble.

package twopc_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/pay/transfers"

// world is a bubble with transactions in it.
type world struct{ *bubble.World }

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w}) }, bubble.Brisk(opts...)...)
}

func (w *world) coordinator(h *bubble.Host, opts ...twopc.Option) *twopc.Coordinator {
	w.Helper()
	c, err := twopc.NewCoordinator(h.Session, path, opts...)
	require.NoError(w, err)
	return c
}

// site registers one and waits for that.
func (w *world) site(h *bubble.Host, name string) *twopc.Site {
	w.Helper()
	s, err := twopc.NewSite(h.Session, path, name)
	require.NoError(w, err)
	synctest.Wait()
	return s
}

// nodes are the znodes below the path but the containers and the presences.
func (w *world) nodes() []string {
	var all []string
	for line := range strings.Lines(w.Server.Dump()) {
		node, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, below := strings.CutPrefix(node, path+"/")
		switch parts := strings.Split(rest, "/"); {
		case !below:
		case parts[0] == "tx" && len(parts) > 1, parts[0] == "inbox" && len(parts) > 2:
			all = append(all, node)
		}
	}
	return all
}

// ended waits for all applications, which end with their sessions. One of them may wait for a
// decision, or for an end, that never comes.
func (w *world) ended(all *sync.WaitGroup) {
	w.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	bubble.Within(w, 5*time.Minute, done)
}

// forms are the two of ZooKeeper's recipe page.
var forms = map[string][]twopc.Option{"coordinator decides": nil, "peers decide": {twopc.WithPeerDecision()}}

func inBothForms(t *testing.T, f func(w *world, form []twopc.Option)) {
	t.Helper()
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { f(w, form) })
		})
	}
}

// loseTheNext cuts a host off at its session's next transaction that writes, which is carried out
// and not answered.
func (w *world) loseTheNext(h *bubble.Host) (heal func()) {
	w.Helper()
	id, done := h.Status().SessionID, new(atomic.Bool)
	partition := make(chan func(), 1)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != id || r.Op != zktest.OpMulti || r.Ops[0].Op == jute.OpCheck && len(r.Ops) == 1 || !done.CompareAndSwap(false, true) {
			return zktest.Pass
		}
		go func() { partition <- h.Machine.Partition() }()
		return zktest.DropReply
	}))
	return func() {
		if !done.CompareAndSwap(false, true) { // else it has not come to that
			(<-partition)()
		}
	}
}

// all that a site is asked is agreed to, and acknowledged. It counts how often each transaction was
// committed and aborted there.
func (w *world) agreeable(s *twopc.Site) func() string {
	w.Helper()
	var mu sync.Mutex
	var seen []string
	go func() { // ends with the site
		for p := range s.Proposals() {
			_ = p.Commit(w.Context())
			select {
			case <-p.Decided():
			case <-p.Done():
				continue
			}
			mu.Lock()
			seen = append(seen, p.ID()+" "+p.Outcome().String())
			mu.Unlock()
			_ = p.Ack(w.Context())
		}
	}()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(seen, ", ")
	}
}

// strike lets something happen at the k-th request of somebody's session, pings and its end aside;
// it tells whether it came to that.
func (w *world) strike(h *bubble.Host, k int, at func(*zktest.Request) zktest.Verdict) (met func() bool) {
	return w.AtKth(h.Session, k, at, zktest.OpCloseSession)
}

// warm has a coordinator make all that is around a transaction with a site, and waits until nothing
// more comes of it: the next transaction is one request, which is the coordinator's next.
func (w *world) warm(c *twopc.Coordinator, s *twopc.Site) {
	w.Helper()
	tx, err := c.Begin(w.Context(), "warm", nil, "a")
	require.NoError(w, err)
	p := bubble.Within(w, time.Second, s.Proposals())
	require.NoError(w, p.Abort(w.Context(), "warm"))
	bubble.Within(w, time.Second, tx.Decided())
	require.NoError(w, p.Ack(w.Context()))
	require.NoError(w, tx.Ack(w.Context()))
	synctest.Wait()
}

// votes are those that a Tx tells, once it is over.
func votes(tx *twopc.Tx) (all []twopc.Vote) {
	for v := range tx.Votes() {
		all = append(all, v)
	}
	return all
}

// node is the znode of the transaction whose name ends so.
func (w *world) node(suffix string) string {
	w.Helper()
	for _, n := range w.nodes() {
		if strings.HasSuffix(n, suffix) {
			return n
		}
	}
	w.Fatal("no " + suffix)
	return ""
}

// deny refuses a session's requests of some kinds at a path, until it is called.
func (w *world) deny(h *bubble.Host, at string, kinds ...zktest.Op) (allow func()) {
	w.Helper()
	id, denied := h.Status().SessionID, new(atomic.Bool)
	denied.Store(true)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		meant := r.Path == at && slices.Contains(kinds, r.Op)
		for _, op := range r.Ops {
			meant = meant || op.Path == at && slices.Contains(kinds, op.Op)
		}
		if r.SessionID == id && meant && denied.Load() {
			return zktest.Fail(zktest.ErrNoAuth)
		}
		return zktest.Pass
	}))
	return func() { denied.Store(false) }
}
