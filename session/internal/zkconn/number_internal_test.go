package zkconn

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// Each request gets the next number, in its frame and in the order of answers, also on the next
// connection; behind the last number they begin anew. A connection that takes no requests gives
// none.
func TestNumbersOfRequests(t *testing.T) {
	t.Parallel()
	c := &core{session: identity{xid: math.MaxInt32 - 1}, taking: t.Context()}
	w := &wire{conn: c, since: time.Now()}
	c.wire = w
	last, first, second := &request{size: 8}, &request{size: 12}, &request{size: 8}
	frames := make([]byte, 3*4+8+12+8)
	require.NoError(t, w.number([]*request{last, first, second}, frames))
	require.Len(t, w.order, 3)
	for i, want := range []struct {
		at  int
		xid int32
	}{{4, math.MaxInt32}, {16, 1}, {32, 2}} {
		require.Equal(t, want.xid, w.order[i].ask.Xid)
		require.EqualValues(t, want.xid, binary.BigEndian.Uint32(frames[want.at:]))
	}

	next := &wire{conn: c, since: time.Now()}
	c.wire = next
	require.NoError(t, next.number([]*request{{size: 8}}, make([]byte, 12)))
	require.EqualValues(t, 3, next.order[0].ask.Xid)

	c.wire = nil
	require.ErrorIs(t, w.number([]*request{{}}, frames), ErrNotSent)
	require.Len(t, w.order, 3)
}

// An answer has to be that of the oldest request; those of pings may come in between, or not at
// all.
func TestOrderOfAnswers(t *testing.T) {
	t.Parallel()
	var q queue
	begun := time.Now()
	ask := func(xid int32) *request {
		r := &request{ask: jute.Request{Xid: xid}, sentAt: begun}
		q = append(q, r)
		return r
	}
	ping := func() {
		r := newPing()
		r.sentAt = begun
		q = append(q, r)
	}
	for xid := range int32(100) {
		ask(xid)
		ping()
		ask(1000 + xid)
		for _, x := range []int32{xid, 1000 + xid} {
			r, err := q.answered(x)
			require.NoError(t, err)
			require.Equal(t, x, r.ask.Xid)
		}
	}
	require.Empty(t, q)
	require.LessOrEqual(t, cap(q), 8, "the memory is used again")

	_, err := q.answered(1)
	require.ErrorIs(t, err, errMalformed, "an answer to nothing")
	first := ask(1)
	ask(2)
	_, err = q.answered(2)
	over, ok := errors.AsType[*overtakenError](err)
	require.True(t, ok)
	require.Same(t, first, over.r)

	sent, err := q.ponged()
	require.NoError(t, err)
	require.Zero(t, sent, "it answers no ping")
	for i := range maxOvertaken {
		ping()
		sent, err = q.ponged()
		require.Equal(t, begun, sent)
		_, over := errors.AsType[*overtakenError](err)
		require.Equal(t, i == maxOvertaken-1, over)
	}
	require.Len(t, q, 2)
}
