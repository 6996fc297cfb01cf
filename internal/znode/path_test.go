package znode_test

// Which paths are valid; parents and names.

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

// The verdicts are those of PathUtils.validatePath of ZooKeeper 3.8.0, asked one by one.
func TestPathsAreValidAsZooKeeperJudges(t *testing.T) {
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
