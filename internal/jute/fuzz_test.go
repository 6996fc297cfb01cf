package jute_test

// Whatever bytes come, decoding does not panic, and what was decoded goes round.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// recode writes a request and reads it again.
func recode(t *testing.T, q jute.Request) jute.Request {
	var w jute.Writer
	q.Encode(&w)
	var again jute.Request
	require.NoError(t, again.Decode(jute.NewReader(w.Bytes())))
	require.False(t, again.Malformed())
	return again
}

func FuzzRequest(f *testing.F) {
	for _, q := range samples() {
		var w jute.Writer
		q.Encode(&w)
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var q jute.Request
		r := jute.NewReader(frame)
		if q.Decode(r) != nil || q.Malformed() {
			return
		}
		// Once characters beyond 16 bits have become surrogates, and those what Java reads them as,
		// nothing changes any more.
		last := recode(t, recode(t, q))
		require.Equal(t, last, recode(t, last))
	})
}

func FuzzReply(f *testing.F) {
	p := jute.Reply{Xid: 1, Zxid: 2, Results: []jute.Result{{Op: jute.OpCreate, Path: "/a"}, {Op: jute.OpError, Err: jute.NoNode}}, Names: []string{"a"}}
	for _, op := range []jute.Op{jute.OpMulti, jute.OpGetChildren2, jute.OpGetACL, jute.OpWhoAmI} {
		var w jute.Writer
		p.Encode(&w, op)
		f.Add(int32(op), w.Bytes())
	}
	f.Fuzz(func(t *testing.T, op int32, frame []byte) {
		var p jute.Reply
		r := jute.NewReader(frame)
		if p.DecodeHeader(r) != nil || p.DecodeBody(r, jute.Op(op)) != nil {
			return
		}
		var w jute.Writer
		p.Encode(&w, jute.Op(op))
		var again jute.Reply
		r = jute.NewReader(w.Bytes())
		require.NoError(t, again.DecodeHeader(r))
		require.NoError(t, again.DecodeBody(r, jute.Op(op)))
	})
}

func FuzzConnect(f *testing.F) {
	for _, q := range []jute.ConnectRequest{{}, {Timeout: 10000, Password: make([]byte, 16)}, {SessionID: 7, LastZxidSeen: 1 << 40, ReadOnly: true}, {Old: true}} {
		var w jute.Writer
		q.Encode(&w)
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var q, again jute.ConnectRequest
		var p jute.ConnectResponse
		_ = p.Decode(jute.NewReader(frame)) // must not panic
		if q.Decode(jute.NewReader(frame)) != nil {
			return
		}
		var w jute.Writer
		q.Encode(&w)
		require.NoError(t, again.Decode(jute.NewReader(w.Bytes())))
		require.Equal(t, q, again)
	})
}
