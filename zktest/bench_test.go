package zktest_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkRequests is this server beside a real one with its data in memory: reads and writes, with 1 and 64 requests in flight on a connection.
func BenchmarkRequests(b *testing.B) {
	servers := map[string]func(b *testing.B) string{
		"ours": func(b *testing.B) string { return zktest.Start(b, zktest.WithJournal(0)).Servers()[0] },
		"real": func(b *testing.B) string { return ensemble.Start(b, 1).Servers()[0] },
	}
	requests := map[string]func(i int) jute.Request{
		"get": func(int) jute.Request { return jute.Request{Op: jute.OpGetData, Path: "/a"} },
		"set": func(int) jute.Request {
			return jute.Request{Op: jute.OpSetData, Path: "/a", Data: make([]byte, 100), Version: -1}
		},
		"create": func(i int) jute.Request { return create(fmt.Sprintf("/a/%09d", i), 0) },
	}
	for _, server := range []string{"ours", "real"} {
		if server == "real" && ensemble.Available() != nil {
			continue
		}
		for _, kind := range []string{"get", "set", "create"} {
			for _, inFlight := range []int{1, 64} {
				b.Run(fmt.Sprintf("%s/%s/inflight=%d", server, kind, inFlight), func(b *testing.B) {
					conn, err := net.Dial("tcp", servers[server](b))
					require.NoError(b, err)
					defer conn.Close()
					c, err := greet(conn, jute.ConnectRequest{Timeout: 30000, Password: make([]byte, 16)})
					require.NoError(b, err)
					_, err = c.do(create("/a", 0))
					require.NoError(b, err)
					flood(b, conn, requests[kind], inFlight)
				})
			}
		}
	}
}

// flood keeps so many requests in flight.
func flood(b *testing.B, conn net.Conn, next func(i int) jute.Request, inFlight int) {
	in := bufio.NewReaderSize(conn, 64<<10)
	var w jute.Writer
	buf := make([]byte, 0, 1<<16)
	sent := 0
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		w.Reset(buf[:0])
		for sent < b.N && sent-done < inFlight {
			sent++
			q := next(sent)
			q.Xid = int32(sent)
			w.Begin()
			q.Encode(&w)
			w.End()
		}
		if w.Len() > 0 {
			if _, err := conn.Write(w.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
		for first := true; first || in.Buffered() > 4; first = false {
			var head [20]byte
			if _, err := io.ReadFull(in, head[:]); err != nil {
				b.Fatal(err)
			}
			if _, err := in.Discard(int(binary.BigEndian.Uint32(head[:])) - 16); err != nil {
				b.Fatal(err)
			}
			done++
		}
	}
}
