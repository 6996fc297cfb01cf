package zkconn_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// frame builds a frame of the given length from a reply's header and some numbers behind it.
func frame(length, xid int32, rest ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(length))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, 1)
	b = binary.BigEndian.AppendUint32(b, 0)
	for _, n := range rest {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// At such frames the library would panic, or try to allocate gigabytes: they drop the connection
// instead.
func TestMalformedFramesDropTheConnection(t *testing.T) {
	t.Parallel()
	const unasked, answer = 0, 1 // a frame out of the blue, or in answer to the first request
	cases := map[string]struct {
		kind int
		op   jute.Op
		raw  []byte
	}{
		"length 0":               {unasked, 0, make([]byte, 20)},
		"length 15":              {unasked, 0, frame(15, -1, 0)},
		"negative length":        {unasked, 0, frame(-1, -1)},
		"huge event":             {unasked, 0, frame(1<<30, -1)},
		"huge ping":              {unasked, 0, frame(1<<30, -2)},
		"unknown xid":            {unasked, 0, frame(16, -77)},
		"uninvited close":        {unasked, 0, frame(16, -11)},
		"answer to nothing":      {unasked, 0, frame(16, 4711)},
		"empty event":            {unasked, 0, frame(16, -1)},
		"event with long path":   {unasked, 0, frame(28, -1, 1, 3, 99)},
		"no count":               {answer, jute.OpGetChildren2, frame(16, 1)},
		"absurd count":           {answer, jute.OpGetChildren2, frame(24, 1, 1<<31-1, 0)},
		"negative count":         {answer, jute.OpGetChildren2, frame(24, 1, 1<<32-7, 0)},
		"absurd ACL":             {answer, jute.OpGetACL, frame(24, 1, 1<<30, 0)},
		"absurd data":            {answer, jute.OpGetData, frame(24, 1, 1<<31-1, 0)},
		"absurd path":            {answer, jute.OpCreate, frame(24, 1, 1<<31-1, 0)},
		"no path":                {answer, jute.OpSync, frame(16, 1)},
		"half a stat":            {answer, jute.OpExists, frame(24, 1, 1, 1)},
		"empty transaction":      {answer, jute.OpMulti, frame(16, 1)},
		"absurd path of a birth": {answer, jute.OpCreate2, frame(24, 1, 1<<31-1, 0)},
		"half a birth":           {answer, jute.OpCreate2, frame(28, 1, 0, 1, 1)},
		"broken names":           {answer, jute.OpGetChildren2, frame(24, 1, 1, 1<<31-1)},
		"half a transaction":     {answer, jute.OpMulti, frame(20, 1, 13)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				time.Sleep(time.Minute)
				if c.kind == unasked {
					v.write(c.raw)
				} else {
					b.script(func() {
						b.answer = func(at *visit, q jute.Request) (jute.Reply, bool) {
							if at != v || len(v.asked()) > 1 {
								return success(q), true
							}
							binary.BigEndian.PutUint32(c.raw[4:], uint32(q.Xid))
							v.write(c.raw)
							return jute.Reply{}, false
						}
					})
					require.ErrorIs(b, every(b.Conn)[c.op](), zkconn.ErrNoReply)
				}
				synctest.Wait()
				downs, _ := told[zkconn.Down](b.sink)
				require.Len(b, downs, 1)
				ups, _ := told[zkconn.Up](b.sink)
				require.Len(b, ups, 2)
				require.NoError(b, b.Sync("/"))
			})
		})
	}
}

func TestMalformedWelcome(t *testing.T) {
	t.Parallel()
	long := frame(20000, 0)
	cases := map[string]jute.ConnectResponse{
		"no timeout":       {SessionID: 7, Password: make([]byte, 16)},
		"negative timeout": {SessionID: 7, Timeout: -1, Password: make([]byte, 16)},
		"no session":       {Timeout: 6000, Password: make([]byte, 16)},
	}
	for name, first := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				synctest.Wait()
				require.Empty(b, b.sink.all())
				b.script(func() { b.welcome = nil })
				time.Sleep(time.Second)
				b.connected()
			}, func(f *fake, _ *zkconn.Config) {
				f.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return first, true }
			})
		})
	}
	for name, raw := range map[string][]byte{"too long": long, "too short": frame(2, 0)[:6], "negative": frame(-5, 0)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				time.Sleep(time.Second)
				require.Empty(b, b.sink.all())
				require.Greater(b, len(b.dialled()), 3)
			}, func(f *fake, _ *zkconn.Config) {
				f.raw = raw
			})
		})
	}
}

func TestTooLargeRequestIsNotSent(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		op := jute.Request{Op: jute.OpCreate, Path: "/a", ACL: world}
		fits := make([]byte, 1000-zkconn.Size(op))
		_, err := b.Create("/a", fits, jute.FlagPersistent, 0, world)
		require.NoError(b, err)
		_, err = b.Create("/a", make([]byte, len(fits)+1), jute.FlagPersistent, 0, world)
		require.ErrorIs(b, err, zkconn.ErrTooLarge)
		_, err = b.Enter(zkconn.Entry{Path: "/a", Data: fits, ACL: world, List: "/"})
		require.NoError(b, err)
		_, err = b.Enter(zkconn.Entry{Path: "/a", Data: make([]byte, len(fits)+1), ACL: world, List: "/"})
		require.ErrorIs(b, err, zkconn.ErrTooLarge)
		require.Equal(b, 1000, v.sizes()[1])
		require.Len(b, v.sizes(), 3, "and nothing of what was too large")
	}, func(_ *fake, cfg *zkconn.Config) { cfg.MaxPacket = 1000 })
}

// An answer that nobody wants to hold in memory fails its request and no other.
func TestTooLargeAnswer(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		names := make([]string, 10_000)
		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
				answer := success(q)
				if q.Op == jute.OpGetChildren2 {
					answer.Names = names
				}
				return answer, true
			}
		})
		_, _, err := b.Children("/a", true)
		require.ErrorIs(b, err, zkconn.ErrTooLarge)
		require.NoError(b, b.Sync("/"))
		require.Len(b, b.sink.all(), 2)
		names = names[:100]
		found, _, err := b.Children("/a", false)
		require.NoError(b, err)
		require.Len(b, found, 100)
	}, func(_ *fake, cfg *zkconn.Config) { cfg.MaxPacket = 1000 })
}

func TestLargePacketsBothWays(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		for _, size := range []int{1, 4000, 4096, 5000, 100_000, 1_000_000} {
			data := bytes.Repeat([]byte{byte(size)}, size)
			b.script(func() {
				b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
					answer := success(q)
					if q.Op == jute.OpGetData {
						answer.Data = data
					}
					return answer, true
				}
			})
			_, err := b.Set("/a", data, -1)
			require.NoError(b, err)
			sets := 0
			for _, q := range b.visit(0).asked() {
				if q.Op == jute.OpSetData {
					sets++
					if len(q.Data) == size {
						require.Equal(b, data, q.Data)
					}
				}
			}
			require.Positive(b, sets)
			back, _, err := b.Get("/a", false)
			require.NoError(b, err)
			require.Equal(b, data, back)
		}
	})
}

// The library would allocate three megabytes for each connection. Not parallel: it looks at the
// heap.
func TestIdleConnIsSmall(t *testing.T) {
	const n = 50
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		var conns []*zkconn.Conn
		open := func() {
			c, err := zkconn.Open(zkconn.Config{Servers: []string{"a"}, Timeout: timeout, Dial: f.dial}, func(zkconn.Event) {})
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, c.Sync("/"))
			conns = append(conns, c)
		}
		open()
		before := heap()
		for range n {
			open()
		}
		each := (heap() - before) / n
		t.Logf("%d bytes each, the server's end included", each)
		require.Less(t, each, 64<<10)
		for _, c := range conns {
			c.Abandon()
		}
	})
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
