package twopc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/twopc"
)

// Hundreds of transactions while processes die and come back, connections break, hosts are cut off and sessions expire: what everybody promised and
// learned is a history that two-phase commit could have had.
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { faulty(w, rand.New(rand.NewPCG(seed, 9)), seed%2 == 1) })
		})
	}
}

// process is a coordinator's or a site's, which may be killed and started again.
type process struct {
	name  string
	host  *host
	c     *twopc.Coordinator
	alive bool
}

func faulty(w *world, rng *rand.Rand, peers bool) {
	l := newLedger()
	var all sync.WaitGroup
	form := []twopc.Option{twopc.WithVoteTimeout(5 * time.Second)}
	if peers {
		form = append(form, twopc.WithPeerDecision())
	}
	names := []string{"a", "b", "c"}
	votes := func(name string) func(string) bool {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 1))
		var mu sync.Mutex
		return func(string) bool {
			mu.Lock()
			pause, agree := time.Duration(mine.Int64N(int64(500*time.Millisecond))), mine.IntN(10) > 0
			mu.Unlock()
			time.Sleep(pause)
			return agree
		}
	}
	lives := 0
	start := func(p *process) {
		lives++
		p.host, p.alive = w.host(fmt.Sprint(p.name, lives)), true
		if p.name != "leader" {
			l.serve(&all, p.name, w.site(p.host, p.name), names, votes(p.name))
			return
		}
		c := w.coordinator(p.host, form...)
		p.c = c
		who := fmt.Sprint(p.name, lives)
		all.Go(func() { // ends when it has recovered, or is dead
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			taken, _ := c.Recover(ctx)
			for _, tx := range taken {
				l.follow(&all, who, tx, names)
			}
		})
	}
	var processes []*process
	for _, name := range []string{"leader", "a", "b", "c"} {
		p := &process{name: name}
		processes = append(processes, p)
		start(p)
	}
	for i := range 150 {
		c, who := processes[0].c, fmt.Sprint("leader", lives)
		id := fmt.Sprint("t", i)
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if tx, err := c.Begin(ctx, id, []byte(id), names...); err == nil {
				l.follow(&all, who, tx, names)
			}
		})
		time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
		p := processes[rng.IntN(len(processes))]
		switch rng.IntN(12) {
		case 0, 1:
			w.server.Disconnect(p.host.Status().SessionID)
		case 2:
			w.server.Expire(p.host.Status().SessionID)
		case 3:
			heal := p.host.machine.Partition()
			time.AfterFunc(time.Duration(rng.Int64N(int64(12*time.Second))), heal)
		case 4:
			p.host.die()
			time.Sleep(time.Duration(rng.Int64N(int64(8 * time.Second))))
			start(p)
		}
	}
	time.Sleep(time.Minute)
	processes[0].host.die() // whatever is left is recovered
	start(processes[0])
	for began := time.Now(); time.Since(began) < 5*time.Minute && len(w.nodes()) > 0; {
		time.Sleep(time.Second)
	}
	require.Empty(w, l.complaints())
	require.Empty(w, w.nodes())
	for _, p := range processes {
		require.NoError(w, p.host.Close(w.Context()))
	}
	w.ended(&all)
	commits, aborts := l.decided()
	w.Logf("%d committed, %d aborted", commits, aborts)
	require.Greater(w, commits, 20)
	require.Greater(w, aborts, 10)
}

// The checker finds what it is there to find.
func TestTheModelComplains(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]fact{
		"two outcomes":               {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {committed, "t", "c"}, {aborted, "t", "a"}},
		"a commit without all":       {{agreeing, "t", "a"}, {committed, "t", "c"}},
		"a promise that was broken":  {{agreeing, "t", "a"}, {agreed, "t", "a"}, {refused, "t", "a"}},
		"a commit against a refusal": {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {refused, "t", "b"}, {committed, "t", "a"}},
	} {
		l := newLedger()
		for _, f := range history {
			l.note(f.what, f.id, f.who, both...)
		}
		require.NotEmpty(t, l.complaints(), name)
	}
	l := newLedger()
	for _, f := range []fact{{agreeing, "t", "a"}, {agreeing, "t", "b"}, {agreed, "t", "b"}, {committed, "t", "c"}, {committed, "t", "a"}} {
		l.note(f.what, f.id, f.who, both...)
	}
	require.Empty(t, l.complaints())
}
