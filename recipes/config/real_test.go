package config_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// patience bounds what happens on real servers and a busy machine.
const patience = time.Minute

// Several processes count together on real servers, one and three, of which one is killed;
// everybody sees the last count.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range tier.Servers() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			var cells []*config.Cell[limits]
			for range 3 {
				s, err := session.Open(ctx, e.Servers(), session.WithTimeout(20*time.Second))
				require.NoError(t, err)
				t.Cleanup(func() {
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					defer cancel()
					_ = s.Close(ctx)
				})
				c, err := config.Open(ctx, s, path, config.YAML[limits]())
				require.NoError(t, err)
				cells = append(cells, c)
			}
			var all sync.WaitGroup
			for _, c := range cells {
				all.Go(func() {
					for range 20 {
						if _, err := c.Update(ctx, increment); err != nil {
							t.Error(err)
						}
					}
				})
			}
			if n > 1 {
				e.Kill(bubble.Leader(t, e))
			}
			all.Wait()
			for _, c := range cells {
				for s := range c.Observe(ctx) {
					if s.Value.Rate == 60 {
						break
					}
				}
				require.Equal(t, 60, c.Load().Value.Rate)
				require.NoError(t, c.Close(ctx))
			}
		})
	}
}
