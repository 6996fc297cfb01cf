package session_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// believer is a client that keeps account of what it should be told of.
type believer struct {
	*session.Client
	mu sync.Mutex
	beliefs
	void int // counts what was taken back: the answer to what was asked before arms nothing
	told map[string]bool

	asking map[*bool]bool // reads that are not answered: one of a kind at a time
}

// beliefs are the watches that stand.
type beliefs struct {
	tree bool // of all of /tree
	data bool // of a read of /tree
	list bool // of a listing
}

func (b *believer) hear(n session.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ev, ok := n.(session.Fired)
	if !ok {
		return
	}
	b.told[brief(ev)] = true
	if ev.Path == "/tree" {
		switch ev.Type {
		case session.WatchRemoved:
			b.tree = false
		case session.NodeChildrenChanged:
			b.list = false
		case session.NodeDataChanged:
			b.data = false
		}
	}
}

// believe sets what an answer says, unless that was taken back since it was asked.
func (b *believer) believe(of *bool, void int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.asking, of)
	if void == b.void {
		*of = err == nil
	}
}

// act does something at random.
func (b *believer) act(rng *rand.Rand) {
	what := rng.IntN(9)
	of := map[int]*bool{0: &b.data, 1: &b.list}[what]
	b.mu.Lock()
	void, asked := b.void, b.asking[of]
	if of != nil {
		b.asking[of] = true
	}
	b.mu.Unlock()
	if asked {
		return
	}
	switch what {
	case 0:
		b.Read(1, "/tree", true, func(s session.Seen) { b.believe(&b.data, void, s.Err) })
	case 1:
		b.List(1, "/tree", true, func(l session.Listed) { b.believe(&b.list, void, l.Err) })
	case 2:
		b.mu.Lock()
		b.void++
		b.tree, b.data = false, false
		b.mu.Unlock()
		b.Unwatch(1, "/tree")
	default:
		b.Watch(1, "/tree", func(err error) { b.believe(&b.tree, void, err) })
	}
}

// Whatever the clients of a session ask for at the same path, whenever its connection goes, and
// however its answers are delayed: who believes that a watch stands is told of the next change.
func TestTreesAndReadsAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		version := []string{"3.8.0", "3.9.6"}[seed%2]
		t.Run(fmt.Sprint(version, " seed ", seed), func(t *testing.T) {
			inBubble(t, func(w *world) { treesAndReads(w, rand.New(rand.NewPCG(seed, 0))) }, zktest.WithVersion(version))
		})
	}
}

func treesAndReads(w *world, rng *rand.Rand) {
	s, other := w.open(), w.open()
	w.make(other, "/tree", "/tree/x")
	var all []*believer
	for range 3 {
		b := &believer{told: map[string]bool{}, asking: map[*bool]bool{}}
		var err error
		b.Client, err = s.Client("test", b.hear)
		require.NoError(w, err)
		all = append(all, b)
	}
	delays := rand.New(rand.NewPCG(rng.Uint64(), 0))
	defer w.intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != id(s) || delays.IntN(3) > 0 {
			return zktest.Pass
		}
		return zktest.Delay(time.Duration(delays.IntN(10)) * time.Millisecond)
	})()
	w.settle()
	for range 60 {
		switch rng.IntN(12) {
		case 0, 5:
			w.setData(other, "/tree")
		case 1, 6:
			_, err := other.Create(w.ctx, "/tree/n", nil, session.Sequential())
			require.NoError(w, err)
		case 2:
			w.srv.Disconnect(id(s))
		case 3, 4:
			time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		default:
			all[rng.IntN(len(all))].act(rng)
		}
	}
	time.Sleep(time.Minute)
	w.settle()
	var before []beliefs
	for _, b := range all {
		b.mu.Lock()
		before = append(before, b.beliefs)
		clear(b.told)
		b.mu.Unlock()
	}
	w.setData(other, "/tree/x")
	w.setData(other, "/tree")
	w.make(other, "/tree/y")
	w.settle()
	for i, b := range all {
		b.mu.Lock()
		told, was := b.told, before[i]
		b.mu.Unlock()
		if was.tree {
			require.Subset(w, told, map[string]bool{"fired NodeDataChanged /tree/x": true, "fired NodeDataChanged /tree": true, "fired NodeCreated /tree/y": true})
		}
		if was.data {
			require.Contains(w, told, "fired NodeDataChanged /tree")
		}
		if was.list {
			require.Contains(w, told, "fired NodeChildrenChanged /tree")
		}
	}
}
