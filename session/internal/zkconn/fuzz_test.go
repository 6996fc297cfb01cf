package zkconn_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Whatever a server sends, before or after its welcome and while requests of every kind are
// waiting, nothing panics and everything ends.
func FuzzServerBytes(f *testing.F) {
	w := jute.NewWriter(nil)
	w.Begin()
	(&jute.ConnectResponse{Timeout: 6000, SessionID: 7, Password: make([]byte, 16)}).Encode(w)
	w.End()
	welcome := w.Bytes()
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
