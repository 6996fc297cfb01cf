package link_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/link"
)

// Whatever a server sends, before or after its welcome and while requests of every kind are waiting, nothing panics and everything ends.
func FuzzServerBytes(f *testing.F) {
	w := jute.NewWriter(nil)
	w.Begin()
	(&jute.ConnectResponse{Timeout: 6000, SessionID: 7, Password: make([]byte, 16)}).Encode(w)
	w.End()
	welcome := w.Bytes()
	for xid := range int32(4) {
		f.Add(append(welcome[:len(welcome):len(welcome)], frame(24, xid, 1, 1)...))
		f.Add(append(welcome[:len(welcome):len(welcome)], frame(100, xid, make([]uint32, 21)...)...))
	}
	f.Add(append(welcome[:len(welcome):len(welcome)], frame(28, -1, 1, 3, 0)...))
	f.Add(welcome[:10])
	f.Fuzz(func(t *testing.T, sent []byte) {
		up := make(chan struct{}, 1)
		cfg := link.Config{Servers: []string{"a"}, Timeout: timeout, Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() { // ends when the client hangs up
				defer server.Close()
				go func() { _, _ = server.Write(sent) }()
				for {
					if _, err := readFrame(server); err != nil {
						return
					}
				}
			}()
			return client, nil
		}}
		c, err := link.Open(cfg, func(ev link.Event) {
			if _, ok := ev.(link.Up); ok {
				select {
				case up <- struct{}{}:
				default:
				}
			}
		})
		require.NoError(t, err)
		select {
		case <-up:
			for _, ask := range every(c) {
				go func() { _ = ask() }() // ends with the Conn
			}
		case <-time.After(5 * time.Millisecond):
		}
		<-time.After(time.Millisecond)
		c.Abandon()
	})
}
