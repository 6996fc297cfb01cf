package jute_test

// What is encoded and decoded: primitives, requests, replies and handshakes go round; bytes that
// are none of these are refused, and nothing panics.

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/jute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheFormOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		write func(w *jute.Writer)
		want  string
	}{
		{"a frame", func(w *jute.Writer) { w.Begin(); w.Int(1); w.End() }, "\x00\x00\x00\x04\x00\x00\x00\x01"},
		{"a string", func(w *jute.Writer) { w.Text("/a") }, "\x00\x00\x00\x02/a"},
		{"null", func(w *jute.Writer) { w.Buffer(nil) }, "\xff\xff\xff\xff"},
		{"beyond 16 bits", func(w *jute.Writer) { w.Text("😀") }, "\x00\x00\x00\x06\xed\xa0\xbd\xed\xb8\x80"},
		{"an event", func(w *jute.Writer) {
			(&jute.Event{Type: jute.NodeDeleted, State: jute.StateConnected, Path: "/"}).Encode(w, -1)
		}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x01/"},
		{"a ping", func(w *jute.Writer) { (&jute.Request{Xid: jute.XidPing, Op: jute.OpPing}).Encode(w) }, "\xff\xff\xff\xfe\x00\x00\x00\x0b"},
		{
			"the end of a multi", func(w *jute.Writer) { (&jute.Request{Xid: 1, Op: jute.OpMulti}).Encode(w) },
			"\x00\x00\x00\x01\x00\x00\x00\x0e\xff\xff\xff\xff\x01\xff\xff\xff\xff",
		},
	} {
		var w jute.Writer
		c.write(&w)
		require.Equal(t, c.want, string(w.Bytes()), c.name)
	}
}

func TestTheFirstErrorSticks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		frame string
		read  func(r *jute.Reader)
		want  error
	}{
		{"an int of three bytes", "\x00\x00\x00", func(r *jute.Reader) { r.Int() }, jute.ErrShort},
		{"a long of seven", "\x00\x00\x00\x00\x00\x00\x00", func(r *jute.Reader) { r.Long() }, jute.ErrShort},
		{"no byte for a bool", "", func(r *jute.Reader) { r.Bool() }, jute.ErrShort},
		{"a string that claims too much", "\x7f\xff\xff\xffabc", func(r *jute.Reader) { r.Text() }, jute.ErrShort},
		{"a buffer of negative length", "\xff\xff\xff\xfeabc", func(r *jute.Reader) { r.Buffer() }, jute.ErrLength},
		{"a vector that claims too much", "\x7f\xff\xff\xff\x00\x00\x00\x00", func(r *jute.Reader) { r.Texts() }, jute.ErrShort},
	} {
		r := jute.NewReader([]byte(c.frame))
		c.read(r)
		require.ErrorIs(t, r.Err(), c.want, c.name)
		require.Zero(t, r.Len(), c.name)
		require.Zero(t, r.Int())
		require.Zero(t, r.Long())
		require.Empty(t, r.Text())
		require.Nil(t, r.Buffer())
		require.Nil(t, r.Texts())
		require.ErrorIs(t, r.Err(), c.want, c.name)
	}
}

func TestInvalidUTF8IsReplacedAsJavaDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"a\xffb", "a\ufffdb"},
		{"\xe2\x82A", "\ufffdA"},
		{"\xe2\x82", "\ufffd"},
		{"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"},
		{"\xf0\x9f\x98", "\ufffd"},
		{"\xc0\x80", "\ufffd\ufffd"},
		{"\xe0\x80\x80", "\ufffd\ufffd\ufffd"},
		{"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
	} {
		var w jute.Writer
		w.Buffer([]byte(c.in))
		require.Equal(t, c.want, jute.NewReader(w.Bytes()).Text(), "%x", c.in)
	}
}

func TestAbsurdCountsAllocateNothing(t *testing.T) {
	var w jute.Writer
	w.Int(1)
	w.Int(int32(jute.OpCreate))
	w.Text("/a")
	w.Buffer(nil)
	w.Int(math.MaxInt32)
	var q jute.Request
	var r jute.Reader
	require.Less(t, testing.AllocsPerRun(10, func() {
		r.Reset(w.Bytes())
		q.Reset()
		_ = q.Decode(&r)
	}), 5.0)
	require.True(t, q.Malformed())
}

func TestNamesAreZooKeepers(t *testing.T) {
	t.Parallel()
	require.Equal(t, "getChildren2", jute.OpGetChildren2.String())
	require.Equal(t, "op99", jute.Op(99).String())
	require.Equal(t, "no node", jute.NoNode.String())
	require.Equal(t, "code -99", jute.Code(-99).String())
	require.EqualError(t, jute.NoNode.Err(), "zookeeper: no node")
	require.NoError(t, jute.OK.Err())
	require.Equal(t, "NodeDataChanged", jute.NodeDataChanged.String())
	require.Equal(t, "None", jute.EventType(0).String())
}

// The names of a listing are parts of one string, with what is null or no UTF-8 among them.
func TestALongListIsOneCopy(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = strings.Repeat("x", 40)
	}
	names[7], names[8] = jute.Null, ""
	var w jute.Writer
	w.Texts(names)
	long := w.Bytes()
	require.Equal(t, names, jute.NewReader(long).Texts())
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { jute.NewReader(long).Texts() }), 3.0)

	bad := slices.Clone(long)
	bad[8+10*44] = 0xff // in the middle of a name
	read := jute.NewReader(bad).Texts()
	require.Contains(t, strings.Join(read, ""), "\ufffd")
	require.Equal(t, names[20:], read[20:])
	require.Nil(t, jute.NewReader(nil).Texts())
	short := jute.NewReader(long[:len(long)-1])
	short.Texts()
	require.ErrorIs(t, short.Err(), jute.ErrShort)
}

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

func TestRepliesRoundTrip(t *testing.T) {
	t.Parallel()
	stat := jute.Stat{Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: 6, Aversion: 7, EphemeralOwner: 8, DataLength: 9, NumChildren: 10, Pzxid: 11}
	for _, c := range []struct {
		op jute.Op
		p  jute.Reply
	}{
		{jute.OpCreate, jute.Reply{Path: "/a"}},
		{jute.OpCreate2, jute.Reply{Path: "/a", Stat: stat}},
		{jute.OpDelete, jute.Reply{}},
		{jute.OpExists, jute.Reply{Stat: stat}},
		{jute.OpGetData, jute.Reply{Data: []byte("d"), Stat: stat}},
		{jute.OpGetACL, jute.Reply{ACL: jute.OpenACL(), Stat: stat}},
		{jute.OpGetChildren, jute.Reply{Names: []string{"a", "b"}}},
		{jute.OpGetChildren2, jute.Reply{Names: []string{"a"}, Stat: stat}},
		{jute.OpSync, jute.Reply{Path: "/a"}},
		{jute.OpCountChildren, jute.Reply{Count: 7}},
		{jute.OpWhoAmI, jute.Reply{Identity: []jute.Identity{{Scheme: "ip", ID: "127.0.0.1"}}}},
		{jute.OpCreate, jute.Reply{Err: jute.NoNode}},
		{jute.OpMulti, jute.Reply{Results: []jute.Result{
			{Op: jute.OpCreate, Path: "/a"},
			{Op: jute.OpCreate2, Path: "/b", Stat: stat},
			{Op: jute.OpSetData, Stat: stat},
			{Op: jute.OpDelete},
			{Op: jute.OpCheck},
			{Op: jute.OpError, Err: jute.NoAuth},
			{Op: jute.OpGetData, Data: []byte{}, Stat: stat},
			{Op: jute.OpGetChildren, Names: []string{"x"}},
		}}},
	} {
		c.p.Xid, c.p.Zxid = 5, 6
		var w jute.Writer
		c.p.Encode(&w, c.op)
		var got jute.Reply
		r := jute.NewReader(w.Bytes())
		require.NoError(t, got.DecodeHeader(r))
		require.NoError(t, got.DecodeBody(r, c.op))
		require.Zero(t, r.Len())
		require.Equal(t, c.p, got, c.op)
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
