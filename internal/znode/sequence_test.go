package znode_test

// Numbers at the end of names, their order, and what asks a holder to give up.

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

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

func TestAHolderIsAskedByItsData(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		"": false, "unloc": false, "unlock": true, "unlock\nmine": true, "unlocked": true, "Unlock": false, "mine\nunlock": false, "held unlock": false,
	} {
		require.Equal(t, want, znode.Revoked([]byte(data)), data)
		require.True(t, znode.Revoked(znode.WithUnlock([]byte(data))), data)
		require.Equal(t, znode.Unlock+"\n"+data, string(znode.WithUnlock([]byte(data))), data)
	}
	require.False(t, znode.Revoked(nil))
	require.Equal(t, "unlock\n", string(znode.WithUnlock(nil)))
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
