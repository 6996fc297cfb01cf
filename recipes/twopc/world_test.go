// The helpers of this package's tests: coordinators and sites in a bubble.

package twopc_test

import (
	"math/rand/v2"
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

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *bubble.World), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, f, bubble.Brisk(opts...)...)
}

func newCoordinator(w *bubble.World, h *bubble.Host, opts ...twopc.Option) *twopc.Coordinator {
	w.Helper()
	return must(twopc.NewCoordinator(h.Session, path, opts...))
}

// newSite creates a site and waits until it is registered.
func newSite(w *bubble.World, h *bubble.Host, name string) *twopc.Site {
	w.Helper()
	s := must(twopc.NewSite(h.Session, path, name))
	synctest.Wait()
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// event is something that may happen in a random history, with its odds.
type event struct {
	odds   int
	happen func()
}

// draw lets one of the events happen.
func draw(rng *rand.Rand, events []event) {
	total := 0
	for _, e := range events {
		total += e.odds
	}
	n := rng.IntN(total)
	for _, e := range events {
		if n -= e.odds; n < 0 {
			e.happen()
			return
		}
	}
}

// nodes are the znodes below the path, without containers and presences.
func nodes(w *bubble.World) []string {
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

// awaitAll waits for all applications, which end with their sessions. It fails if one of them waits
// for a decision, or an end, that never comes.
func awaitAll(w *bubble.World, all *sync.WaitGroup) {
	w.Helper()
	bubble.Within(w, 5*time.Minute, bubble.Begin(func() error { all.Wait(); return nil }))
}

// forms are the two of ZooKeeper's recipe page.
var forms = map[string][]twopc.Option{"coordinator decides": nil, "peers decide": {twopc.WithPeerDecision()}}

func inBothForms(t *testing.T, f func(w *bubble.World, form []twopc.Option)) {
	t.Helper()
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *bubble.World) { f(w, form) })
		})
	}
}

// loseNextReply cuts a host off at its session's next transaction that writes, which is carried out
// and not answered.
func loseNextReply(w *bubble.World, h *bubble.Host) (heal func()) {
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

// warm plays a whole transaction, so that all parents exist and the next Begin is one request,
// which is the coordinator's next one.
func warm(w *bubble.World, c *twopc.Coordinator, s *twopc.Site) {
	w.Helper()
	tx := must(c.Begin(w.Context(), "warm", nil, "a"))
	p := bubble.Within(w, time.Second, s.Proposals())
	require.NoError(w, p.VoteAbort(w.Context(), "warm"))
	bubble.Within(w, time.Second, tx.Decided())
	require.NoError(w, p.Ack(w.Context()))
	require.NoError(w, tx.Ack(w.Context()))
	synctest.Wait()
}

// votes are the votes that a Tx has delivered, once it has ended.
func votes(tx *twopc.Tx) (all []twopc.Vote) {
	for v := range tx.Votes() {
		all = append(all, v)
	}
	return all
}

// nodeNamed is the znode of the transaction whose name ends so.
func nodeNamed(w *bubble.World, suffix string) string {
	w.Helper()
	all := nodes(w)
	i := slices.IndexFunc(all, func(n string) bool { return strings.HasSuffix(n, suffix) })
	require.GreaterOrEqual(w, i, 0, suffix)
	return all[i]
}

// deny refuses a session's requests of some kinds at a path, until allow is called.
func deny(w *bubble.World, h *bubble.Host, at string, kinds ...zktest.Op) (allow func()) {
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
