package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

func single(bucket int, seq int32) layout.Claim {
	z := layout.Znode{GUID: "00000000-0000-4000-8000-000000000000", Count: 1, Seq: seq}
	return layout.Claim{Entry: layout.Whole(place.Bucket{Number: bucket}, z)}
}

// Neighbours with one item each take one line, and are read as they were.
func TestJournalRows(t *testing.T) {
	t.Parallel()
	offered, counted := single(0, 3), single(0, 6)
	offered.Offered = 1
	counted.Runs[0].Attempts = 2
	pack := single(0, 9)
	pack.Runs[0].Items = 3
	part := single(0, 10)
	part.Part, part.Last = 1, 1
	j := layout.Journal{Number: 7, Claims: []layout.Claim{
		single(0, 0), single(0, 1), single(0, 2), offered, single(0, 4), single(0, 5), counted, single(0, 7), pack, part,
		single(0, 10), single(1, 11), single(1, 12), single(1, 14),
	}}
	const text = "7\nready-0-0000000000:0-2\nready-0-0000000000:3 1 1\nready-0-0000000000:4-5\nready-0-0000000000:6 1*2\n" +
		"ready-0-0000000000:7 1\nready-0-0000000000:9 3\nready-0-0000000000:10.1 1\nready-0-0000000000:10 1\n" +
		"ready-0-0000000001:11-12\nready-0-0000000001:14 1"
	require.Equal(t, text, string(j.Bytes()))
	read, ok := layout.ParseJournal([]byte(text))
	require.True(t, ok)
	require.Equal(t, j, read)
	for _, bad := range []string{
		"7\nready-0-0000000000:4-3", "7\nready-0-0000000000:4-4", "7\nready-0-0000000000:0-2147483647", "7\nready-0-0000000000:4-", "7\n-",
		"7\nready-0-0000000000:4-5 1", "7\nready-0-0000000000:4.1-5", "7\n",
	} {
		_, ok := layout.ParseJournal([]byte(bad))
		require.False(t, ok, bad)
	}
}

// The size of a journal is that of what was handed out: thousands that wait take little.
func TestJournalSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{64, 1000, 10_000} {
		j := layout.Journal{Number: 1}
		for i := range n {
			j.Claims = append(j.Claims, single(i/256, int32(i%256)))
		}
		j.Claims[0].Offered = 1
		t.Logf("%d claims: %d bytes", n, len(j.Bytes()))
		require.Less(t, len(j.Bytes()), 100+30*(n/256))
	}
}
