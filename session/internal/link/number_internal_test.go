package link

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Numbers begin anew behind the last one, and none is given twice at a time.
func TestNumbersOfTheLinesOwn(t *testing.T) {
	t.Parallel()
	c := &Conn{core: &core{}}
	l := &line{conn: c, pending: map[int32]*request{}, xid: math.MaxInt32 - 1}
	c.line = l
	last, first, second := &request{}, &request{}, &request{}
	l.pending[ownXids] = &request{}
	require.True(t, l.number([]*request{last, first, second}))
	require.EqualValues(t, math.MaxInt32, last.ask.Xid)
	require.Equal(t, ownXids+1, first.ask.Xid)
	require.Equal(t, ownXids+2, second.ask.Xid)
	for i, xid := range []int32{math.MaxInt32, ownXids + 1, ownXids + 2} {
		require.Equal(t, xid, l.order[i].xid)
	}
	require.Len(t, l.order, 3)
	require.Len(t, l.pending, 4)

	c.line = nil
	require.False(t, l.number([]*request{{}}))
	require.Len(t, l.pending, 4)

	c.line, c.handing = l, &request{}
	_, err := l.register(ownXids, 0)
	require.ErrorIs(t, err, errUnexpected, "nor by the library, should it ever come that far")
}
