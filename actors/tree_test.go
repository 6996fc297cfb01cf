package actors_test

// The tree of actors: its order, how it ends, and what is seen of it. Helpers: actors_test.go.

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

func TestStoppingEndsWhatIsBelowFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		named := func(name string) actors.Spec[say] {
			spec := polly(nil)
			spec.Name = name
			spec.Ended = func(error) { mu.Lock(); defer mu.Unlock(); order = append(order, name) }
			return spec
		}
		sys := newSystem()
		group, err := sys.Scope().Group("family", "group")
		require.NoError(t, err)
		parent := spawn(t, group, named("parent"))
		child := spawn(t, ask(t, parent, scope), named("child"))
		spawn(t, ask(t, child, scope), named("grandchild"))
		group.Stop()
		<-group.Done()
		require.Equal(t, []string{"grandchild", "child", "parent"}, order)
		_, err = group.Group("late", "group")
		require.ErrorIs(t, err, actors.ErrStopped)
		_, err = actors.Spawn(group, polly(nil))
		require.ErrorIs(t, err, actors.ErrStopped)
		require.Empty(t, sys.Tree())
		closeSystem(t, sys)
	})
}

func TestAStoppedActorHearsHowWhatIsBelowItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem()
		parent := spawn(t, sys.Scope(), polly(nil))
		heard := false
		below := polly(nil)
		below.Ended = func(error) {
			parent.Tell(func(*parrot) { heard = true })
			time.Sleep(time.Second)
		}
		spawn(t, ask(t, parent, scope), below)
		parent.Stop()
		<-parent.Done()
		require.True(t, heard)
		closeSystem(t, sys)
	})
}

func TestTreeShowsWhatLivesInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem()
		var refs []actors.Ref[say]
		family, err := sys.Scope().Group("family", "group")
		require.NoError(t, err)
		for _, name := range []string{"a", "b", "c", "d"} {
			spec := polly(nil)
			spec.Name = name
			refs = append(refs, spawn(t, family, spec))
		}
		names := func() (names []string) {
			for _, n := range sys.Tree()[0].Children {
				names = append(names, n.Name)
			}
			return names
		}
		require.Equal(t, []string{"a", "b", "c", "d"}, names())
		for _, step := range []struct {
			stop int
			left []string
		}{{1, []string{"a", "c", "d"}}, {0, []string{"c", "d"}}, {3, []string{"c"}}, {2, nil}} {
			refs[step.stop].Stop()
			<-refs[step.stop].Done()
			require.Equal(t, step.left, names())
		}
		require.Equal(t, []actors.Node{{Name: "family", Kind: "group"}}, sys.Tree())
		closeSystem(t, sys)
	})
}

func TestCloseIsIdempotentAndBoundedByItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := newSystem()
		slow := polly(nil)
		slow.Ended = func(error) { time.Sleep(time.Minute) }
		spawn(t, sys.Scope(), slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, sys.Close(ctx), context.DeadlineExceeded)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { closeSystem(t, sys) })
		}
		all.Wait()
		<-sys.Done()
		require.NoError(t, sys.Close(ctx), "it is closed: the context does not matter any more")
		_, err := actors.Spawn(sys.Scope(), polly(nil))
		require.ErrorIs(t, err, actors.ErrStopped)
		_, err = sys.Scope().Group("late", "group")
		require.ErrorIs(t, err, actors.ErrStopped)
	})
}

// TestEverythingAtOnce has no outcome but that it ends: it is for the race detector, and for actors
// that would be left behind.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	sys := newSystem(actors.WithRestarts(actors.Restarts{Min: time.Microsecond, Max: time.Microsecond, Limit: 5}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				tumult(ctx, sys.Scope())
			}
		})
	}
	all.Wait()
	require.NoError(t, sys.Close(ctx))
	require.Empty(t, sys.Tree())
}

// tumult spawns, panics, asks and stops, all at the same time.
func tumult(ctx context.Context, in actors.Scope) {
	group, err := in.Group("tumult", "group")
	if err != nil {
		return
	}
	ref, err := actors.Spawn(group, polly(nil))
	if err != nil {
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range 3 {
			ref.Tell(func(p *parrot) { _, _ = actors.Spawn(p.self.Scope(), polly(nil)) })
			ref.Tell(func(*parrot) { panic("x") })
		}
	})
	all.Go(func() {
		reached := make(chan struct{})
		ref.Tell(func(*parrot) { close(reached) })
		select {
		case <-reached:
		case <-ref.Done():
		case <-ctx.Done():
		}
		group.Stop()
	})
	all.Go(ref.Stop)
	all.Wait()
	<-group.Done()
	<-ref.Done()
}
