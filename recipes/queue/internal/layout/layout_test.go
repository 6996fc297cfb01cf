package layout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// parses fails unless it is found again under its name.
func parses[T any, N string | []byte](t *testing.T, want T, name N, parse func(N) (T, bool)) {
	t.Helper()
	found, ok := parse(name)
	require.True(t, ok, name)
	require.Equal(t, want, found)
}

// refuses fails if one of the names makes sense.
func refuses[T any, N string | []byte](t *testing.T, parse func(N) (T, bool), names ...string) {
	t.Helper()
	for _, name := range names {
		_, ok := parse(N(name))
		require.False(t, ok, name)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	now := int64(1_795_286_400_123)
	for path, i := range map[string]layout.Item{
		"/q/items/-9999-0000000000/0f2e-queue-0000000042":                  {Bucket: layout.Bucket{Lane: layout.Lane{Priority: layout.MinPriority}}, GUID: "0f2e", Seq: 42},
		"/q/items/0-0000000017/0f2e-queue-0000000000":                      {Bucket: layout.Bucket{Number: 17}, GUID: "0f2e"},
		"/q/items/9999-2147483647/-2147483648-queue-2147483647":            {Bucket: layout.Bucket{Lane: layout.Lane{Priority: layout.MaxPriority}, Number: math.MaxInt32}, GUID: "-2147483648", Seq: math.MaxInt32},
		"/q/later/1795286405120-0000000001/1795286405123-0f-2e-0000000001": {Bucket: layout.Bucket{Lane: layout.SlotOf(now, 5_000), Number: 1}, GUID: "0f-2e", Seq: 1, Due: layout.Due(now, 5_000)},
	} {
		require.Equal(t, path, i.Path("/q"))
		parse := layout.ParseBucket
		if i.Bucket.Lane.Later {
			parse = layout.ParseLater
		}
		parses(t, i.Bucket, i.Bucket.Name(), parse)
		parses(t, i, i.Name(), func(name string) (layout.Item, bool) { return layout.ParseItem(i.Bucket, name) })
	}
	refuses(t, layout.ParseBucket, "", "x", "0-1", "10000-0000000000", "+1-0000000000", "00-0000000001", "0--000000001")
	refuses(t, func(name string) (layout.Item, bool) { return layout.ParseItem(layout.Bucket{}, name) },
		"", "x", "-queue-0000000001", "x-queue-1", "x-queue--000000001", "x-lock-0000000001")
}

func TestData(t *testing.T) {
	t.Parallel()
	r := layout.Record{Attempts: 2, About: layout.About{ID: "a b", Headers: []string{"k", "v\n"}, Priority: -3}, Body: []byte("x\ny")}
	parses(t, r, r.Encode(), layout.ParseRecord)
	counted := layout.WithAttempts(r.Encode(), math.MaxInt32)
	r.Attempts = math.MaxInt32
	require.Equal(t, r.Encode(), counted)
	require.Equal(t, "v\n", r.Header("k"))
	require.Empty(t, r.Header("v\n"))
	parses(t, layout.Record{Body: []byte("x")}, []byte("0000000000 {}\nx"), layout.ParseRecord)
	refuses(t, layout.ParseRecord, "", "\n", "0000000000\n", "000000000x {}\n", "-000000001 {}\n", "0000000000 {\n", `0000000000 {"headers":["x"]}`+"\n",
		`0000000000 {"priority":10000}`+"\n", `0000000000 {"id":"a//b"}`+"\n", `0000000000 {"id":".."}`+"\n")
	parses(t, layout.Size{Capacity: 10, Items: 3}, []byte("3 of 10"), layout.ParseSize)
	require.Equal(t, "3 of 10", string(layout.Size{Capacity: 10, Items: 3}.Encode()))
	refuses(t, layout.ParseSize, "", "3", "-1 of 3", "1 of 0", "x of 3", "1 of 3 ")
}
