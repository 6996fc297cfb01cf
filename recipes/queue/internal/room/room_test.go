package room_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

func TestMakeSharesAll(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{1, 15, 16, 17, 1000} {
		sum := 0
		ops := room.Make("/q", capacity)
		require.Equal(t, strconv.Itoa(capacity), string(ops[0].Data))
		for _, op := range ops[1:] {
			require.Equal(t, machine.Create, op.Do)
			n, err := strconv.Atoi(string(op.Data))
			require.NoError(t, err)
			sum += n
		}
		require.Equal(t, capacity, sum)
	}
}

func TestTakeAndGive(t *testing.T) {
	t.Parallel()
	r := room.New("/q", 17)
	require.Len(t, r.Unknown(), place.Stripes)
	home, known := r.Home()
	require.Equal(t, 1, home)
	require.False(t, known)
	for i := range place.Stripes {
		r.Saw(i, []byte("2"), 5)
	}
	uses, fits := r.Take(5)
	require.True(t, fits)
	require.Len(t, uses, 3, "the home first, then as many as it takes")
	require.Equal(t, machine.Op{Do: machine.Set, Path: "/q/room/01", Data: []byte("0"), Version: 5}, uses[0].Op)
	require.Equal(t, machine.Op{Do: machine.Set, Path: "/q/room/03", Data: []byte("1"), Version: 5}, uses[2].Op)
	for _, u := range uses {
		r.Used(u)
	}
	_, fits = r.Take(28)
	require.False(t, fits)
	_, fits = r.Take(27)
	require.True(t, fits)
	u := r.Give(3)
	require.Equal(t, machine.Op{Do: machine.Set, Path: "/q/room/01", Data: []byte("3"), Version: 6}, u.Op)
	r.Used(u)
	require.Equal(t, int32(7), r.Proof()[1].Version)
	r.Forget(4)
	require.Equal(t, []int{4}, r.Unknown())
	r.Saw(4, []byte("nonsense"), 1)
	_, fits = r.Take(29)
	require.False(t, fits)
	r.ForgetAll()
	_, fits = r.Take(1)
	require.False(t, fits)
}

// What came back unasked is owed: nobody gets room before it is paid.
func TestDebt(t *testing.T) {
	t.Parallel()
	r := room.New("/q", 0)
	for i := range place.Stripes {
		r.Saw(i, []byte("0"), 0)
	}
	r.Used(r.Give(-2))
	r.Saw(3, []byte("2"), 1)
	_, fits := r.Take(1)
	require.False(t, fits)
	r.Used(r.Give(1))
	_, fits = r.Take(1)
	require.True(t, fits)
}
