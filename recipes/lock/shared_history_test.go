package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// deed is what a client did, or saw.
type deed struct {
	what   string // read, write, lease, downgrade, end, limit
	client int
	token  int64
	weight int // of a lease; of a limit, the number
}

const mostClients = 8

// holders is the state of a shared lock or a semaphore: what each client holds. At most one of them
// can hold as a writer.
type holders struct {
	held  [mostClients]int // a lease's weight; 1 of a reader, -1 of a writer
	limit int
	token int64 // of the last writer
}

func (h holders) sum() (sum int, writer bool) {
	for _, n := range h.held {
		sum += n
		writer = writer || n < 0
	}
	return sum, writer
}

// holdersModel is a shared lock and a semaphore in one: readers together, writers alone, leases up
// to the limit; tokens of writers grow, and no reader has an older one than the writer before him.
var holdersModel = porcupine.Model{
	Init: func() any { return holders{limit: 3} },
	Step: func(state, in, _ any) (bool, any) {
		h, d := state.(holders), in.(deed)
		sum, writer := h.sum()
		free := h.held[d.client] == 0
		switch d.what {
		case "read":
			h.held[d.client] = 1
			return free && !writer && d.token > h.token, h
		case "write":
			h.held[d.client] = -1
			ok := free && sum == 0 && d.token > h.token
			h.token = d.token
			return ok, h
		case "downgrade":
			ok := h.held[d.client] == -1 && d.token == h.token
			h.held[d.client] = 1
			return ok, h
		case "lease":
			h.held[d.client] = d.weight
			return free && sum+d.weight <= h.limit, h
		case "limit":
			h.limit = d.weight
			return true, h
		}
		h.held[d.client] = 0
		return !free, h
	},
	DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%+v", in) },
}

// chronicle is what clients of shared locks and semaphores saw.
type chronicle struct {
	t     *testing.T
	began time.Time
	mu    sync.Mutex
	deeds []porcupine.Operation
}

func (c *chronicle) now() int64 { return int64(time.Since(c.began)) }

func (c *chronicle) note(d deed, call, ret int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deeds = append(c.deeds, porcupine.Operation{ClientId: d.client, Input: d, Call: call, Return: ret})
}

func (c *chronicle) check(atLeast int) {
	c.t.Helper()
	counts := map[string]int{}
	for _, o := range c.deeds {
		counts[o.Input.(deed).what]++
	}
	c.t.Log(counts)
	require.GreaterOrEqual(c.t, len(c.deeds), 2*atLeast)
	require.Equal(c.t, porcupine.Ok, porcupine.CheckOperationsTimeout(holdersModel, c.deeds, patience), "a writer beside others, more leases than the limit, or a token that did not grow")
}

// client takes one of its locks again and again until ctx ends, and holds it for a while.
func (c *chronicle) client(ctx context.Context, id int, rng *rand.Rand, hold time.Duration, of map[string]*lock.Lock) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, l := range of {
			_ = l.Close(ctx)
		}
	}()
	var kinds []string
	for _, what := range []string{"read", "write", "lease"} {
		if of[what] != nil {
			kinds = append(kinds, what)
		}
	}
	for ctx.Err() == nil {
		what := kinds[rng.IntN(len(kinds))]
		asked := c.now()
		g, err := of[what].Lock(ctx)
		if err != nil {
			return
		}
		c.note(deed{what: what, client: id, token: g.Token(), weight: 1 + id%3}, asked, c.now())
		over := c.attend(id, g)
		linger(ctx, g, rng, hold)
		if what == "write" && rng.IntN(2) == 0 {
			if over = c.downgrade(ctx, id, g, over); over == nil {
				continue
			}
			linger(ctx, g, rng, hold)
		}
		over()
	}
}

// attend notes the end of a grant. The function that it returns releases it and waits for that.
func (c *chronicle) attend(id int, g *lock.Grant) (over func()) {
	ended := make(chan struct{})
	go func() { // ends with the grant
		defer close(ended)
		<-g.Done()
		at := c.now()
		c.note(deed{what: "end", client: id, token: g.Token()}, at, at)
	}()
	return func() {
		release, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Release(release)
		awaitEnd(c.t, ended)
	}
}

// downgrade goes on as a reader. The writer's end is not noted as an end then: between the two,
// nobody else can write.
func (c *chronicle) downgrade(ctx context.Context, id int, g *lock.Grant, over func()) func() {
	asked := c.now()
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	read, err := g.Downgrade(bounded)
	if err != nil {
		over()
		return nil
	}
	over() // it is over already: waits until that is noted
	c.mu.Lock()
	for i, o := range c.deeds {
		if d := o.Input.(deed); d.what == "end" && d.client == id && d.token == g.Token() {
			c.deeds[i] = porcupine.Operation{
				ClientId: id, Input: deed{what: "downgrade", client: id, token: read.Token()}, Call: asked, Return: c.now(),
			}
		}
	}
	c.mu.Unlock()
	return c.attend(id, read)
}

// linger holds on for a while, unless the grant ends.
func linger(ctx context.Context, g *lock.Grant, rng *rand.Rand, most time.Duration) {
	t := time.NewTimer(time.Duration(rng.Int64N(int64(most))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.Done():
	case <-ctx.Done():
	}
}

// locksOf are those that a client uses: both sides of a shared lock, or a semaphore.
func locksOf(t *testing.T, s *session.Session, id int, semaphore bool) map[string]*lock.Lock {
	t.Helper()
	if semaphore {
		l, err := lock.NewSemaphore(s, "/permits", 3, lock.WithWeight(1+id%3))
		require.NoError(t, err)
		return map[string]*lock.Lock{"lease": l}
	}
	r, err := lock.NewRead(s, path)
	require.NoError(t, err)
	w, err := lock.NewWrite(s, path)
	require.NoError(t, err)
	return map[string]*lock.Lock{"read": r, "write": w}
}

// The checker can see what it is there for.
func TestTheCheckerSeesWhatSharedHoldersMustNotDo(t *testing.T) {
	t.Parallel()
	grant := func(what string, client int, token int64, weight int, call, ret int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: deed{what, client, token, weight}, Call: call, Return: ret}
	}
	for name, c := range map[string]struct {
		deeds []porcupine.Operation
		ok    bool
	}{
		"two readers":              {[]porcupine.Operation{grant("read", 0, 1, 0, 0, 1), grant("read", 1, 2, 0, 2, 3)}, true},
		"a writer beside a reader": {[]porcupine.Operation{grant("read", 0, 1, 0, 0, 1), grant("write", 1, 2, 0, 2, 3)}, false},
		"a reader beside a writer": {[]porcupine.Operation{grant("write", 0, 1, 0, 0, 1), grant("read", 1, 2, 0, 2, 3)}, false},
		"a writer behind a reader": {[]porcupine.Operation{grant("read", 0, 1, 0, 0, 1), grant("write", 1, 2, 0, 2, 9), grant("end", 0, 1, 0, 5, 5)}, true},
		"a token that shrinks":     {[]porcupine.Operation{grant("write", 0, 5, 0, 0, 1), grant("end", 0, 5, 0, 2, 2), grant("write", 1, 4, 0, 3, 4)}, false},
		"beside a downgraded":      {[]porcupine.Operation{grant("write", 0, 1, 0, 0, 1), grant("downgrade", 0, 1, 0, 2, 3), grant("read", 1, 2, 0, 4, 5)}, true},
		"a writer in between":      {[]porcupine.Operation{grant("write", 0, 1, 0, 0, 1), grant("write", 1, 2, 0, 2, 3), grant("downgrade", 0, 1, 0, 2, 4)}, false},
		"three of three":           {[]porcupine.Operation{grant("lease", 0, 1, 2, 0, 1), grant("lease", 1, 2, 1, 2, 3)}, true},
		"four of three":            {[]porcupine.Operation{grant("lease", 0, 1, 2, 0, 1), grant("lease", 1, 2, 2, 2, 3)}, false},
		"four of four":             {[]porcupine.Operation{grant("lease", 0, 1, 2, 0, 1), grant("limit", 2, 0, 4, 2, 3), grant("lease", 1, 2, 2, 4, 5)}, true},
	} {
		require.Equal(t, c.ok, porcupine.CheckOperations(holdersModel, c.deeds), name)
	}
}

// In virtual time: minutes of disconnections, and of partitions within and beyond the session's
// timeout, and of limits that change.
func TestSharedHistoriesUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 8, func(t *testing.T, seed uint64) {
		inBubble(t, func(w *world) {
			rng := rand.New(rand.NewPCG(seed, 31))
			semaphore := seed%2 == 1
			admin := w.Host("admin")
			var hosts []*bubble.Host
			for i := range 5 {
				hosts = append(hosts, w.Host(fmt.Sprint("h", i)))
			}
			c := &chronicle{t: w.T, began: time.Now()}
			ctx, stop := context.WithTimeout(w.Context(), 2*time.Minute)
			defer stop()
			slow := w.Server.Intercept(bubble.Slowly(seed))
			defer slow()
			var clients sync.WaitGroup
			for i, h := range hosts {
				own := rand.New(rand.NewPCG(seed, uint64(i)))
				clients.Go(func() { c.client(ctx, i, own, time.Second, locksOf(w.T, h.Session, i, semaphore)) })
			}
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rng.Int64N(int64(2 * time.Second))))
				if semaphore && rng.IntN(2) == 0 {
					c.setLimit(admin.Session, 3+rng.IntN(3))
					continue
				}
				w.afflict(rng, hosts[rng.IntN(len(hosts))])
			}
			clients.Wait()
			c.check(100)
		})
	})
}

// setLimit changes the limit, never below the greatest weight, which would end those who want it.
func (c *chronicle) setLimit(s *session.Session, n int) {
	asked := c.now()
	require.NoError(c.t, lock.SetLimit(context.Background(), s, "/permits", n))
	c.note(deed{what: "limit", client: mostClients - 1, weight: n}, asked, c.now())
}

// On three real servers that are killed, paused and cut off; expired sessions among it.
func TestSharedHistoriesOnRealServers(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for name, semaphore := range map[string]bool{"shared": false, "semaphore": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := tier.Seed(t.Name())
			tier.Again(t, seed)
			rng := rand.New(rand.NewPCG(seed, 2))
			e := ensemble.Start(t, 3)
			c := &chronicle{t: t, began: time.Now()}
			ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
			defer stop()
			var clients sync.WaitGroup
			for i := range 5 {
				s := bubble.Open(t, e.Proxied(), session.WithTimeout(shortTimeout))
				own := rand.New(rand.NewPCG(seed, uint64(i)))
				clients.Go(func() { c.client(ctx, i, own, 30*time.Millisecond, locksOf(t, s, i, semaphore)) })
			}
			for pause(ctx, rng, time.Second) {
				torment(ctx, t, e, rng)
			}
			clients.Wait()
			c.check(10)
		})
	}
}
