package jute_test

// Requests and handshakes go round. That others understand them, and replies, package zktest shows.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// samples has a request of every kind.
func samples() []jute.Request {
	acl := []jute.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}, {Perms: 1, Scheme: "digest", ID: "u:x"}}
	return []jute.Request{
		{Xid: 1, Op: jute.OpCreate, Path: "/a", Data: []byte("d"), ACL: acl, Flags: 3, TTL: -1},
		{Xid: 2, Op: jute.OpCreate2, Path: "/a", ACL: acl, TTL: -1},
		{Xid: 3, Op: jute.OpCreateContainer, Path: "/a", Data: []byte{}, ACL: acl, Flags: 4, TTL: -1},
		{Xid: 4, Op: jute.OpCreateTTL, Path: "/a", ACL: acl, Flags: 5, TTL: 1 << 40},
		{Xid: 5, Op: jute.OpDelete, Path: "/a", Version: -1},
		{Xid: 6, Op: jute.OpExists, Path: "/a", Watch: true},
		{Xid: 7, Op: jute.OpGetData, Path: "/a"},
		{Xid: 8, Op: jute.OpSetData, Path: "/a", Data: []byte("d"), Version: 7},
		{Xid: 9, Op: jute.OpGetACL, Path: "/a"},
		{Xid: 10, Op: jute.OpSetACL, Path: "/a", ACL: acl, Version: 1},
		{Xid: 11, Op: jute.OpGetChildren, Path: "/a", Watch: true},
		{Xid: 12, Op: jute.OpGetChildren2, Path: "/a"},
		{Xid: 13, Op: jute.OpSync, Path: "/a"},
		{Xid: jute.XidPing, Op: jute.OpPing},
		{Xid: 14, Op: jute.OpCheck, Path: "/a", Version: 2},
		{Xid: 15, Op: jute.OpMulti, Ops: []jute.Request{
			{Op: jute.OpCheck, Path: "/a", Version: 2},
			{Op: jute.OpCreateTTL, Path: "/b", ACL: acl, Flags: 5, TTL: 5},
			{Op: jute.OpDelete, Path: "/c", Version: 1},
			{Op: jute.OpSetData, Path: "/d", Data: []byte{}, Version: 1},
		}},
		{Xid: 16, Op: jute.OpMultiRead, Ops: []jute.Request{{Op: jute.OpGetData, Path: "/a"}, {Op: jute.OpGetChildren, Path: "/b"}}},
		{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: "digest", Data: []byte("u:p")},
		{
			Xid: jute.XidSetWatches, Op: jute.OpSetWatches, Zxid: 9,
			DataW: []string{"/a"}, ExistW: []string{"/b", jute.Null}, ChildW: []string{},
		},
		{
			Xid: jute.XidSetWatches, Op: jute.OpSetWatches2, Zxid: 9, DataW: []string{}, ExistW: []string{}, ChildW: []string{},
			PersistW: []string{"/p"}, RecursW: []string{"/r"},
		},
		{Xid: 17, Op: jute.OpCheckWatches, Path: "/a", Kind: 2},
		{Xid: 18, Op: jute.OpRemoveWatches, Path: "/a", Kind: 3},
		{Xid: 19, Op: jute.OpAddWatch, Path: "/a", Flags: 1},
		{Xid: 20, Op: jute.OpGetEphemerals, Path: "/"},
		{Xid: 21, Op: jute.OpCountChildren, Path: "/"},
		{Xid: 22, Op: jute.OpWhoAmI},
		{Xid: 23, Op: jute.OpCloseSession},
		{Xid: 24, Op: jute.OpSASL, Data: []byte("token")},
		{Xid: 25, Op: jute.OpReconfig, Names: []string{"a", jute.Null, ""}, Zxid: -1},
	}
}

func TestRequestsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, q := range samples() {
		var w jute.Writer
		q.Encode(&w)
		var got jute.Request
		r := jute.NewReader(w.Bytes())
		require.NoError(t, got.Decode(r), q.Op)
		require.False(t, got.Malformed(), q.Op)
		require.Zero(t, r.Len(), q.Op)
		require.Equal(t, q, got)

		// Cut anywhere behind the header it is malformed, and before that an error.
		for n := range w.Len() {
			var cut jute.Request
			err := cut.Decode(jute.NewReader(w.Bytes()[:n]))
			require.Equal(t, n < 8, err != nil)
			require.True(t, err != nil || cut.Malformed(), "%v cut at %d of %d", q.Op, n, w.Len())
		}
	}
}

func TestMoreResultsThanOperations(t *testing.T) {
	t.Parallel()
	p := jute.Reply{Results: []jute.Result{{Op: jute.OpDelete}, {Op: jute.OpCheck}}}
	var w jute.Writer
	p.Encode(&w, jute.OpMulti)
	for operations, want := range []error{jute.ErrLength, jute.ErrLength, nil, nil} {
		var got jute.Reply
		r := jute.NewReader(w.Bytes())
		require.NoError(t, got.DecodeHeader(r))
		require.ErrorIs(t, got.DecodeMulti(r, operations), want)
		require.Len(t, got.Results, min(operations, 2))
	}
}

func TestHandshakesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		q := jute.ConnectRequest{Protocol: 1, LastZxidSeen: 2, Timeout: 3, SessionID: 4, Password: []byte("secret"), ReadOnly: !old, Old: old}
		var w jute.Writer
		q.Encode(&w)
		var gotQ jute.ConnectRequest
		require.NoError(t, gotQ.Decode(jute.NewReader(w.Bytes())))
		require.Equal(t, q, gotQ)
		p := jute.ConnectResponse{Protocol: 1, Timeout: 3, SessionID: 4, Password: []byte("secret"), ReadOnly: !old, Old: old}
		w.Reset(nil)
		p.Encode(&w)
		var gotP jute.ConnectResponse
		require.NoError(t, gotP.Decode(jute.NewReader(w.Bytes())))
		require.Equal(t, p, gotP)
		require.Error(t, gotQ.Decode(jute.NewReader([]byte{1})))
		require.Error(t, gotP.Decode(jute.NewReader([]byte{1})))
	}
}
