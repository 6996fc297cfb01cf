package recipe_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A claim that comes while an incarnation recovers is found in the ledger, and its message comes
// behind that. It is one claim all the same: one possession, one znode, and nothing left to want
// when it is released.
func TestAClaimDuringARecoveryIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		var standing machine.Standing
		i, err := recipe.NewClaims(recipe.ClaimsConfig[*recipe.Possession]{
			Session: s, Kind: "lock", Path: "/a/b", Name: "lock-",
			Machine: newAlone,
			Wrap:    func(p *recipe.Possession) *recipe.Possession { return p },
			Publish: func(m machine.Standing) { standing = m },
		})
		require.NoError(t, err)
		before, err := i.Claim(t.Context(), false, recipe.Asked{})
		require.NoError(t, err)
		remove := server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti { // with which a recovery begins
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		crash.Instance(i, errors.New("a bug"))
		<-before.Done()
		synctest.Wait()
		claimed := make(chan *recipe.Possession, 1)
		go func() {
			p, err := i.Claim(t.Context(), false, recipe.Asked{})
			assert.NoError(t, err)
			claimed <- p
		}()
		time.Sleep(500 * time.Millisecond)
		require.Empty(t, claimed, "it recovers")
		server.ClearJournal()
		p := <-claimed
		remove()
		require.NoError(t, p.Release(t.Context()))
		time.Sleep(time.Second)
		synctest.Wait()
		creates := 0
		for _, r := range server.Journal() {
			if r.Op == zktest.OpCreate2 {
				creates++
			}
		}
		require.Equal(t, 1, creates)
		require.Equal(t, machine.Standing{}, standing)
		require.NoError(t, i.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()))
	})
}
