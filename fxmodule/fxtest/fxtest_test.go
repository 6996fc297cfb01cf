package fxtest_test

// A service under test: its leader, while the server cuts it off and lets its session expire.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// service is an application as it runs in production.
func service(lead func(context.Context, *election.Term) error) fx.Option {
	cfg := fxmodule.Default("zk1.example:2181")
	cfg.TLS.Enabled = true
	return fx.Options(fx.NopLogger, fxmodule.Module, fx.Supply(cfg), fxmodule.Election("reports", "/e"), fxmodule.RunLeader("reports", lead))
}

func TestAServiceUnderFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		terms, over := make(chan *election.Term, 10), make(chan error, 10)
		var s *session.Session
		app := fx.New(service(func(ctx context.Context, term *election.Term) error {
			terms <- term
			<-ctx.Done()
			over <- context.Cause(ctx)
			return nil
		}), fxtest.Server(srv), fx.Populate(&s))
		require.NoError(t, app.Start(t.Context()))
		first := <-terms
		heal := srv.Partition(s.Status().SessionID)
		begun := time.Now()
		require.ErrorIs(t, <-over, session.ErrLost)
		require.Less(t, time.Since(begun), 10*time.Second, "before the servers let others lead")
		heal()
		srv.Expire(s.Status().SessionID)
		require.Greater(t, (<-terms).Token(), first.Token())
		require.NoError(t, app.Stop(context.Background()))
		require.Empty(t, srv.Sessions())
	})
}
