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
	seventh := place.Place{Seq: 7}
	for _, c := range []struct {
		name string
		lane place.Lane
		item place.Item
	}{
		{"_c_" + guid + "-queue-0-0000000007", place.Lane{}, place.Item{GUID: guid, Place: seventh}},
		{"_c_" + guid + "-queue--5-0000000007", place.Lane{Priority: -5}, place.Item{GUID: guid, Priority: -5, Place: seventh}},
		{"_c_" + guid + "-queue-0-red-0000000007", place.Lane{}, place.Item{GUID: guid, ID: "red", Place: seventh}},
		{"_c_" + guid + "-queue-0-a.b-0000000007", place.Lane{}, place.Item{GUID: guid, ID: "a.b", Place: seventh}},
		{"_c_" + guid + "-queue-0-17-a-b--0000000007", place.Lane{}, place.Item{GUID: guid, ID: "17-a-b-", Place: seventh}},
		{"_c_" + guid + "-queue-3-99-0000000007", late, place.Item{GUID: guid, Priority: 3, Due: 99, Place: seventh}},
		{"_c_" + guid + "-queue-3-99-red-0000000007", late, place.Item{GUID: guid, Priority: 3, Due: 99, ID: "red", Place: seventh}},
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
		"_c_" + guid + "-queue-0-0000000007.00003",
		"_c_" + guid + "-pack-0-0-1-2-0000000007",
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
		"taken-0000000007.00003-0000000007.00005-c", "back-0000000007.00004-c",
		"taken-1-2-c", "taken--", "taken-0000000001--a", "taken-0000000001-0000000002", "back-5-a", "back-", "x", "taken-0000000007.00000-0000000007-a", "taken-0000000007.65536-0000000007-a", "taken-0000000007.3-0000000007-a",
	}
	claims := place.ClaimsIn(names)
	require.Equal(t, 3, claims.Len())
	for seq, want := range map[int32]bool{1: false, 2: false, 3: true, 4: true, 5: false, 7: true, 8: false, 9: true} {
		require.Equal(t, want, claims.On(place.Place{Seq: seq}), "%d", seq)
	}
	parts := place.ClaimsIn([]string{"taken-0000000007.00003-0000000007.00005-c", "back-0000000007.00004-c"})
	for part, want := range map[int]bool{0: false, 2: false, 3: true, 4: false, 5: true, 6: false} {
		require.Equal(t, want, parts.On(place.Place{Seq: 7, Part: part}), "%d", part)
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

func TestPacks(t *testing.T) {
	t.Parallel()
	p := place.Pack{GUID: place.Member(guid, 0), Priority: -3, Tries: 4, First: 3, Last: 258, Seq: 7}
	name := "_c_" + guid[:32] + "0000-pack--3-4-3-258-0000000007"
	require.Equal(t, name, p.Name())
	require.Equal(t, name, p.Head()+"0000000007")
	require.Equal(t, 256, p.Len())
	require.Equal(t, "0000000007.00003", p.At().String())
	got, ok := place.ParsePack(name, place.Lane{Priority: -3})
	require.True(t, ok)
	require.Equal(t, p, got)
	require.Equal(t, place.Item{GUID: guid[:32] + "0102", Priority: -3, Place: place.Place{Seq: 7, Part: 258}}, p.Item(258))
	part, ok := p.Has(guid[:32] + "0102")
	require.True(t, ok)
	require.Equal(t, 258, part)
	for _, other := range []string{"", "x", guid, guid[:32] + "0002", guid[:32] + "0103", guid[:32] + "00 3"} {
		_, ok := p.Has(other)
		require.False(t, ok, other)
	}
	for _, name := range []string{
		"", "pack-", "_c_x-pack-0-0-1-2-0000000007", "_c_" + guid + "-pack-0-0-1-2-", "_c_" + guid + "-pack-0-0-2-1-0000000007", "_c_" + guid + "-pack-0-0-0-1-0000000007",
		"_c_" + guid + "-pack-1-0-1-2-0000000007", "_c_" + guid + "-pack-0-0-1-65536-0000000007", "_c_" + guid + "-pack-0-0-1-2-x-0000000007",
		"_c_" + guid + "-pack-0-0-01-2-0000000007", "_c_" + guid + "-queue-0-0000000007",
	} {
		_, ok := place.ParsePack(name, place.Lane{})
		require.False(t, ok, name)
	}
	_, ok = place.ParsePack("_c_"+guid+"-pack-0-0-1-2-0000000007", place.Lane{Later: true})
	require.False(t, ok)
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

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"ready-0-0000000000", "later-5-0000000001", "_c_" + guid + "-queue-0-red-0000000007", "taken-0000000003-0000000007-a", "back-0000000005-a", "_c_" + guid + "-pack-0-0-1-2-0000000007", "_c_" + guid + "-queue-0-0000000007.00003"} {
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
		if p, ok := place.ParsePack(name, place.Lane{}); ok {
			require.Equal(t, name, p.Name())
		}
		if c, ok := place.ParseClaim(name); ok {
			require.Equal(t, name, c.Name())
		}
		if b, ok := place.ParseBack(name); ok {
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
