package produce_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/queue/internal/browse"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const root = layout.Root("/q")

func TestMain(m *testing.M) { tier.Main(m) }

func inBubble(t *testing.T, test func(t *bubble.World)) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, test)
}

// puts waits until a call has put its items.
func puts(t testing.TB, c *produce.Call) {
	t.Helper()
	_, err := c.Wait(bubble.Minute(t))
	require.NoError(t, err)
}

// of is a put of one item.
func of(body string) produce.Put { return produce.Put{Items: []layout.Record{{Body: []byte(body)}}} }

// A bug ends neither the process nor the producer: items that were put are in the queue once, and
// the callers that wait are told.
func TestABug(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		p := produce.New(s, root, 0)
		puts(t, p.Begin(of("a")))
		heal := t.Server.Intercept(func(*zktest.Request) zktest.Verdict { return zktest.Delay(time.Millisecond) })
		first := p.Begin(of("b"))
		synctest.Wait()
		second := p.Begin(of("c"))
		p.Panic(of("bug"))
		third := p.Begin(of("d"))
		puts(t, first)
		puts(t, second)
		_, err := third.Wait(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrRestarted)
		require.ErrorIs(t, err, session.ErrUnknownOutcome)
		heal()
		puts(t, p.Begin(of("e")))
		counts, err := browse.Queue{Session: s, Root: root}.Count(context.Background())
		require.NoError(t, err)
		require.Equal(t, 6, counts.Items, "with that of the bug")
		require.NoError(t, p.Close(bubble.Minute(t)))
	})
}

// Begin of a closed producer calls Then, which may use the producer.
func TestThenMayUseAClosedProducer(t *testing.T) {
	t.Parallel()
	p, put, ended := produce.New(nil, root, 0), of("a"), make(chan error, 1)
	require.NoError(t, p.Close(t.Context()))
	put.Then = func(error) { ended <- p.Close(t.Context()) }
	go p.Begin(put) // ends at once
	require.NoError(t, bubble.Within(t, time.Minute, ended, "the answer"))
}

// The receipt of a producer has a child as long as its session lives, in each session: the first
// put may have been made for the former one.
func TestTheReceiptIsKept(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, o := t.Session(), t.Session()
		p := produce.New(s, root, 0)
		for n := range 3 {
			for k := range 2 {
				puts(t, p.Begin(of(fmt.Sprint(n, k))))
			}
			receipts, _, err := o.Children(bubble.Minute(t), root.Receipts())
			require.NoError(t, err)
			require.Len(t, receipts, 1)
			children, _, err := o.Children(bubble.Minute(t), root.Receipt(receipts[0]))
			require.NoError(t, err)
			require.Len(t, children, 1)
			t.Server.Expire(s.Status().SessionID)
		}
	})
}

// The receipt is deleted and made again by hand. It gets its child again: without one the server
// would delete the receipt beside a producer that lives.
func TestAReceiptMadeByHandGetsAChild(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		p := produce.New(s, root, 0)
		puts(t, p.Begin(of("a")))
		puts(t, p.Begin(of("b")))
		receipts, _, err := s.Children(bubble.Minute(t), root.Receipts())
		require.NoError(t, err)
		receipt := root.Receipt(receipts[0])
		require.NoError(t, s.DeleteAll(bubble.Minute(t), receipt))
		_, err = s.Create(bubble.Minute(t), receipt, nil)
		require.NoError(t, err)
		puts(t, p.Begin(of("c")))
		children, _, err := s.Children(bubble.Minute(t), receipt)
		require.NoError(t, err)
		require.Len(t, children, 1)
	})
}

// Each put finds the bell gone, and another client deletes it again while it is made: that happens
// to one put after the other, and to none of them too often.
func TestRacesAreCountedForEachPut(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var gone, again atomic.Bool
		t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.Op == zktest.OpMulti && gone.Swap(false):
				require.NoError(t, t.Server.Znodes(t).Delete(root.Bell()))
				again.Store(true)
			case r.Path == root.Bell() && (r.Op == zktest.OpCreate || r.Op == zktest.OpCreate2) && again.Load():
				return zktest.Fail(zktest.ErrNoNode)
			case r.Op == zktest.OpGetChildren2: // it lists again
				again.Store(false)
			}
			return zktest.Pass
		})
		p := produce.New(t.Session(), root, 0)
		var calls []*produce.Call
		for range 15 {
			large := of(strings.Repeat("x", 300_000)) // each is put alone
			large.Then = func(error) { gone.Store(true) }
			calls = append(calls, p.Begin(large))
		}
		for _, c := range calls {
			puts(t, c)
		}
	})
}

// A queue is deleted again and again while an item is moved into it. The error does not say that
// the item is gone.
func TestAQueueThatIsDeletedAgainAndAgainIsNotTheItemThatMoves(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		require.NoError(t, s.EnsurePath(bubble.Minute(t), "/item"))
		p, move := produce.NewMover(s, root), of("a")
		move.With = []session.Op{session.DeleteOp("/item", 0)}
		heal := t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Path == root.Items() && (r.Op == zktest.OpCreate || r.Op == zktest.OpCreate2) {
				return zktest.Fail(zktest.ErrNoNode)
			}
			return zktest.Pass
		})
		_, err := p.Begin(move).Wait(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrUnknownOutcome)
		require.NotErrorIs(t, err, session.ErrNoNode)
		heal()
		puts(t, p.Begin(move))
		_, err = p.Begin(move).Wait(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoNode)
	})
}
