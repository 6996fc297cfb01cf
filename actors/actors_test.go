package actors_test

// An actor and its messages, from its spawning to its end.

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

func TestMessagesArriveInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		ref := spawn(t, sys.Scope(), polly(nil))
		var got []int
		for i := range 1000 {
			require.True(t, ref.Tell(func(*parrot) { got = append(got, i) }))
		}
		synctest.Wait()
		require.Len(t, got, 1000)
		for i := range got {
			require.Equal(t, i, got[i])
		}
		closeSystem(t, sys)
	})
}

func TestAnActorMayTellItselfAndKnowsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		heard := make(chan string, 1)
		ref := spawn(t, sys.Scope(), actors.Spec[say]{New: func(self actors.Self[say]) actors.Receiver[say] {
			self.Ref().Tell(func(p *parrot) { heard <- "from New" })
			return &parrot{self: self}
		}})
		require.Equal(t, "from New", <-heard)
		require.Equal(t, ref, ask(t, ref, func(p *parrot) actors.Ref[say] { return p.self.Ref() }))
		closeSystem(t, sys)
	})
}

func TestAStoppedActorIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		var causes, ended []error
		spec := polly(func(cause error) { causes = append(causes, cause) })
		spec.Ended = func(cause error) { ended = append(ended, cause) }
		ref := spawn(t, sys.Scope(), spec)
		require.Equal(t, 1, ask(t, ref, incarnation))
		ref.Stop()
		ref.Stop()
		require.False(t, ref.Tell(func(*parrot) { t.Error("received after the stop") }))
		<-ref.Done()
		require.Equal(t, []error{actors.ErrStopped}, causes)
		require.Equal(t, []error{nil}, ended)
		require.Empty(t, sys.Tree())
		closeSystem(t, sys)
	})
}

func TestZeroValuesReachNobody(t *testing.T) {
	t.Parallel()
	var ref actors.Ref[say]
	require.False(t, ref.Tell(func(*parrot) {}))
	ref.Stop()
	<-ref.Done()

	var nowhere actors.Scope
	nowhere.Stop()
	<-nowhere.Done()
}
