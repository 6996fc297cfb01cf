package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
			for k, more := int64(1), true; more; k++ {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					more = false
					bubbleHere(t, func(t *testing.T, z *zktest.Server) {
						s := connected(t, z)
						a, b := candidate(t, s, "a"), candidate(t, connected(t, z), "b")
						term := leads(t, a)
						waits(t, b)
						candidates, err := b.Candidates(patience(t))
						require.NoError(t, err)
						more = cancelled(t, z, s, k, func(ctx context.Context) error { return call(ctx, a, term, candidates[1].Path) })
						require.NoError(t, a.Close(patience(t)))
						eventually(t, "nothing of a is left", func() bool { return slices.Equal([]string{"b"}, line(t, b)) })
					})
				})
				require.Less(t, k, int64(50), "the call has an end")
			}
		})
	}
}

// B41: the same for a campaign that is given up.
func TestB41_CancelledCampaignsLeaveNothing(t *testing.T) { //nolint:tparallel // whether there is a next one is known when this one is over
	t.Parallel()
	for k, more := int64(1), true; more; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			more = false
			bubbleHere(t, func(t *testing.T, z *zktest.Server) {
				s, watcher := connected(t, z), candidate(t, connected(t, z), "watcher")
				a := candidate(t, s, "a")
				var term *election.Term
				more = cancelled(t, z, s, k, func(ctx context.Context) (err error) {
					term, err = a.Lead(ctx)
					return err
				})
				if term != nil {
					require.NoError(t, term.Resign(patience(t)))
				}
				eventually(t, "nothing is left", func() bool { return len(line(t, watcher)) == 0 })
			})
		})
		require.Less(t, k, int64(50), "the call has an end")
	}
}

// cancelled ends the context of a call at its k-th request, which is answered a second later; false
// if it did not have that many.
func cancelled(t *testing.T, z *zktest.Server, s *session.Session, k int64, call func(ctx context.Context) error) bool {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("never mind")
	count := kth(z, s, k, func() zktest.Verdict {
		cancel(why)
		return zktest.Delay(time.Second)
	})
	began := time.Now()
	err := call(ctx)
	if count.Load() < k {
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

// Any number of callers share one znode, and are served one after another.
func TestCallersShareOneZnode(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		a, watcher := candidate(t, connected(t, z), "a"), candidate(t, connected(t, z), "watcher")
		var leading, most, served int
		var mu sync.Mutex
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				term, err := a.Lead(patience(t))
				require.NoError(t, err)
				mu.Lock()
				leading, served = leading+1, served+1
				most = max(most, leading)
				mu.Unlock()
				require.Equal(t, []string{"a"}, line(t, watcher))
				mu.Lock()
				leading--
				mu.Unlock()
				require.NoError(t, term.Resign(patience(t)))
			})
		}
		callers.Wait()
		require.Equal(t, 1, most)
		require.Equal(t, 50, served)
		require.Empty(t, line(t, watcher))
	})
}
