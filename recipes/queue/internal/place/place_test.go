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

func TestItems(t *testing.T) {
	t.Parallel()
	late := place.Lane{Later: true, Slot: 5}
	for _, c := range []struct {
		name string
		lane place.Lane
		item place.Item
	}{
		{"_c_" + guid + "-queue-0-0000000007", place.Lane{}, place.Item{GUID: guid, Seq: 7}},
		{"_c_" + guid + "-queue--5-0000000007", place.Lane{Priority: -5}, place.Item{GUID: guid, Priority: -5, Seq: 7}},
		{"_c_" + guid + "-queue-0-red-0000000007", place.Lane{}, place.Item{GUID: guid, ID: "red", Seq: 7}},
		{"_c_" + guid + "-queue-0-17-a-b--0000000007", place.Lane{}, place.Item{GUID: guid, ID: "17-a-b-", Seq: 7}},
		{"_c_" + guid + "-queue-3-99-0000000007", late, place.Item{GUID: guid, Priority: 3, Due: 99, Seq: 7}},
		{"_c_" + guid + "-queue-3-99-red-0000000007", late, place.Item{GUID: guid, Priority: 3, Due: 99, ID: "red", Seq: 7}},
	} {
		if c.item.ID == "17-a-b-" {
			c.name = c.item.Name(c.lane)
		}
		i, ok := place.ParseItem(c.name, c.lane)
		require.True(t, ok, c.name)
		require.Equal(t, c.item, i, c.name)
		require.Equal(t, c.name, i.Name(c.lane))
	}
	for _, name := range []string{
		"", "queue-0-0000000007", "_c_x-queue-0-0000000007", "_c_" + guid + "-lock-0000000007", "_c_" + guid + "-queue-1-0000000007",
		"_c_" + guid + "-queue-0-", "_c_" + guid + "-queue-x-0000000007", "_c_" + guid + "-queue-0000000007",
	} {
		_, ok := place.ParseItem(name, place.Lane{})
		require.False(t, ok, name)
	}
	require.Equal(t, guid, place.Item{GUID: guid}.Known())
	require.Equal(t, "red", place.Item{GUID: guid, ID: "red"}.Known())
}

func TestClaims(t *testing.T) {
	t.Parallel()
	names := []string{
		"taken-0000000003-0000000007-a", "taken-0000000009-0000000009-b", "back-0000000005-a", "back-0000000009-a",
		"taken-1-2-c", "taken-0000000001-0000000002", "back-5-a", "back-", "x",
	}
	claims := place.ClaimsIn(names)
	require.Equal(t, 2, claims.Len())
	for seq, want := range map[int32]bool{1: false, 2: false, 3: true, 4: true, 5: false, 7: true, 8: false, 9: true} {
		require.Equal(t, want, claims.On(seq), "%d", seq)
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

func TestBodies(t *testing.T) {
	t.Parallel()
	name, n, ok := place.BodyOf(place.Member(guid, 258))
	require.True(t, ok)
	require.Equal(t, 258, n)
	require.Equal(t, "body-"+guid[:32], name)
	require.True(t, place.IsBody(name))
	_, _, ok = place.BodyOf("short")
	require.False(t, ok)
	data := [][]byte{[]byte("red"), {}, []byte("a,3:b"), make([]byte, 1000)}
	got, ok := place.Unpack(place.Pack(data))
	require.True(t, ok)
	require.Equal(t, data, got)
	for _, bad := range []string{"x", "3", "3:ab", "3:abc", "-1:,", "2:abc,", "99999999999999999999:a,"} {
		_, ok := place.Unpack([]byte(bad))
		require.False(t, ok, bad)
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"ready-0-0000000000", "later-5-0000000001", "_c_" + guid + "-queue-0-red-0000000007", "taken-0000000003-0000000007-a", "back-0000000005-a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if b, ok := place.ParseBucket(name); ok {
			require.Equal(t, name, b.Name())
		}
		for _, l := range []place.Lane{{}, {Later: true}} {
			if i, ok := place.ParseItem(name, l); ok {
				require.Equal(t, name, i.Name(l))
			}
		}
		if c, ok := place.ParseClaim(name); ok {
			require.Equal(t, name, c.Name())
		}
		if b, ok := place.ParseBack(name); ok {
			require.Equal(t, name, b.Name())
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("3:red,0:,"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if data, ok := place.Unpack(b); ok {
			again, ok := place.Unpack(place.Pack(data))
			require.True(t, ok)
			require.Equal(t, data, again)
		}
	})
}
