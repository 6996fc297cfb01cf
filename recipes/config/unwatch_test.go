package config_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/config"
)

func TestCellsThatWereClosedLeaveNoWatch(t *testing.T) {
	inBubbleHere(t, func(w *bubble.World) {
		s := w.Host("a").Session
		watches := func() int {
			synctest.Wait()
			info, found := w.Server.Session(s.Status().SessionID)
			require.True(w, found)
			return info.Watches
		}
		var cells []*config.Cell[string]
		for i := range 300 {
			cell, err := config.Open(w.Context(), s, fmt.Sprintf("/cells-%d", i), config.JSON[string]())
			require.NoError(w, err)
			cells = append(cells, cell)
		}
		require.Equal(w, 300, watches())
		for _, cell := range cells {
			require.NoError(w, cell.Close(w.Context()))
		}
		require.Zero(w, watches())
	})
}
