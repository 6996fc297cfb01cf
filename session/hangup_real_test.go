package session_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// A real server that insists on authentication.
func TestARealServerThatInsistsOnAuthentication(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	zk := ensemble.Start(t, 1, ensemble.WithJVM("-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=digest"))
	s, err := session.New(zk.Servers())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = s.Connect(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, session.ErrAuthRequired)
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, s.Close(ctx), "nothing was ever done in its ZooKeeper session")
}
