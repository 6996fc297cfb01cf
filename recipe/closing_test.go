package recipe_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// An instance that ends with its session while Close is at the end of a possession was not over
// when Close was called: nobody has confirmed that the znode is gone.
func TestAnInstanceThatEndsWhileCloseIsAtItsPossessions(t *testing.T) { //nolint:paralleltest // it holds up all possessions
	server := zktest.Start(t)
	s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
	require.NoError(t, err)
	i, err := recipe.NewClaims(recipe.ClaimsConfig[*recipe.Possession]{
		Session: s, Kind: "lock", Path: "/a/b", Name: "lock-",
		Machine: newAlone,
		Wrap:    func(p *recipe.Possession) *recipe.Possession { return p },
		Publish: func(machine.Standing) {},
	})
	require.NoError(t, err)
	p, err := i.Claim(t.Context(), false, recipe.Asked{})
	require.NoError(t, err)
	heal := server.Isolate()
	letGo := recipe.HoldUp()
	closed := make(chan error, 1)
	go func() { closed <- i.Close(context.Background()) }() // ends with the session
	<-p.Done()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
	<-i.Done()
	letGo()
	require.ErrorIs(t, <-closed, session.ErrClosed)
	heal()
	require.NoError(t, s.Close(t.Context()))
}
