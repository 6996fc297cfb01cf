package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// The answer to a read may be up to sixteen times as large as a request, as ErrTooLarge says:
// listings are.
func TestAnswersUpToSixteenTimesMaxPacket(t *testing.T) {
	inBubble(t, func(w *world) {
		const packet, name = 2048, 200
		s := w.open(session.WithMaxPacket(packet))
		fill := func(size int) {
			names, _, err := s.Children(w.ctx, "/")
			require.NoError(w, err)
			for n := len(names); (n+1)*(name+4) < size; n++ {
				_, err := s.Create(w.ctx, fmt.Sprintf("/%s%04d", strings.Repeat("x", name-4), n), nil)
				require.NoError(w, err)
			}
		}
		for _, times := range []int{5, 15} {
			fill(times * packet)
			_, _, err := s.Children(w.ctx, "/")
			require.NoError(w, err, "%d times", times)
		}
		fill(17 * packet)
		_, _, err := s.Children(w.ctx, "/")
		require.ErrorIs(w, err, session.ErrTooLarge)
	})
}
