package naming_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
)

func TestObservationsThatEndedLeaveNoWatch(t *testing.T) {
	inBubbleHere(t, func(w *bubble.World) {
		n, s := names(w)
		ctx, cancel := context.WithCancel(w.Context())
		for i := range 300 {
			name := fmt.Sprintf("service/%d", i)
			if i%2 == 0 {
				err := n.Bind(w.Context(), name, []byte("here"))
				require.NoError(w, err)
			}
			require.Equal(w, i%2 == 0, (<-n.Observe(ctx, name)).Bound)
		}
		watches := func() int {
			synctest.Wait()
			info, found := w.Server.Session(s.Status().SessionID)
			require.True(w, found)
			return info.Watches
		}
		require.Equal(w, 300, watches())
		cancel()
		require.Zero(w, watches())
	})
}
