package actors_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

// counter counts down what it is told.
type counter struct{ left *sync.WaitGroup }

func (c counter) Receive(struct{}) { c.left.Done() }

// BenchmarkTell is the cost of a message from the telling to the end of its Receive.
func BenchmarkTell(b *testing.B) {
	sys := actors.New()
	var left sync.WaitGroup
	ref, err := actors.Spawn(sys.Scope(), actors.Spec[struct{}]{New: func(actors.Self[struct{}]) actors.Receiver[struct{}] { return counter{&left} }})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		left.Add(1)
		ref.Tell(struct{}{})
	}
	left.Wait()
	require.NoError(b, sys.Close(b.Context()))
}

// BenchmarkSpawn is the cost of an actor from its spawning to its end.
func BenchmarkSpawn(b *testing.B) {
	sys := actors.New()
	b.ReportAllocs()
	for b.Loop() {
		ref, err := actors.Spawn(sys.Scope(), actors.Spec[say]{New: func(self actors.Self[say]) actors.Receiver[say] { return &parrot{self: self} }})
		require.NoError(b, err)
		ref.Stop()
		<-ref.Done()
	}
	require.NoError(b, sys.Close(b.Context()))
}
