package actors_test

// What an idle actor costs.

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/tier"
)

// counter counts down what it is told.
type counter struct{ left *sync.WaitGroup }

func (c counter) Receive(struct{}) { c.left.Done() }

// An idle actor has no goroutine; in soak, it has a kilobyte and a half of memory at the most. Not
// parallel: it measures the process.
func TestIdleActorsAreSmall(t *testing.T) {
	const n = 10_000
	sys := actors.New()
	refs := make([]actors.Ref[struct{}], n)
	var left sync.WaitGroup
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range refs {
		var err error
		refs[i], err = actors.Spawn(sys.Scope(), actors.Spec[struct{}]{Name: "one", Kind: "of many", New: func(actors.Self[struct{}]) actors.Receiver[struct{}] {
			return counter{&left}
		}})
		require.NoError(t, err)
	}
	for _, ref := range refs { // one after the other: it is the actors' memory that is measured, not that of as many goroutines at once
		left.Add(10)
		for range 10 {
			ref.Tell(struct{}{})
		}
		left.Wait()
	}
	each := (heap() - before) / n
	t.Logf("%d bytes an actor", each)
	if tier.Soaking() { // what the library's pools keep differs from run to run
		require.LessOrEqual(t, each, uint64(1536))
	}
	require.Less(t, runtime.NumGoroutine(), goroutines+20)
	require.Len(t, sys.Tree(), n)
	closeSystem(t, sys)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
