package znode_test

// GUIDs, and names that they protect.

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

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
