package znode_test

// The forms that names of znodes have.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

func TestANameHasTheFormOfItsLibrary(t *testing.T) {
	t.Parallel()
	const guid = znode.GUID("f81d4fae-7dec-4d0b-a765-00a0c91e6bf6")
	for _, c := range []struct {
		form   znode.Form
		name   string
		head   string
		prefix string // as it is parsed again; "" if it is none in a line
		named  bool
	}{
		{znode.Dashed, "lock-", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-lock-", "lock-", true},
		{znode.Dashed, "latch-", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-latch-", "latch-", true},
		{znode.Dashed, "__READ__", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-__READ__", "__READ__", true},
		{znode.Undashed, "lock-", "_c_f81d4fae7dec4d0ba76500a0c91e6bf6-lock-", "lock-", true},
		{znode.Bare, "__lock__", "f81d4fae7dec4d0ba76500a0c91e6bf6__lock__", "__lock__", true},
		{znode.Bare, "__rlock__", "f81d4fae7dec4d0ba76500a0c91e6bf6__rlock__", "__rlock__", true},
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
