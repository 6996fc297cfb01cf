package barrier_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// patience bounds what happens on real servers and a busy machine.
const patience = time.Minute

// real opens a session on real servers, one that a busy machine does not lose.
func real(t *testing.T, servers []string, opts ...session.Option) *session.Session {
	t.Helper()
	return bubble.Open(t, servers, append([]session.Option{session.WithTimeout(20 * time.Second)}, opts...)...)
}

// soon receives in time.
func soon[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %v", what, patience)
		panic("unreachable")
	}
}

// notYet fails if the channel delivers at once.
func notYet[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	select {
	case <-c:
		t.Fatal(what)
	default:
	}
}

func realTeam(t *testing.T, servers []string, parties int) (doubles []*barrier.Double) {
	t.Helper()
	for i := range parties {
		d, err := barrier.NewDouble(real(t, servers), path, parties, barrier.WithID(fmt.Sprint("p", i)))
		require.NoError(t, err)
		doubles = append(doubles, d)
	}
	return doubles
}

func realEnter(t *testing.T, doubles ...*barrier.Double) (passages []*barrier.Passage) {
	t.Helper()
	for _, d := range doubles {
		d.Arrive()
	}
	for _, d := range doubles {
		passages = append(passages, soon(t, d.Entered(), "the opening"))
	}
	for _, p := range passages {
		require.Equal(t, passages[0].Round(), p.Round())
		require.Equal(t, passages[0].Members(), p.Members())
	}
	return passages
}

// The barriers' whole life on real servers, one and three.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			realGate(t, e.Servers())
			doubles := realTeam(t, e.Servers(), 4)
			for round := range int64(5) {
				passages := realEnter(t, doubles...)
				require.Equal(t, round+1, passages[0].Round())
				for _, p := range passages[1:] {
					p.Depart()
				}
				notYet(t, passages[1].Left(), "one is inside")
				passages[0].Depart()
				for _, p := range passages {
					soon(t, p.Left(), "the end of the round")
				}
			}
			realTrouble(t, e.Servers(), doubles)
		})
	}
}

func realGate(t *testing.T, servers []string) {
	t.Helper()
	a, err := barrier.New(real(t, servers), gatePath)
	require.NoError(t, err)
	b, err := barrier.New(real(t, servers), gatePath)
	require.NoError(t, err)
	require.NoError(t, a.Raise(t.Context()))
	passed := make(chan error, 1)
	go func() { passed <- b.Wait(t.Context()) }()
	lowered := b.Lowered(t.Context())
	notYet(t, lowered, "it is up")
	require.NoError(t, a.Lower(t.Context()))
	require.NoError(t, soon(t, passed, "the gate"))
	soon(t, lowered, "the gate")
}

// realTrouble: one gives up, one breaks, one dies inside, one is one too many.
func realTrouble(t *testing.T, servers []string, doubles []*barrier.Double) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := doubles[0].Enter(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	errs := make(chan error, 1)
	go func() { _, err := doubles[0].Enter(t.Context()); errs <- err }()
	for broken := false; !broken; { // it may not stand yet
		require.NoError(t, doubles[1].Break(t.Context()))
		select {
		case err := <-errs:
			require.ErrorIs(t, err, barrier.ErrBroken)
			broken = true
		case <-time.After(10 * time.Millisecond):
		}
	}

	passages := realEnter(t, doubles...)
	extra, err := barrier.NewDouble(real(t, servers), path, len(doubles))
	require.NoError(t, err)
	_, err = extra.Enter(t.Context())
	require.ErrorIs(t, err, barrier.ErrCrowd)
	for _, p := range passages[:3] {
		p.Depart()
	}
	require.NoError(t, passages[3].Session().Close(t.Context())) // as good as dead, to the others
	for _, p := range passages[:3] {
		soon(t, p.Left(), "the end of the round")
	}
}
