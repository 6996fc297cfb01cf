package election_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// as is a session with an identity of its own.
func as(c *bubble.Cluster, name string) *session.Session {
	c.Helper()
	return c.Session(session.WithAuth("digest", []byte(name+":secret")))
}

var acls = bubble.Suite{
	{Name: "nobody else deposes the leader", Test: func(c *bubble.Cluster) {
		ctx := bubble.Minute(c)
		alice, mallory := as(c, "alice"), as(c, "mallory")
		onlyOurs := election.WithACL(append(session.AuthACL(session.PermAll), session.AnyoneACL(session.PermRead)...)...)
		a, b := candidate(c, alice, "a", onlyOurs), candidate(c, as(c, "alice"), "b", onlyOurs)
		term := leads(c, a)
		require.ErrorIs(c, mallory.Delete(ctx, term.Path(), -1), session.ErrNoAuth)
		_, err := candidate(c, mallory, "m").Lead(ctx)
		require.ErrorIs(c, err, session.ErrNoAuth)
		now, err := candidate(c, mallory, "observer").Current(ctx)
		require.NoError(c, err)
		require.Equal(c, "a", now.ID, "anybody may look")
		require.True(c, term.Valid())
		require.NoError(c, term.Proclaim(ctx, []byte("data")))

		waits(c, b)
		a.Panic(errors.New("a bug"))
		bubble.Within(c, time.Minute, term.Done())
		second := bubble.Within(c, time.Minute, b.Leader())
		require.Greater(c, second.Token(), term.Token())
		require.NoError(c, second.Resign(ctx))
	}},
}

func TestElectionsWithAnACL(t *testing.T) { acls.Embedded(t) }

func TestElectionsWithAnACLOnRealServers(t *testing.T) {
	tier.Real(t)
	acls.Real(t)
}
