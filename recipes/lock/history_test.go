package lock_test

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

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const counterPath = "/counter"

// history is what clients saw, for a checker.
type history struct {
	began time.Time
	mu    sync.Mutex
	locks []porcupine.Operation // grants and their ends
	adds  []porcupine.Operation // increments of a counter under the lock
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

func (h *history) note(ops *[]porcupine.Operation, client int, in, out any, call, ret int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*ops = append(*ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: ret})
}

// lockModel is a lock: it is granted when it is free, by a token larger than all before, and ended
// by its holder.
var lockModel = porcupine.Model{
	Init: func() any { return [2]int64{} }, // the holder's token, 0 for none; the largest token
	Step: func(state, in, out any) (bool, any) {
		s, token := state.([2]int64), out.(int64)
		if in == "grant" {
			return s[0] == 0 && token > s[1], [2]int64{token, token}
		}
		return s[0] == token, [2]int64{0, s[1]}
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprint(in, " ", out) },
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

// client takes the lock again and again until ctx ends, and increments the counter while it holds.
func (h *history) client(ctx context.Context, t *testing.T, id int, s *session.Session, opts ...lock.Option) {
	l, err := lock.New(s, path, opts...)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = l.Close(ctx)
	}()
	for ctx.Err() == nil {
		asked := h.now()
		g, err := l.Lock(ctx)
		if err != nil {
			return
		}
		h.note(&h.locks, id, "grant", g.Token(), asked, h.now())
		ended := make(chan struct{})
		go func() { // ends with the grant
			defer close(ended)
			<-g.Done()
			at := h.now()
			h.note(&h.locks, id, "end", g.Token(), at, at)
		}()
		for range 3 {
			h.increment(ctx, t, id, s, g)
		}
		release, cancel := context.WithTimeout(ctx, time.Second)
		_ = g.Release(release)
		cancel()
		awaitEnd(t, ended)
	}
}

// awaitEnd waits for the end of a grant that was released: a client that waited for ever would hang
// the test, in a bubble too, where time goes on.
func awaitEnd(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("a grant that was released goes on")
	}
}

func (h *history) increment(ctx context.Context, t *testing.T, id int, s *session.Session, g *lock.Grant) {
	ctx, cancel := session.Within(ctx, g.Hold)
	defer cancel()
	data, _, err := s.Get(ctx, counterPath)
	if err != nil {
		return
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		t.Error(err)
		return
	}
	asked := h.now()
	_, err = g.Commit(ctx, session.SetOp(counterPath, strconv.AppendInt(nil, n+1, 10), -1))
	switch {
	case err == nil:
		h.note(&h.adds, id, n+1, n+1, asked, h.now())
	case errors.Is(err, session.ErrUnknownOutcome):
		h.note(&h.adds, id, n+1, nil, asked, math.MaxInt64)
	}
}

// check asks the checker, and wants to have seen enough to ask about.
func (h *history) check(t *testing.T, atLeast int) {
	t.Helper()
	t.Logf("%d grants and ends, %d increments", len(h.locks), len(h.adds))
	require.GreaterOrEqual(t, len(h.locks), 2*atLeast)
	require.GreaterOrEqual(t, len(h.adds), atLeast)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(lockModel, h.locks, patience), "two held at once, or a token did not grow")
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(counterModel.ToModel(), h.adds, patience), "an increment was lost, or happened outside the lock")
}

// The checker can see what it is there for.
func TestTheCheckerSeesAnOverlapAndALostIncrement(t *testing.T) {
	t.Parallel()
	overlap := []porcupine.Operation{
		{ClientId: 0, Input: "grant", Output: int64(1), Call: 0, Return: 1},
		{ClientId: 1, Input: "grant", Output: int64(2), Call: 1, Return: 3},
		{ClientId: 0, Input: "end", Output: int64(1), Call: 4, Return: 4},
	}
	require.False(t, porcupine.CheckOperations(lockModel, overlap))
	overlap[2].Call, overlap[2].Return = 2, 2
	require.True(t, porcupine.CheckOperations(lockModel, overlap))
	twice := []porcupine.Operation{
		{ClientId: 0, Input: int64(1), Output: int64(1), Call: 0, Return: 1}, {ClientId: 1, Input: int64(1), Output: int64(1), Call: 2, Return: 3},
	}
	require.False(t, porcupine.CheckOperations(counterModel.ToModel(), twice))
}

// In virtual time: minutes of disconnections, and of partitions within and beyond the session's
// timeout. (A session that the server ends out of turn is no part of that: nobody could know of it
// in time.)
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 10, func(t *testing.T, seed uint64) {
		inBubble(t, func(w *world) { w.historyUnderFaults(seed) })
	})
}

func (w *world) historyUnderFaults(seed uint64, opts ...lock.Option) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var hosts []*bubble.Host
	for i := range 4 {
		hosts = append(hosts, w.Host(fmt.Sprint("h", i)))
	}
	_, err := hosts[0].Create(w.Context(), counterPath, []byte("0"))
	require.NoError(w, err)
	h := &history{began: time.Now()}
	ctx, stop := context.WithTimeout(w.Context(), 2*time.Minute)
	defer stop()
	slow := w.Server.Intercept(bubble.Slowly(seed))
	defer slow()
	var clients sync.WaitGroup
	for i, c := range hosts {
		clients.Go(func() { h.client(ctx, w.T, i, c.Session, opts...) })
	}
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Second))))
		w.afflict(rng, hosts[rng.IntN(len(hosts))])
	}
	clients.Wait()
	h.check(w.T, 100)
}

// afflict cuts a host off: a connection for a moment, or its packets for up to fifteen seconds.
func (w *world) afflict(rng *rand.Rand, victim *bubble.Host) {
	if rng.IntN(3) == 0 {
		w.Server.Disconnect(victim.Status().SessionID)
		return
	}
	heal := victim.Machine.Partition()
	time.Sleep(time.Duration(rng.Int64N(int64(15 * time.Second))))
	heal()
}

// On three real servers that are killed, paused and cut off.
func TestHistoryOnRealServers(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	historyOnRealServers(t)
}

func historyOnRealServers(t *testing.T, opts ...lock.Option) {
	t.Helper()
	seed := tier.Seed(t.Name())
	tier.Again(t, seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	e := ensemble.Start(t, 3)
	setup := bubble.Open(t, e.Servers())
	_, err := setup.Create(t.Context(), counterPath, []byte("0"))
	require.NoError(t, err)
	h := &history{began: time.Now()}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var clients sync.WaitGroup
	for i := range 4 {
		s := bubble.Open(t, e.Proxied(), session.WithTimeout(shortTimeout))
		clients.Go(func() { h.client(ctx, t, i, s, opts...) })
	}
	for pause(ctx, rng, time.Second) {
		torment(ctx, t, e, rng)
	}
	clients.Wait()
	h.check(t, 10)
}

// torment does something to one of three servers, and makes it good.
func torment(ctx context.Context, t *testing.T, e *ensemble.Ensemble, rng *rand.Rand) {
	t.Helper()
	i := rng.IntN(3)
	switch rng.IntN(4) {
	case 0:
		e.Kill(i)
		pause(ctx, rng, 2*time.Second)
		require.NoError(t, e.Restart(i))
	case 1:
		e.Stop(i)
		pause(ctx, rng, 3*time.Second)
		e.Continue(i)
	case 2:
		heal := e.Isolate(i)
		pause(ctx, rng, 4*time.Second)
		heal()
	case 3:
		e.Proxies()[i].Blackhole()
		pause(ctx, rng, 3*time.Second)
		e.Proxies()[i].Heal()
	}
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
