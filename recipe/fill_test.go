package recipe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// However often somebody tries in vain while ZooKeeper can't be reached, nothing of that piles up:
// also while an incarnation waits to recover.
func TestWhatIsGivenUpDoesNotPileUp(t *testing.T) {
	t.Parallel()
	for name, crashes := range map[string]bool{"cut off": false, "cut off, and recovering": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := zktest.Start(t)
				s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
				require.NoError(t, err)
				defer func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					_ = s.Close(ctx) // it is closed, unless the test has failed
				}()
				i, err := recipe.NewClaims(recipe.ClaimsConfig[*recipe.Possession]{
					Session: s, Kind: "lock", Path: "/a/b", Name: "lock-",
					Machine: newAlone,
					Wrap:    func(p *recipe.Possession) *recipe.Possession { return p },
					Publish: func(machine.Standing) {},
				})
				require.NoError(t, err)
				before, err := i.Claim(t.Context(), false, recipe.Asked{})
				require.NoError(t, err)
				heal := server.Isolate()
				if crashes {
					crash.Instance(i, errors.New("a bug"))
					<-before.Done()
					time.Sleep(100 * time.Millisecond)
				}
				for range 100 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					_, err := i.Claim(ctx, false, recipe.Asked{})
					require.ErrorIs(t, err, context.DeadlineExceeded)
					i.Stand(recipe.Asked{})
					_ = i.StandDown(ctx) // nil if it knows at once that nothing came of it
					cancel()
				}
				synctest.Wait()
				require.LessOrEqual(t, i.Wishes(), 1)
				heal()
				_ = before.Release(t.Context()) // it was lost, where there was a crash
				p, err := i.Claim(t.Context(), false, recipe.Asked{})
				require.NoError(t, err)
				require.NoError(t, p.Release(t.Context()))
				require.NoError(t, i.Close(t.Context()))
				require.NoError(t, s.Close(t.Context()))
				require.Empty(t, server.Sessions())
			})
		})
	}
}
