package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Every call that waits returns promptly when its context ends, at whatever request it was, and
// whether that is ever answered or not. What it was about is done in the background, or not at all,
// and nothing is left over.
func TestCancelAtAnyRequest(t *testing.T) {
	t.Parallel()
	calls := map[string]func(ctx context.Context, a *election.Election, term *election.Term, other string) error{
		"Proclaim": func(ctx context.Context, _ *election.Election, term *election.Term, _ string) error {
			return term.Proclaim(ctx, []byte("x"))
		},
		"Ready": func(ctx context.Context, _ *election.Election, term *election.Term, _ string) error {
			return term.Ready(ctx)
		},
		"TransferTo": func(ctx context.Context, _ *election.Election, term *election.Term, to string) error {
			return term.TransferTo(ctx, to)
		},
		"Resign": func(ctx context.Context, _ *election.Election, term *election.Term, _ string) error {
			return term.Resign(ctx)
		},
		"StandDown": func(ctx context.Context, a *election.Election, _ *election.Term, _ string) error {
			return a.Resign(ctx)
		},
		"Current": func(ctx context.Context, a *election.Election, _ *election.Term, _ string) error {
			_, err := a.Current(ctx)
			return err
		},
		"Candidates": func(ctx context.Context, a *election.Election, _ *election.Term, _ string) error {
			_, err := a.Candidates(ctx)
			return err
		},
		"Close": func(ctx context.Context, a *election.Election, _ *election.Term, _ string) error { return a.Close(ctx) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, more := 1, true; more; k++ {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					more = false
					bubble.Run(t, func(t *bubble.World) {
						s := t.Session()
						a, b := candidate(t, s, "a"), candidate(t, t.Session(), "b")
						term := leads(t, a)
						waits(t, b)
						candidates, err := b.Candidates(bubble.Minute(t))
						require.NoError(t, err)
						more = cancelled(t, s, k, func(ctx context.Context) error { return call(ctx, a, term, candidates[1].Path) })
						require.NoError(t, a.Close(bubble.Minute(t)))
						eventually(t, "nothing of a is left", func() bool { return slices.Equal([]string{"b"}, line(t, b)) })
					})
				})
				require.Less(t, k, 50, "the call has an end")
			}
		})
	}
}

// B41: the same for a campaign that is given up.
func TestB41_CancelledCampaignsLeaveNothing(t *testing.T) { //nolint:tparallel // whether there is a next one is known when this one is over
	t.Parallel()
	for k, more := 1, true; more; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			more = false
			bubble.Run(t, func(t *bubble.World) {
				s, watcher := t.Session(), candidate(t, t.Session(), "watcher")
				a := candidate(t, s, "a")
				var term *election.Term
				more = cancelled(t, s, k, func(ctx context.Context) (err error) {
					term, err = a.Lead(ctx)
					return err
				})
				if term != nil {
					require.NoError(t, term.Resign(bubble.Minute(t)))
				}
				eventually(t, "nothing is left", func() bool { return len(line(t, watcher)) == 0 })
			})
		})
		require.Less(t, k, 50, "the call has an end")
	}
}

// cancelled ends the context of a call at its k-th request, which is answered a second later; false
// if it did not have that many.
func cancelled(t *bubble.World, s *session.Session, k int, call func(ctx context.Context) error) bool {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("never mind")
	met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
		cancel(why)
		return zktest.Delay(time.Second)
	})
	began := time.Now()
	err := call(ctx)
	if !met() {
		cancel(nil)
		require.NoError(t, err)
		return false
	}
	require.Less(t, time.Since(began), time.Second, "promptly")
	if err != nil {
		require.ErrorIs(t, err, why)
	}
	return true
}
