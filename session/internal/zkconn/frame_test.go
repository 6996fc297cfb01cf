// Bytes of servers: malformed frames, sizes, and random ones. Helpers: helper_test.go.

package zkconn_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Such frames claim what is not so: they drop the connection. Those in answer to a request get its
// xid in place of 1.
func TestMalformedFramesDropTheConnection(t *testing.T) {
	const unasked, answer = 0, 1
	type row struct {
		kind int     // the frame comes unasked, or in answer to the first request
		op   jute.Op // of that request
		raw  []byte
	}
	each(t, map[string]row{
		"length 0":                {unasked, 0, make([]byte, 20)},
		"length 15":               {unasked, 0, frame(15, -1, 0)},
		"negative length":         {unasked, 0, frame(-1, -1)},
		"huge event":              {unasked, 0, frame(1<<30, -1)},
		"huge ping":               {unasked, 0, frame(1<<30, -2)},
		"unknown xid":             {unasked, 0, frame(16, -77)},
		"uninvited close":         {unasked, 0, frame(16, -11)},
		"answer to nothing":       {unasked, 0, frame(16, 4711)},
		"empty event":             {unasked, 0, frame(16, -1)},
		"event with long path":    {unasked, 0, frame(28, -1, 1, 3, 99)},
		"no count":                {answer, jute.OpGetChildren2, frame(16, 1)},
		"absurd count":            {answer, jute.OpGetChildren2, frame(24, 1, 1<<31-1, 0)},
		"negative count":          {answer, jute.OpGetChildren2, frame(24, 1, 1<<32-7, 0)},
		"absurd ACL":              {answer, jute.OpGetACL, frame(24, 1, 1<<30, 0)},
		"absurd data":             {answer, jute.OpGetData, frame(24, 1, 1<<31-1, 0)},
		"absurd path":             {answer, jute.OpCreate, frame(24, 1, 1<<31-1, 0)},
		"no path":                 {answer, jute.OpSync, frame(16, 1)},
		"half a stat":             {answer, jute.OpExists, frame(24, 1, 1, 1)},
		"empty transaction":       {answer, jute.OpMulti, frame(16, 1)},
		"absurd path of a birth":  {answer, jute.OpCreate2, frame(24, 1, 1<<31-1, 0)},
		"half a birth":            {answer, jute.OpCreate2, frame(28, 1, 0, 1, 1)},
		"broken names":            {answer, jute.OpGetChildren2, frame(24, 1, 1, 1<<31-1)},
		"half a transaction":      {answer, jute.OpMulti, frame(20, 1, 13)},
		"more results than asked": {answer, jute.OpMulti, frame(44, 1, 13, 0, 0, 13<<24, 0xffff, 0xffff01ff, 0xffffff00)}, // two checks
	}, func(b *bench, c row) {
		v := b.connected()
		time.Sleep(time.Minute)
		if c.kind == unasked {
			v.write(c.raw)
		} else {
			b.answers(func(at *visit, q jute.Request) (jute.Reply, bool) {
				if at != v || len(v.asked()) > 1 {
					return success(q), true
				}
				binary.BigEndian.PutUint32(c.raw[4:], uint32(q.Xid))
				v.write(c.raw)
				return jute.Reply{}, false
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
}

func TestAMalformedWelcomeIsNoSession(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string][]byte{
		"no timeout":       greeting(jute.ConnectResponse{SessionID: 7, Password: make([]byte, 16)}),
		"negative timeout": greeting(jute.ConnectResponse{SessionID: 7, Timeout: -1, Password: make([]byte, 16)}),
		"no session":       greeting(jute.ConnectResponse{Timeout: 6000, Password: make([]byte, 16)}),
		"too long":         frame(20000, 0),
		"too short":        frame(2, 0)[:6],
		"negative":         frame(-5, 0),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				time.Sleep(time.Second)
				require.Empty(b, b.sink.all())
				require.Greater(b, len(b.dialled()), 3)
				b.script(func() { b.raw = nil })
				time.Sleep(time.Second)
				b.connected()
			}, func(f *fake, _ *zkconn.Config) { f.raw = raw })
		})
	}
}

// The answer to a read may be sixteen times as large as a request, as ErrTooLarge says: listings
// are. One that is larger fails its request and no other.
func TestAnswersAreUpToSixteenTimesAsLargeAsRequests(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		const name = 196 // and four bytes of its length
		for times, want := range map[int]error{5: nil, 15: nil, 17: zkconn.ErrTooLarge} {
			names := slices.Repeat([]string{strings.Repeat("x", name)}, times*1000/200)
			b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
				answer := success(q)
				if q.Op == jute.OpGetChildren2 {
					answer.Names = names
				}
				return answer, true
			})
			found, _, err := b.Children("/a", false)
			require.ErrorIs(b, err, want)
			if err == nil {
				require.Equal(b, names, found)
			}
			require.NoError(b, b.Sync("/"))
			require.Len(b, b.visits, 1)
		}
	}, func(_ *fake, cfg *zkconn.Config) { cfg.MaxPacket = 1000 })
}

func TestLargePacketsBothWays(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		for _, size := range []int{1, 4000, 4096, 5000, 100_000, 1_000_000} {
			data := bytes.Repeat([]byte{byte(size)}, size)
			b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
				answer := success(q)
				if q.Op == jute.OpGetData {
					answer.Data = data
				}
				return answer, true
			})
			require.NoError(b, errOf(b.Set("/a", data, -1)))
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

// Not parallel: it looks at the heap.
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

// Whatever a server sends, before or after its welcome and while requests of every kind are
// waiting, nothing panics and everything ends.
func FuzzServerBytes(f *testing.F) {
	welcome := greeting(jute.ConnectResponse{Timeout: 6000, SessionID: 7, Password: make([]byte, 16)})
	for _, xid := range []int32{0, 1, 2, 3, 1 << 30, 1<<30 + 1} {
		f.Add(append(welcome[:len(welcome):len(welcome)], frame(24, xid, 1, 1)...))
		f.Add(append(welcome[:len(welcome):len(welcome)], frame(100, xid, make([]uint32, 21)...)...))
	}
	f.Add(append(welcome[:len(welcome):len(welcome)], frame(28, -1, 1, 3, 0)...))
	f.Add(welcome[:10])
	f.Fuzz(func(t *testing.T, sent []byte) {
		synctest.Test(t, func(t *testing.T) { receive(t, sent) })
	})
}

func receive(t *testing.T, sent []byte) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { _, _ = server.Write(sent) }() // both end when the client hangs up
		go func() {
			defer server.Close()
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	}
	up := false
	c, err := zkconn.Open(zkconn.Config{Servers: []string{"a"}, Timeout: timeout, Dial: dial}, func(ev zkconn.Event) {
		_, isUp := ev.(zkconn.Up)
		up = up || isUp
	})
	require.NoError(t, err)
	synctest.Wait()
	if up {
		for _, ask := range every(c) {
			go func() { _ = ask() }() // ends with the Conn
		}
	}
	time.Sleep(timeout)
	c.Abandon()
}
