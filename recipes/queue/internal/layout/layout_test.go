package layout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const guid = "5f0c3a52-8d1c-4c6e-9a53-7b1f2c3d0000"

func TestZnode(t *testing.T) {
	t.Parallel()
	pack := layout.Znode{GUID: guid[:32] + "00ff", Count: 3, Room: true, Seq: 7}
	require.Equal(t, guid[:32]+"00ff-3+-0000000007", pack.Name())
	require.Equal(t, pack.GUID, pack.Item(0))
	require.Equal(t, guid[:32]+"0100", pack.Item(1))
	require.Equal(t, guid[:32]+"0100-of2+-0000000007", pack.Alone(1).Name())
	require.Equal(t, 2, pack.Alone(1).Part())
	require.Equal(t, pack.Item(1), pack.Alone(1).Item(0))
	dead := layout.Znode{GUID: pack.Item(1), Count: 1, Seq: 9}
	require.Equal(t, pack.Item(1), dead.Item(0))
	require.Zero(t, dead.Part())
	last := layout.Znode{GUID: guid[:32] + "ffff", Count: 1}
	require.Equal(t, last.GUID, last.Item(0))
	full := layout.Znode{GUID: guid, Count: 64}
	for _, z := range []layout.Znode{pack, pack.Alone(0), pack.Alone(1), pack.Alone(2), pack.Cut(1, 2), dead, last, full, full.Cut(32, 32), {GUID: guid, Count: 1, Seq: math.MaxInt32}} {
		parsed, ok := layout.ParseZnode(z.Name())
		require.True(t, ok, z.Name())
		require.Equal(t, z, parsed)
	}
	for _, name := range []string{
		"", "0000000007", guid + "0000000007", guid + "-0-0000000007", guid + "-65-0000000007", guid + "-of-0000000007", guid + "-03-0000000007",
		guid + "-of0-0000000007", guid + "-of65-0000000007", guid + "-of02-0000000007", guid + "-of2to2-0000000007", guid + "-of3to2-0000000007",
		guid + "-of2to65-0000000007", guid + "-of2to03-0000000007", guid + "-of2to-0000000007", guid + "-ofto2-0000000007", guid + "-of1to2to3-0000000007", guid + "-of-1-0000000007",
		guid + "-3-x-0000000007", guid + "-3--000000007", last.GUID + "-2-0000000007", guid + "-+0000000007",
	} {
		_, ok := layout.ParseZnode(name)
		require.False(t, ok, name)
	}
}

// What is cut out of a znode, again and again, is named by its place in what was put.
func TestCut(t *testing.T) {
	t.Parallel()
	b := place.Bucket{Number: 3}
	pack := layout.Znode{GUID: guid, Count: 64, Seq: 7}
	entry := layout.Whole(b, pack).Without(1 << 40).Counted(1 << 48)
	half := pack.Cut(32, 32)
	require.Equal(t, guid[:32]+"0020-of33to64-0000000007", half.Name())
	require.Equal(t, pack.Item(63), half.Item(31))
	entry = entry.Cut(pack, 32, 32)
	require.Equal(t, half.At(b), entry.Position)
	require.Equal(t, "ready-0-0000000003:7.33to64", entry.String())
	require.Equal(t, 31, entry.Len())
	require.Equal(t, []int{0, 1, 0}, []int{entry.Attempts(15), entry.Attempts(16), entry.Attempts(17)})
	quarter, first := half.Cut(16, 16), half.Cut(0, 1)
	require.Equal(t, guid[:32]+"0030-of49to64-0000000007", quarter.Name())
	require.Equal(t, guid[:32]+"0020-of33-0000000007", first.Name())
	entry = entry.Cut(half, 16, 16)
	require.Equal(t, []layout.Run{{Items: 0xfffe}, {Items: 1, Attempts: 1}}, entry.Runs)
	back := layout.Returned{Entry: entry}
	parsed, ok := layout.ParseReturned(back.Name())
	require.True(t, ok, back.Name())
	require.Equal(t, back, parsed)
	names := []string{pack.Name(), first.Name(), half.Name(), quarter.Name()}
	for _, z := range []layout.Znode{pack, half, quarter, first} {
		found, ok := layout.Whole(b, z).Find(names)
		require.True(t, ok)
		require.Equal(t, z, found)
	}
}

func TestDelayed(t *testing.T) {
	t.Parallel()
	for _, d := range []layout.Delayed{
		{Znode: layout.Znode{GUID: guid, Count: 3, Room: true, Seq: 7}, Due: 12, Lane: place.Lane{Priority: -4, Shard: 3}},
		{Znode: layout.Znode{GUID: guid, Count: 1}, Due: math.MaxInt64},
	} {
		parsed, ok := layout.ParseDelayed(d.Name())
		require.True(t, ok, d.Name())
		require.Equal(t, d, parsed)
		_, ok = layout.ParseZnode(d.Name())
		require.False(t, ok)
	}
	for _, name := range []string{guid + "-3-0000000007", guid + "-3--1,0.0-0000000007", guid + "-3-1,10000.0-0000000007", guid + "-3-1,0-0000000007"} {
		_, ok := layout.ParseDelayed(name)
		require.False(t, ok, name)
	}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	b := place.Bucket{Lane: place.Lane{Priority: -1}, Number: 3}
	whole := layout.Whole(b, layout.Znode{GUID: guid, Count: 64, Seq: 6})
	j := layout.Journal{Number: 17, Fixed: true, Claims: []layout.Claim{
		{Entry: layout.Whole(b, layout.Znode{GUID: guid, Count: 1, Seq: 5}), Offered: 1},
		{Entry: whole.Without(0xf0).Counted(3).Counted(1), Offered: 1 << 63},
	}}
	parsed, ok := layout.ParseJournal(j.Bytes())
	require.True(t, ok, string(j.Bytes()))
	require.Equal(t, j, parsed)
	back := j.Claims[1].Back()
	require.Equal(t, 60, back.Len())
	require.Equal(t, []int{2, 1, 0, 1}, []int{back.Attempts(0), back.Attempts(1), back.Attempts(2), back.Attempts(63)})
	r, ok := layout.ParseReturned(back.Name())
	require.True(t, ok, back.Name())
	require.Equal(t, back, r)
	for _, data := range []string{"", "x", "1\n", "1\nready-0-0000000003:5", "1\nready-0-0000000003:5 0", "1\nready-0-0000000003:5 1 2", "1\nready-0-0000000003:5 1,1"} {
		_, ok := layout.ParseJournal([]byte(data))
		require.False(t, ok, data)
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	c := layout.Cursor{{Priority: 1}: {Number: 3, Seq: -1}, {Priority: -1, Shard: 2}: {Number: 0, Seq: 7}}
	require.Equal(t, "ready--1.2-0000000000 7\nready-1-0000000003 -1", string(c.Bytes()))
	parsed, ok := layout.ParseCursor(c.Bytes())
	require.True(t, ok)
	require.Equal(t, c, parsed)
	require.Equal(t, layout.Mark{Number: 0, Seq: -1}, c.Of(place.Lane{}))
}

// Delayed items have no place in line before they are due: nothing names them.
func TestNothingNamesWhatIsDelayed(t *testing.T) {
	t.Parallel()
	b := place.Bucket{Lane: place.SlotOf(1000, 0)}
	e := layout.Whole(b, layout.Znode{GUID: guid, Count: 1})
	_, ok := layout.ParseReturned(layout.Returned{Entry: e}.Name())
	require.False(t, ok)
	_, ok = layout.ParseJournal(layout.Journal{Claims: []layout.Claim{{Entry: e}}}.Bytes())
	require.False(t, ok)
	_, ok = layout.ParseCursor(layout.Cursor{b.Lane: {}}.Bytes())
	require.False(t, ok)
}

func TestRecords(t *testing.T) {
	t.Parallel()
	all := []layout.Record{{Body: []byte("a")}, {ID: "red", Body: []byte{}}, {Headers: []string{"k", "v"}, Body: []byte("b")}, {Removed: true}}
	parsed, ok := layout.Unpack(layout.Pack(all), 4)
	require.True(t, ok)
	require.True(t, parsed[3].Removed)
	require.Equal(t, "v", parsed[2].Header("k"))
	require.Equal(t, []string{"", "red", ""}, []string{parsed[0].ID, parsed[1].ID, parsed[2].ID})
	_, ok = layout.Unpack(layout.Pack(all), 2)
	require.False(t, ok)
}
