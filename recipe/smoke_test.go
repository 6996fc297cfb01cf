package recipe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		i, err := recipe.NewClaims(recipe.ClaimsConfig[*recipe.Possession]{
			Session: s, Kind: "lock", Path: "/a/b", Name: "lock-",
			Machine: newAlone,
			Wrap:    func(p *recipe.Possession) *recipe.Possession { return p },
			Publish: func(m machine.Standing) { t.Log(m) },
		})
		require.NoError(t, err)
		for range 3 {
			p, err := i.Claim(t.Context(), false, recipe.Asked{})
			require.NoError(t, err)
			t.Log(p.Path(), p.Token())
			require.NoError(t, p.Release(t.Context()))
		}
		i.Stand(recipe.Asked{})
		p := <-i.Won()
		time.Sleep(time.Minute)
		require.True(t, p.Valid())
		require.NoError(t, i.StandDown(t.Context()))
		require.NoError(t, i.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()))
	})
}
