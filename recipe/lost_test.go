package recipe_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Where a delay is kept, the record of a possession that was lost stays, though its claim is
// withdrawn before the actor has heard of the loss; that of one that was given up goes with it.
func TestTheRecordOfALostPossessionStays(t *testing.T) {
	t.Parallel()
	type instance = recipe.Claims[*recipe.Possession]
	standDown, closeIt := (*instance).StandDown, (*instance).Close
	stand := func(t *testing.T, i *instance) *recipe.Possession {
		i.Stand(recipe.Asked{})
		return <-i.Won()
	}
	claim := func(t *testing.T, i *instance) *recipe.Possession {
		p, err := i.Claim(t.Context(), false, recipe.Asked{})
		require.NoError(t, err)
		return p
	}
	for _, c := range []struct {
		name   string
		take   func(t *testing.T, i *instance) *recipe.Possession
		giveUp func(i *instance, ctx context.Context) error
		lost   bool
	}{
		{"lost, and the intent withdrawn", stand, standDown, true},
		{"lost, and closed", stand, closeIt, true},
		{"a caller's, lost, and closed", claim, closeIt, true},
		{"the intent withdrawn", stand, standDown, false},
		{"closed", stand, closeIt, false},
		{"a caller's, closed", claim, closeIt, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := zktest.Start(t)
				own := server.Host("own")
				s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(own.Dialer()))
				require.NoError(t, err)
				i, err := recipe.NewClaims(recipe.ClaimsConfig[*recipe.Possession]{
					Session: s, Kind: "lock", Path: "/a", Name: "lock-",
					Machine: newRecorded,
					Wrap:    func(p *recipe.Possession) *recipe.Possession { return p },
					Publish: func(machine.Standing) {},
				})
				require.NoError(t, err)
				p := c.take(t, i)
				letGo := i.Occupy()
				if c.lost {
					heal := own.Partition()
					<-p.Done()
					heal()
				}
				ended := make(chan struct{})
				go func() { // ends with its deletion
					assert.NoError(t, c.giveUp(i, t.Context()))
					close(ended)
				}()
				synctest.Wait()
				letGo()
				<-ended
				require.NotContains(t, server.Dump(), p.Path())
				if c.lost {
					require.Contains(t, server.Dump(), "/a/held")
				} else {
					require.NotContains(t, server.Dump(), "/a/held")
				}
				require.NoError(t, i.Close(t.Context()))
				require.NoError(t, s.Close(t.Context()))
			})
		})
	}
}
