package actors_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

// An assertion of package testing that fails inside an actor ends its goroutine. That is like a
// panic; the actor does not go without one.
func TestGoexitIsLikeAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		sys := actors.New(fewRestarts)
		ref := spawn(t, sys.Scope(), polly(func(cause error) {
			causes = append(causes, cause)
			runtime.Goexit()
		}))
		ref.Tell(func(*parrot) { runtime.Goexit() })
		ref.Tell(func(p *parrot) { p.said = append(p.said, "a") })
		require.Equal(t, []string{"a"}, ask(t, ref, func(p *parrot) []string { return p.said }), "what is queued is kept")
		require.Equal(t, 2, ask(t, ref, incarnation))
		require.Equal(t, []error{actors.ErrRestarting}, causes)
		closeSystem(t, sys)
		require.Equal(t, []error{actors.ErrRestarting, actors.ErrStopped}, causes)
	})
}

func TestGoexitTooOftenGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, ended := 0, []error(nil)
		sys := actors.New(fewRestarts)
		spec := polly(nil)
		spec.New = func(actors.Self[say]) actors.Receiver[say] {
			made++
			runtime.Goexit()
			return nil
		}
		spec.Ended = func(cause error) {
			ended = append(ended, cause)
			runtime.Goexit()
		}
		ref := spawn(t, sys.Scope(), spec)
		<-ref.Done()
		require.Equal(t, 4, made)
		require.Len(t, ended, 1)
		require.ErrorIs(t, ended[0], actors.ErrGivenUp)
		require.ErrorContains(t, ended[0], "Goexit")
		require.False(t, ref.Tell(func(*parrot) {}))
		require.Empty(t, sys.Tree())
		closeSystem(t, sys)
	})
}
