package notify_test

// A channel for a known number of values.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestFiniteLosesNothingAtItsEnd(t *testing.T) {
	t.Parallel()
	f := notify.NewFinite[int](2)
	require.True(t, f.Send(1))
	require.True(t, f.Send(2))
	require.False(t, f.Send(3), "beyond the known number")
	f.Close()
	f.Close()
	require.False(t, f.Send(4))
	var got []int
	for v := range f.C() {
		got = append(got, v)
	}
	require.Equal(t, []int{1, 2}, got)
}
