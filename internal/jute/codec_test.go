package jute_test

// The codec: primitives, the form on the wire, and what is made of bytes that are none: decoding
// does not panic, and what was decoded goes round.

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
	bad[8+10*44] = 0xff // within the text of name 11: each takes 4+40 bytes, but 7 and 8
	read := jute.NewReader(bad).Texts()
	require.Contains(t, strings.Join(read, ""), "\ufffd")
	require.Equal(t, names[20:], read[20:])
	require.Nil(t, jute.NewReader(nil).Texts())
	short := jute.NewReader(long[:len(long)-1])
	short.Texts()
	require.ErrorIs(t, short.Err(), jute.ErrShort)
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
