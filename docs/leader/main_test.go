// The README's program.

package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

func TestReadme(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := lead(ctx, srv.Servers(), func(ctx context.Context, token int64) {
		if ctx.Err() == nil && token > 0 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, srv.Sessions(), "the next one leads at once")
}

// A term is lost while the function of the one before still stops: the next begins when it has.
func TestReadmeLeadsOnceAtATime(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	other := bubble.Open(t, srv.Servers())
	ctx, cancel := context.WithCancel(t.Context())
	var running, together, terms atomic.Int32
	err := lead(ctx, srv.Servers(), func(ctx context.Context, _ int64) {
		together.Store(max(together.Load(), running.Add(1)))
		defer running.Add(-1)
		if terms.Add(1) == 3 {
			cancel()
			return
		}
		names, _, err := other.Children(t.Context(), "/services/billing/leader")
		assert.NoError(t, err)
		for _, name := range names {
			assert.NoError(t, other.Delete(t.Context(), "/services/billing/leader/"+name, -1))
		}
		<-ctx.Done()
		select { // a function that takes its time: the next term would be there meanwhile
		case <-time.After(200 * time.Millisecond):
		case <-t.Context().Done():
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, together.Load(), "leaders at once")
}
