package losses_test

// Many locks on few paths, while requests and replies are lost and contenders are deleted: for
// `make soak`.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest"
)

// dice are for several goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// One contender at a time holds, tokens grow, each contender gets the lock in time, and nothing is
// left. The seed decides what is tried, the scheduler in which order.
func TestRandomLocks(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				r := &random{World: w.World, dice: &dice{r: rand.New(rand.NewPCG(seed, 1))}}
				r.run()
			})
		})
	}
}

type random struct {
	*bubble.World
	*dice
	hosts  []*bubble.Host
	byHand bool
	calm   chan struct{} // closed when nothing more goes wrong

	mu   sync.Mutex
	last map[string]*granted
}

// granted is the last grant on a path.
type granted struct {
	holds *lock.Grant
	token int64
}

func (r *random) run() {
	latency := []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond, 3 * time.Millisecond}[r.n(4)]
	for i := range 1 + r.n(2) {
		name := fmt.Sprint("h", i)
		r.Cleanup(r.Server.Host(name).Slow(latency))
		r.hosts = append(r.hosts, r.Host(name))
	}
	r.calm, r.last, r.byHand = make(chan struct{}), map[string]*granted{}, r.n(3) == 0
	if rate := []int{0, 20, 100, 400}[r.n(4)]; rate > 0 {
		r.Cleanup(r.Server.Intercept(func(q *zktest.Request) zktest.Verdict { return r.verdict(q, rate) }))
	}
	var lockers, others sync.WaitGroup
	if r.byHand {
		others.Go(r.deletes)
	}
	paths := 1 + r.n(8)
	for range 20 + r.n(40) {
		at := fmt.Sprint("/r/", r.n(paths))
		l := must(lock.New(r.hosts[r.n(len(r.hosts))].Session, at))
		lockers.Go(func() {
			for range 3 {
				time.Sleep(time.Duration(r.n(1500)) * time.Microsecond)
				r.cycle(l, at)
			}
		})
	}
	lockers.Wait()
	close(r.calm)
	others.Wait()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	require.Empty(r, r.contenders(), "left behind")
}

// verdict lets some requests go wrong, more of those that do several things.
func (r *random) verdict(q *zktest.Request, rate int) zktest.Verdict {
	select {
	case <-r.calm:
		return zktest.Pass
	default:
	}
	if q.Op == zktest.OpConnect || q.Op == zktest.OpPing {
		return zktest.Pass
	}
	if q.Op == zktest.OpMulti || q.Op == zktest.OpMultiRead {
		rate /= 4
	}
	verdicts := []zktest.Verdict{
		zktest.CutBefore, zktest.CutAfter, zktest.DropReply, zktest.DropRequest, zktest.Fail(zktest.ErrThrottled), zktest.Delay(time.Duration(r.n(5000)) * time.Microsecond),
	}
	if x := r.n(8*rate + len(verdicts)); x < len(verdicts) {
		return verdicts[x]
	}
	return zktest.Pass
}

// deletes deletes contenders by hand.
func (r *random) deletes() {
	for {
		select {
		case <-r.calm:
			return
		case <-time.After(time.Duration(300+r.n(20_000)) * time.Microsecond):
		}
		if all := r.contenders(); len(all) > 0 {
			_ = r.Server.Znodes(r).Delete(all[r.n(len(all))]) // it may be gone already
		}
	}
}

// contenders are the paths of all contenders.
func (r *random) contenders() (all []string) {
	for line := range strings.Lines(r.Server.Dump()) {
		if strings.HasPrefix(line, "/r/") && strings.Contains(line, "/_c_") {
			all = append(all, strings.Fields(line)[0])
		}
	}
	return all
}

func (r *random) cycle(l *lock.Lock, at string) {
	patience := 3 * time.Minute
	if r.n(5) == 0 {
		patience = time.Duration(r.n(3000)) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	began := time.Now()
	g, err := l.Lock(ctx)
	if time.Since(began) > 2*time.Minute {
		r.Errorf("%s: it takes %v: %v", at, time.Since(began), err)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.Errorf("%s: %v", at, err)
		}
		return
	}
	r.holds(g, at)
	time.Sleep(time.Duration(r.n(500)) * time.Microsecond)
	release, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	defer cancel()
	_ = g.Release(release) // it may have been lost
	if release.Err() != nil {
		r.Errorf("%s: the release takes for ever", at)
	}
}

func (r *random) holds(g *lock.Grant, at string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.last[at]
	if h == nil {
		h = &granted{}
		r.last[at] = h
	}
	if g.Err() != nil {
		return
	}
	if !r.byHand && h.holds != nil && h.holds.Err() == nil {
		r.Errorf("%s: %s and %s hold", at, h.holds.Path(), g.Path())
	}
	if g.Token() <= h.token {
		r.Errorf("%s: token %d behind %d", at, g.Token(), h.token)
	}
	h.holds, h.token = g, g.Token()
}
