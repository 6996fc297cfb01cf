package losses_test

// Histories: what clients saw of a possession of each kind under random faults, checked against
// what such a thing may do.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const (
	clients     = 5
	alone       = 100 // the weight of a client that holds alone, and the limit but for a semaphore
	counterPath = "/counter"
	patience    = time.Minute
)

// weights are what the two sides of a kind weigh where that is less.
var weights = map[string][2]int{"read lock": {1, alone}, "write lock": {alone, 1}, "downgraded lock": {1, alone}, "semaphore": {2, 3}}

// deed is what a client did, or saw.
type deed struct {
	what   string // granted, ended, limited
	client int
	weight int // when it was granted; of a limit, the number
	token  int64
}

// possessed is the state of what is contended for.
type possessed struct {
	held  [clients]int // the weight with which each client holds; 0: it does not
	limit int          // of the sum
	token int64        // the last one of a client that was alone
}

// possessionModel: clients that hold weigh no more than the limit. No token is older than the last
// one of a client that was alone; in a semaphore, whose limit is less, tokens have no order.
func possessionModel(limit int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return possessed{limit: limit} },
		Step: func(state, in, _ any) (bool, any) {
			l, d := state.(possessed), in.(deed)
			switch d.what {
			case "limited":
				l.limit = d.weight
				return true, l
			case "ended":
				ok := l.held[d.client] > 0
				l.held[d.client] = 0
				return ok, l
			}
			sum := d.weight
			for _, weight := range l.held {
				sum += weight
			}
			ok := l.held[d.client] == 0 && sum <= l.limit && (limit < alone || d.token > l.token)
			l.held[d.client] = d.weight
			if d.weight == alone {
				l.token = d.token
			}
			return ok, l
		},
		DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%+v", in) },
	}
}

// counterModel is a counter: an increment that is known to have happened returns the next number;
// one of unknown outcome may have happened or not.
var counterModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, in, out any) []any {
		n := state.(int64)
		switch {
		case out == nil && n+1 == in.(int64):
			return []any{n, n + 1}
		case out == nil:
			return []any{n}
		case n+1 == out.(int64):
			return []any{n + 1}
		}
		return nil
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprint(in, " ", out) },
}

// history is what clients saw.
type history struct {
	t     *testing.T
	began time.Time
	mu    sync.Mutex
	deeds []porcupine.Operation // grants, their ends, and limits
	adds  []porcupine.Operation // increments of a counter by those who were alone
}

func (h *history) at(t time.Time) int64 { return int64(t.Sub(h.began)) }

func (h *history) record(ops *[]porcupine.Operation, client int, in, out any, call, ret time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*ops = append(*ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: h.at(call), Return: h.at(ret)})
}

// client wants something again and again until ctx ends, and holds it for a while.
func (h *history) client(ctx context.Context, id, weight int, c *contender, rng *rand.Rand, most time.Duration) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = c.close(ctx)
	}()
	for from := time.Now(); ctx.Err() == nil; from = time.Now() {
		c.want()
		select {
		case g := <-c.won:
			h.record(&h.deeds, id, deed{"granted", id, weight, g.Token()}, nil, from, g.at)
			ended := make(chan struct{})
			go func() { // ends with the grant
				defer close(ended)
				<-g.Done()
				h.record(&h.deeds, id, deed{"ended", id, weight, g.Token()}, nil, time.Now(), time.Now())
			}()
			if weight == alone {
				h.increment(ctx, id, c.host.Session, g)
			}
			select {
			case <-time.After(time.Duration(rng.Int64N(int64(most)))):
			case <-g.Done():
			case <-ctx.Done():
			}
			stop, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = c.stop(stop)
			cancel()
			select {
			case <-ended:
			case <-time.After(patience):
				h.t.Error("what was given up goes on")
			}
		case <-c.refused: // with the end of the test, or lost meanwhile
		case <-ctx.Done():
		}
	}
}

func (h *history) increment(ctx context.Context, id int, s *session.Session, p possession) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.Context(), cancel)()
	for range 3 {
		data, _, err := s.Get(ctx, counterPath)
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil {
			h.t.Error(err)
			return
		}
		from := time.Now()
		_, err = p.Commit(ctx, session.SetOp(counterPath, strconv.AppendInt(nil, n+1, 10), -1))
		switch {
		case err == nil:
			h.record(&h.adds, id, n+1, n+1, from, time.Now())
		case errors.Is(err, session.ErrUnknownOutcome): // then, or later, or never
			h.record(&h.adds, id, n+1, nil, from, h.began.Add(math.MaxInt64))
		}
	}
}

func (h *history) check(limit, least int) {
	h.t.Helper()
	h.t.Logf("%d grants, ends and limits, %d increments", len(h.deeds), len(h.adds))
	require.GreaterOrEqual(h.t, len(h.deeds), 2*least)
	require.Equal(h.t, porcupine.Ok, porcupine.CheckOperationsTimeout(possessionModel(limit), h.deeds, patience), "more held at once than may, or a token did not grow")
	require.Equal(h.t, porcupine.Ok, porcupine.CheckOperationsTimeout(counterModel.ToModel(), h.adds, patience), "an increment was lost, or happened outside a possession")
}

// In virtual time: minutes of disconnections, of partitions within and beyond the session's
// timeout, and of limits that change. (A session that the server ends out of turn is no part of
// that: nobody could know of it in time.)
func TestHistories(t *testing.T) {
	t.Parallel()
	for name, k := range kinds {
		if name == "passage" {
			continue // see the histories of package barrier
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tier.Seeds(t, tier.Count(3, 12), func(t *testing.T, seed uint64) {
				inBubble(t, func(w *world) { w.history(name, k, seed) })
			})
		})
	}
}

func (w *world) history(name string, k kind, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	admin := w.Host("admin")
	must(admin.Create(w.Context(), counterPath, []byte("0")))
	ctx, stop := context.WithTimeout(w.Context(), 2*time.Minute)
	defer stop()
	defer w.Server.Intercept(bubble.Slowly(seed))()
	var hosts []*bubble.Host
	h, over := w.contend(ctx, name, k, seed, time.Second/3, func(i int) *bubble.Host {
		hosts = append(hosts, w.Host(fmt.Sprint("h", i)))
		return hosts[i]
	})
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Second))))
		victim := hosts[rng.IntN(len(hosts))]
		switch n := rng.IntN(6); {
		case n < 2:
			if id := victim.Status().SessionID; id != 0 {
				w.Server.Disconnect(id)
			}
		case n == 2 && name == "semaphore":
			from, limit := time.Now(), 3+rng.IntN(3)
			require.NoError(w, must(lock.NewSemaphore(admin.Session, path, limit)).SetLimit(w.Context(), limit))
			h.record(&h.deeds, 0, deed{what: "limited", weight: limit}, nil, from, time.Now())
		default:
			heal := victim.Machine.Partition()
			time.Sleep(time.Duration(rng.Int64N(int64(15 * time.Second))))
			heal()
		}
	}
	over()
	h.check(limitOf(name), 20)
}

func limitOf(name string) int {
	if name == "semaphore" {
		return 3
	}
	return alone
}

// contend has clients contend until ctx ends, by turns of the kind's one and of its rival.
func (w *world) contend(ctx context.Context, name string, k kind, seed uint64, most time.Duration, host func(i int) *bubble.Host) (h *history, over func()) {
	w.taken = true // recordGrant does not check: the model does
	h = &history{t: w.T, began: time.Now()}
	var running sync.WaitGroup
	for i := range clients {
		c, weight := k.one(w, host(i)), alone
		if i%2 == 1 {
			c = k.rival(w, c.host)
		}
		if both, lighter := weights[name]; lighter {
			weight = both[i%2]
		}
		running.Go(func() { h.client(ctx, i, weight, c, rand.New(rand.NewPCG(seed, uint64(i))), most) })
	}
	return h, running.Wait
}

// On three real servers that are killed, stopped and cut off.
func TestHistoriesOnRealServers(t *testing.T) {
	tier.Soak(t)
	for name, k := range kinds {
		if name == "passage" || name == "queue item" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seed := tier.Seed(t.Name())
			tier.Again(t, seed)
			rng := rand.New(rand.NewPCG(seed, 2))
			e := ensemble.Start(t, 3)
			must(bubble.Open(t, e.Servers()).Create(t.Context(), counterPath, []byte("0")))
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			w := &world{World: &bubble.World{T: t}}
			h, over := w.contend(ctx, name, k, seed, 30*time.Millisecond, func(int) *bubble.Host {
				return &bubble.Host{Session: bubble.Open(t, e.Proxied(), session.WithTimeout(2*time.Second))}
			})
			for pause(ctx, rng, time.Second) {
				torment(ctx, t, e, rng)
			}
			over()
			h.check(limitOf(name), 5)
		})
	}
}

// torment does something to one of three servers, and makes it good.
func torment(ctx context.Context, t *testing.T, e *ensemble.Ensemble, rng *rand.Rand) {
	t.Helper()
	i, heal := rng.IntN(3), func() {}
	switch rng.IntN(4) {
	case 0:
		e.Kill(i)
		heal = func() { require.NoError(t, e.Restart(i)) }
	case 1:
		e.Stop(i)
		heal = func() { e.Continue(i) }
	case 2:
		heal = e.Isolate(i)
	case 3:
		e.Proxies()[i].Blackhole()
		heal = e.Proxies()[i].Heal
	}
	pause(ctx, rng, 3*time.Second)
	heal()
}

// pause waits for up to d; false if ctx has ended.
func pause(ctx context.Context, rng *rand.Rand, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(rng.Int64N(int64(d)))):
		return true
	}
}

// The checker can see what it is there for.
func TestTheCheckerSeesWhatMustNotBe(t *testing.T) {
	t.Parallel()
	of := func(client, weight int, token, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: deed{"granted", client, weight, token}, Call: call, Return: ret}
	}
	end := func(client int, at int64) porcupine.Operation {
		return porcupine.Operation{Input: deed{what: "ended", client: client}, Call: at, Return: at}
	}
	for name, c := range map[string]struct {
		limit int
		deeds []porcupine.Operation
		ok    bool
	}{
		"two readers":              {alone, []porcupine.Operation{of(0, 1, 1, 0, 1), of(1, 1, 2, 2, 3)}, true},
		"a writer beside a reader": {alone, []porcupine.Operation{of(0, 1, 1, 0, 1), of(1, alone, 2, 2, 3)}, false},
		"a reader beside a writer": {alone, []porcupine.Operation{of(0, alone, 1, 0, 1), of(1, 1, 2, 2, 3)}, false},
		"a writer behind a reader": {alone, []porcupine.Operation{of(0, 1, 1, 0, 1), of(1, alone, 2, 2, 9), end(0, 5)}, true},
		"a token that shrinks":     {alone, []porcupine.Operation{of(0, alone, 5, 0, 1), end(0, 2), of(1, alone, 4, 3, 4)}, false},
		"three of three":           {3, []porcupine.Operation{of(0, 2, 1, 0, 1), of(1, 1, 2, 2, 3)}, true},
		"four of three":            {3, []porcupine.Operation{of(0, 2, 1, 0, 1), of(1, 2, 2, 2, 3)}, false},
	} {
		require.Equal(t, c.ok, porcupine.CheckOperations(possessionModel(c.limit), c.deeds), name)
	}
	twice := []porcupine.Operation{{Input: int64(1), Output: int64(1), Call: 0, Return: 1}, {ClientId: 1, Input: int64(1), Output: int64(1), Call: 2, Return: 3}}
	require.False(t, porcupine.CheckOperations(counterModel.ToModel(), twice))
}
