package znode_test

// What is made of the names of a listing, and what it costs.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

func TestALineIsInOrderAndSaysWhetherItsNumbersAre(t *testing.T) {
	t.Parallel()
	l := znode.NewLine([]string{"lock-0000000007", "strange", "read-0000000003", "lock-0000000005"})
	require.False(t, l.Ambiguous)
	require.Len(t, l.Contenders, 3)
	require.Equal(t, "read-0000000003", l.Contenders[0].Name)
	require.Equal(t, "lock-0000000007", l.Contenders[2].Name)
	require.True(t, znode.NewLine([]string{"lock-0000000007", "read-0000000007"}).Ambiguous, "the same number")
	require.True(t, znode.NewLine([]string{"lock-2147483647"}).Ambiguous, "the last one, at which numbers stick")
	require.True(t, znode.NewLine([]string{"lock--2147483648"}).Ambiguous, "they have wrapped around")
}

// However long a listing is, it costs two pieces of memory.
func TestALineIsMadeWithoutGarbage(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = znode.Protect(znode.NewGUID(), fmt.Sprintf("lock-%010d", i))
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { znode.NewLine(names) }), 2.0)
}
