package interop_test

// The simple barrier, one znode at the path, with those of Curator and kazoo.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// Each side raises and lowers the barrier, and the other sees that, waits, and goes on. The recipe
// page's barrier is the same znode.
func TestABarrierIsOneZnode(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, map[string]maker{
		"curator": {driver: javaDriver, client: "curator", recipe: "barrier"},
		"kazoo":   {driver: kazooDriver, client: "kazoo", recipe: "barrier"},
	}, func(t *testing.T, s *session.Session, address, path string, m maker) {
		us, them := must(barrier.New(s, path)), m.make(t, address, path)
		waits := m.make(t, address, path) // a driver's target does one thing at a time
		raised := func() bool {
			require.NoError(t, s.Sync(t.Context(), path))
			_, exists, err := s.Exists(t.Context(), path)
			require.NoError(t, err)
			return exists
		}
		passed := func(r reply) string {
			require.Empty(t, r.err)
			return r.values[0]
		}
		require.Equal(t, "yes", passed(them.d.call(them.recipe, "wait", "10000")), "none is raised")

		require.NoError(t, us.Raise(t.Context()))
		require.Equal(t, "no", passed(them.d.call(them.recipe, "wait", "100")))
		waiting := waits.d.send(waits.recipe, "wait", "30000")
		require.NoError(t, us.Lower(t.Context()))
		require.Equal(t, "yes", passed(waits.d.wait(waiting, "wait")))

		require.NoError(t, them.ask(them.recipe, "create"))
		require.True(t, raised())
		lowered := make(chan error, 1)
		go func() { lowered <- us.Wait(t.Context()) }() // ends with the barrier
		waiting = waits.d.send(waits.recipe, "wait", "30000")
		require.NoError(t, them.ask(them.recipe, "remove"))
		require.NoError(t, <-lowered)
		require.Equal(t, "yes", passed(waits.d.wait(waiting, "wait")))

		require.NoError(t, them.ask(them.recipe, "create"))
		require.NoError(t, us.Lower(t.Context()), "theirs")
		require.False(t, raised())
	})
}
