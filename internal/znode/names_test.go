package znode_test

// Paths and names of znodes: which are valid, their forms, GUIDs that protect them, numbers at
// their ends and their order. B20 and B22: see docs/testing.md.

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

// The verdicts are those of PathUtils.validatePath of ZooKeeper 3.8.0, asked one by one.
func TestPathsAreValidByZooKeepersRules(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/", "/a", "/a/b/c", "/...", "/a/...", "/a/..b", "/a/b..", "/a/.b", "/a/b.", "/a.", "/.a/..b", "/..a", "/ ", "/a b", "/a~",
		"/a\u00a0", "/ä", "/\ud7ff", "/\uf900", "/\uffef", "/_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-lock-0000000001",
	} {
		require.NoError(t, znode.Validate(path), path)
	}
	for _, c := range []struct{ path, reason string }{
		{"", "empty"},
		{"a", "not absolute"},
		{"a/b", "not absolute"},
		{"//", "ends with a slash"},
		{"/a/", "ends with a slash"},
		{"/a//b", "empty part"},
		{"//a", "empty part"},
		{"/.", "relative"},
		{"/..", "relative"},
		{"/a/.", "relative"},
		{"/a/..", "relative"},
		{"/a/./b", "relative"},
		{"/a/../b", "relative"},
		{"/\x00", "U+0000 at 1"},
		{"/a\x01", "U+0001 at 2"},
		{"/a\x1f", "U+001F"},
		{"/a\x7f", "U+007F"},
		{"/a\u009f", "U+009F"},
		{"/\ue000", "U+E000"},
		{"/\uf8ff", "U+F8FF"},
		{"/\ufff0", "U+FFF0"},
		{"/\ufffd", "U+FFFD"},
		{"/\uffff", "U+FFFF"},
		{"/😀", "U+1F600"},
		{"/a\xff", "UTF-8"},
		{"/\xed\xa0\x80", "UTF-8"}, // a surrogate
	} {
		require.ErrorContains(t, znode.Validate(c.path), c.reason, "%q", c.path)
	}
}

func TestAPathIsItsParentAndItsName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, parent, name string }{
		{"/a", "/", "a"},
		{"/a/b", "/a", "b"},
		{"/a/b/c", "/a/b", "c"},
	} {
		parent, name := znode.Split(c.path)
		require.Equal(t, c.parent, parent, c.path)
		require.Equal(t, c.name, name, c.path)
		require.Equal(t, c.path, znode.Join(parent, name), c.path)
	}
	for _, root := range []string{"/", "", "nothing"} {
		parent, name := znode.Split(root)
		require.Empty(t, parent)
		require.Empty(t, name)
	}
}

func FuzzValidate(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/a//b", "/a/../b", "/\x00", "/😀", "/\xff", "a", "/..a/."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if znode.Validate(path) != nil {
			return
		}
		require.True(t, utf8.ValidString(path))
		require.NotContains(t, path, "//")
		require.NotContains(t, path, "\x00")
		if path == "/" {
			return
		}
		parent, name := znode.Split(path)
		require.NotContains(t, []string{"", ".", ".."}, name)
		require.Equal(t, path, znode.Join(parent, name))
		require.NoError(t, znode.Validate(parent), "the parent of a valid path is valid")
	})
}

func TestANameHasTheFormOfItsLibrary(t *testing.T) {
	t.Parallel()
	const guid = znode.GUID("f81d4fae-7dec-4d0b-a765-00a0c91e6bf6")
	for _, c := range []struct {
		form   znode.Form
		name   string
		head   string
		prefix string // as ParseContender finds it; "" if the name is no contender's
		named  bool
	}{
		{znode.Dashed, "lock-", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-lock-", "lock-", true},
		{znode.Dashed, "latch-", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-latch-", "latch-", true},
		{znode.Dashed, "__READ__", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-__READ__", "__READ__", true},
		{znode.Undashed, "lock-", "_c_f81d4fae7dec4d0ba76500a0c91e6bf6-lock-", "lock-", true},
		{znode.Bare, "__lock__", "f81d4fae7dec4d0ba76500a0c91e6bf6__lock__", "__lock__", true},
		{znode.Bare, "__rlock__", "f81d4fae7dec4d0ba76500a0c91e6bf6__rlock__", "__rlock__", true},
		{znode.Page, "lock-", "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-lock-", "lock-", true},
		{znode.Page, "write-", "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-write-", "write-", true},
		{znode.OfSession, "x-", "x--72057594037927936-", "x-", false},
		{znode.Plain, "n_", "n_", "n_", false},
		{znode.Alone, "controller", "controller", "", false},
	} {
		head := c.form.Head(guid, -72057594037927936, c.name)
		require.Equal(t, c.head, head)
		require.Equal(t, c.named, c.form.Named())
		child := head
		if c.form != znode.Alone {
			child += "0000000042"
		}
		require.True(t, c.form.Fits(head, child), child)
		require.False(t, c.form.Fits(head, child+"x"), child)
		require.False(t, c.form.Fits(head, "y"+child), child)
		again, ok := znode.ParseContender(child)
		require.Equal(t, c.prefix != "", ok, child)
		require.Equal(t, c.prefix, again.Prefix)
		if c.named {
			require.Empty(t, c.form.Data(guid, nil))
		} else {
			require.Equal(t, string(guid), string(c.form.Data(guid, nil)))
		}
		require.Equal(t, "given", string(c.form.Data(guid, []byte("given"))))
	}
	require.False(t, znode.Plain.Fits("n_", "n_x_0000000001"), "another's, though it begins alike")
	require.False(t, znode.OfSession.Fits("x-1-", "x-1-2-0000000001"))
}

func TestDataIsTheSameThoughItWasAskedToGiveUp(t *testing.T) {
	t.Parallel()
	require.True(t, znode.Same([]byte("a"), []byte("a")))
	require.True(t, znode.Same([]byte("a"), []byte("unlock\na")), "asked to give up since")
	require.True(t, znode.Same(nil, nil))
	require.False(t, znode.Same([]byte("a"), []byte("b")))
	require.False(t, znode.Same([]byte("a"), []byte("unlock")))
}

const (
	uuid = "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6" // Curator's form, and ours
	hex  = "f81d4fae7dec4d0ba76500a0c91e6bf6"     // go-zookeeper's and kazoo's
)

func TestNewGUIDIsARandomUUID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[znode.GUID]bool{}
	for range 1000 {
		g := znode.NewGUID()
		require.Regexp(t, form, string(g))
		seen[g] = true
	}
	require.Len(t, seen, 1000)
}

func TestAProtectedNameIsItsGUIDAndTheRest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name string
		guid znode.GUID
		rest string
	}{
		"ours and Curator's":        {"_c_" + uuid + "-lock-0000000001", uuid, "lock-0000000001"},
		"go-zookeeper's":            {"_c_" + hex + "-lock-0000000001", hex, "lock-0000000001"},
		"capitals":                  {"_c_" + strings.ToUpper(uuid) + "-n_", znode.GUID(strings.ToUpper(uuid)), "n_"},
		"nothing behind it":         {"_c_" + uuid + "-", uuid, ""},
		"a protected protected one": {znode.Protect(uuid, znode.Protect(hex, "x")), uuid, "_c_" + hex + "-x"},
	} {
		g, rest, ok := znode.Protection(c.name)
		require.True(t, ok, name)
		require.Equal(t, c.guid, g, name)
		require.Equal(t, c.rest, rest, name)
		require.Equal(t, c.name, znode.Protect(g, rest), name)
	}
}

// B22: what others may have put there is no protected name, and no panic either; go-zookeeper
// slices such names blindly.
func TestB22_OtherNamesAreNotProtected(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "_", "_c", "_c_", "_c_x", "_c_-", "foo", "lock-0000000001", "_c_" + uuid, "_c_" + hex, "_C_" + uuid + "-lock-",
		"_c_" + uuid[:35] + "-lock-", "_c_" + uuid + "_lock-", "_c_" + hex[:31] + "-lock-", "_c_" + hex[:31] + "g-lock-",
		"_c_" + strings.Replace(uuid, "-", "x", 1) + "-lock-", "_c_" + strings.Repeat("-", 36) + "-lock-",
	} {
		g, rest, ok := znode.Protection(name)
		require.False(t, ok, name)
		require.Empty(t, g, name)
		require.Equal(t, name, rest, name)
	}
}

func TestB20_NumbersAreOrderedOverTheirEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b int32
		want int
	}{
		"the same":           {5, 5, 0},
		"one after":          {5, 6, -1},
		"one before":         {6, 5, 1},
		"over the end":       {math.MaxInt32, math.MinInt32, -1},
		"back over the end":  {math.MinInt32, math.MaxInt32, 1},
		"below zero":         {-2, -1, -1},
		"up to zero":         {-1, 0, -1},
		"far over the end":   {math.MaxInt32 - 1000, math.MinInt32 + 1000, -1},
		"at the end":         {math.MaxInt32, math.MaxInt32, 0},
		"as far as it bears": {0, math.MaxInt32, -1},
	} {
		require.Equal(t, c.want, znode.CompareSeq(c.a, c.b), name)
	}
}

func TestNumbersNearTheEndNeedTheCzxid(t *testing.T) {
	t.Parallel()
	require.False(t, znode.NeedsCzxid())
	require.False(t, znode.NeedsCzxid(0, 1, 2_147_000_000))
	require.True(t, znode.NeedsCzxid(0, 2_147_000_001))
	require.True(t, znode.NeedsCzxid(math.MaxInt32, math.MaxInt32))
	require.True(t, znode.NeedsCzxid(0, -1))
	require.True(t, znode.NeedsCzxid(math.MinInt32))
}

func TestTheNumberIsReadFromTheEndOfAName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head string
		seq  int32
	}{
		"queue-5-0000000001":       {"queue-5-", 1},
		"queue-5--000000001":       {"queue-5-", -1},
		"queue--5-0000000001":      {"queue--5-", 1},
		"lock-1000000000":          {"lock-", 1_000_000_000},
		"lock--1000000000":         {"lock-", -1_000_000_000},
		"n_-1000000000":            {"n_", -1_000_000_000},
		"lease-5-2147483647":       {"lease-5-", math.MaxInt32},
		"lease-5--2147483648":      {"lease-5-", math.MinInt32},
		"-0000000001":              {"-", 1},
		"x--5-1234567890":          {"x--5-", 1234567890},
		"lock-2147483647000000001": {},
		"a0000000001":              {},
		"0000000001":               {},
		"-000000001":               {},
	} {
		head, seq, ok := znode.Sequence(name)
		require.Equal(t, c.head != "", ok, name)
		require.Equal(t, c.head, head, name)
		require.Equal(t, c.seq, seq, name)
	}
}

func TestWhichChildrenAreNumbered(t *testing.T) {
	t.Parallel()
	for child, want := range map[string]bool{
		"n_0000000000": true, "n_2147483647": true, "n_-000000001": true, "n_-2147483648": true,
		"n_": false, "n_1": false, "n_2147483648": false, "n_+000000001": false, "n_10000000001": false, "m_0000000000": false,
		"n_00000000001": false, "n_x0000000001": false,
	} {
		require.Equal(t, want, znode.Numbered("n_", child), child)
	}
	require.True(t, znode.Numbered("seat", "seat0000000001"))
	require.True(t, znode.Numbered("", "0000000001"))
}
