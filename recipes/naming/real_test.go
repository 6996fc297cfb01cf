package naming_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func errorIs(err, target error) bool { return errors.Is(err, target) }

// patience bounds what happens on real servers and a busy machine.
const patience = time.Minute

// A name's whole life on real servers, one and three, of which one is killed.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range tier.Servers() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var all []*naming.Names
			for range 2 {
				s, err := session.Open(ctx, e.Servers(), session.WithTimeout(20*time.Second))
				require.NoError(t, err)
				t.Cleanup(func() {
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					defer cancel()
					_ = s.Close(ctx)
				})
				names, err := naming.New(s, root)
				require.NoError(t, err)
				all = append(all, names)
			}
			a, b := all[0], all[1]
			seen := b.Observe(ctx, "db/primary")
			require.False(t, (<-seen).Bound)
			require.NoError(t, a.Bind(ctx, "db/primary", []byte("1")))
			require.Equal(t, "1", string((<-seen).Value))
			require.ErrorIs(t, b.Bind(ctx, "db/primary", []byte("2"), naming.IfFree()), naming.ErrBound)
			if n > 1 {
				e.Kill(bubble.Leader(t, e))
			}
			require.NoError(t, b.Bind(ctx, "db/primary", []byte("2")))
			found, err := a.Lookup(ctx, "db/primary")
			require.NoError(t, err)
			require.Equal(t, "2", string(found.Value))
			for state := range seen {
				if string(state.Value) == "2" && !state.Stale {
					break
				}
			}
			list, err := a.List(ctx, "db")
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.NoError(t, a.Unbind(ctx, "db/primary"))
			for state := range seen {
				if !state.Bound {
					break
				}
			}
			_, err = b.Lookup(ctx, "db/primary")
			require.ErrorIs(t, err, naming.ErrNotBound)
		})
	}
}
