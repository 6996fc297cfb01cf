package bench_test

// The bare client's connection, that requests can be sent right behind one another.

import (
	"encoding/binary"
	"net"
	"time"
)

// wire is a bare client's connection that says which requests have been written, so that another
// can be sent right behind one.
type wire struct {
	net.Conn
	written chan uint32 // operations; what nobody waits for may be lost
}

func newWire() *wire { return &wire{written: make(chan uint32, 64)} }

func (w *wire) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, timeout)
	return &wire{conn, w.written}, err
}

// The operations that others are sent behind.
const (
	opCreate  = 1
	opGetData = 4
)

// Write takes one frame of the client's.
func (w *wire) Write(frame []byte) (int, error) {
	n, err := w.Conn.Write(frame)
	if len(frame) >= 12 {
		select {
		case w.written <- binary.BigEndian.Uint32(frame[8:]):
		default:
		}
	}
	return n, err
}

// ahead makes a request beside the caller and returns when it has been written. Word of others may
// still be on its way.
func (w *wire) ahead(op uint32, request func()) {
	for len(w.written) > 0 {
		<-w.written
	}
	go request() // ends with its answer, for which the caller waits
	for <-w.written != op {
	}
}
