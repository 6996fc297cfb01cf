package place_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

const guid = "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6"

func TestBuckets(t *testing.T) {
	t.Parallel()
	inOrder := []struct {
		name   string
		bucket place.Bucket
	}{
		{"ready--9999-0000000000", place.Bucket{Lane: place.Lane{Priority: -9999}}},
		{"ready--1-0000000003", place.Bucket{Lane: place.Lane{Priority: -1}, Number: 3}},
		{"ready-0-0000000000", place.Bucket{}},
		{"ready-0-0000000012", place.Bucket{Number: 12}},
		{"ready-0.3-0000000000", place.Bucket{Lane: place.Lane{Shard: 3}}},
		{"ready-5-0000000001", place.Bucket{Lane: place.Lane{Priority: 5}, Number: 1}},
		{"later-0-0000000000", place.Bucket{Lane: place.Lane{Later: true}}},
		{"later-1795286400000-0000000001", place.Bucket{Lane: place.Lane{Later: true, Slot: 1795286400000}, Number: 1}},
	}
	for n, c := range inOrder {
		b, ok := place.ParseBucket(c.name)
		require.True(t, ok, c.name)
		require.Equal(t, c.bucket, b)
		require.Equal(t, c.name, b.Name())
		if n > 0 {
			require.Negative(t, inOrder[n-1].bucket.Compare(b), c.name)
			require.Positive(t, b.Compare(inOrder[n-1].bucket), c.name)
		}
		require.Zero(t, b.Compare(b))
		require.Negative(t, b.Compare(b.Next()))
	}
	for _, name := range []string{
		"", "ready", "ready-", "ready-0", "ready-0-", "ready-0-1", "ready-0--000000001", "ready-+1-0000000000", "ready-01-0000000000", "ready-0.0-0000000000",
		"ready-0.256-0000000000", "ready-10000-0000000000", "later--1-0000000000", "later-x-0000000000", "receipts", "room", "ids", "clock", "dead",
	} {
		_, ok := place.ParseBucket(name)
		require.False(t, ok, name)
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	const now = 1795286400000
	slots := make(map[int64]bool)
	for delay := int64(1); delay < 100*365*24*3600*1000; delay += 1 + delay/50 {
		l := place.SlotOf(now, delay)
		require.LessOrEqual(t, l.Slot, now+delay)
		require.GreaterOrEqual(t, l.Slot, now+delay-max(1024, delay/4))
		slots[l.Slot] = true
	}
	require.Less(t, len(slots), 600, "a hundred years")
	require.Equal(t, int64(math.MaxInt64), place.Due(now, math.MaxInt64))
}

func TestMembers(t *testing.T) {
	t.Parallel()
	require.Equal(t, guid[:32]+"0102", place.Member(guid, 258))
	require.Equal(t, guid[:32]+"ffff", place.Member(guid, place.MostTogether))
}

func TestWrapping(t *testing.T) {
	t.Parallel()
	data := [][]byte{[]byte("red"), {}, []byte("a,3:b"), make([]byte, 1000)}
	got, ok := place.Unwrap(place.Wrap(data))
	require.True(t, ok)
	require.Equal(t, data, got)
	for _, bad := range []string{"x", "3", "3:ab", "3:abc", "-1:,", "2:abc,", "99999999999999999999:a,"} {
		_, ok := place.Unwrap([]byte(bad))
		require.False(t, ok, bad)
	}
}

func FuzzBuckets(f *testing.F) {
	for _, seed := range []string{"ready-0-0000000000", "ready-0.3-0000000000", "later-5-0000000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if b, ok := place.ParseBucket(name); ok {
			require.Equal(t, name, b.Name())
		}
	})
}

func FuzzUnwrap(f *testing.F) {
	f.Add([]byte("3:red,0:,"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if data, ok := place.Unwrap(b); ok {
			again, ok := place.Unwrap(place.Wrap(data))
			require.True(t, ok)
			require.Equal(t, data, again)
		}
	})
}
