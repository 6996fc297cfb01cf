package link

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
)

// Write takes one frame of the library.
func (l *line) Write(frame []byte) (n int, err error) {
	defer l.guard("writing", &err)
	if len(frame) < 12 {
		return 0, errUnexpected
	}
	if !l.greeted {
		l.greeted = true
		return len(frame), nil
	}
	xid, op := int32(binary.BigEndian.Uint32(frame[4:])), jute.Op(int32(binary.BigEndian.Uint32(frame[8:])))
	l.writing.take()
	r, err := l.register(xid, op)
	if err != nil {
		l.writing.pass()
		l.lose(err)
		return 0, err
	}
	if err = l.transmit(l.amended(r, frame)); err != nil {
		l.lose(fmt.Errorf("write: %w", err)) // before the next frame has its turn, which then knows that it is not sent
	}
	l.writing.pass()
	if r != nil && r.grow == 0 {
		l.conn.turn.pass()
	}
	return len(frame), err
}

// amended is a frame of the library's as it goes out. The library's sending goroutine runs here.
func (l *line) amended(r *request, frame []byte) []byte {
	switch {
	case r == nil:
	case r.grow > 0:
		zk.WithMaxConnBufferSize(r.grow)(l.conn.zk) // the send buffer belongs to this goroutine
	case r.watch:
		// The library doesn't know of watches: it would re-arm them behind our back. The flag is
		// the last byte.
		frame = append(make([]byte, 0, len(frame)), frame...)
		frame[len(frame)-1] = 1
	}
	return frame
}

// register makes the request that was handed to the library the owner of the xid that the library
// gave it; nil for a ping. With the writing turn: see number.
func (l *line) register(xid int32, op jute.Op) (*request, error) {
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if op == jute.OpPing {
		l.await(jute.XidPing)
		return nil, nil
	}
	if l.dead != nil {
		return nil, l.dead
	}
	r := c.handing
	if _, taken := l.pending[xid]; r == nil || taken {
		return nil, errUnexpected
	}
	c.handing = nil
	r.sent, r.sentAt = true, time.Now()
	l.pending[xid] = r
	l.await(xid)
	return r, nil
}

// ping asks a server that is far away for a sign of life as soon as there is a connection. The
// library does so after a third of the timeout for the first time, so that an answer which takes as
// long again would come when the silence has been given up.
func (l *line) ping() {
	l.writing.take()
	defer l.writing.pass()
	l.conn.mu.Lock()
	l.await(jute.XidPing)
	l.conn.mu.Unlock()
	if err := l.transmit(encode(&jute.Request{Xid: jute.XidPing, Op: jute.OpPing})); err != nil {
		l.lose(fmt.Errorf("write: %w", err))
	}
}

// send writes a frame, or loses the line.
func (l *line) send(frame []byte) error {
	l.writing.take()
	defer l.writing.pass()
	err := l.transmit(frame)
	if err != nil {
		l.lose(fmt.Errorf("write: %w", err)) // before the next frame has its turn, which then knows that it is not sent
	}
	return err
}

func (l *line) write(frame []byte) error {
	l.writing.take()
	defer l.writing.pass()
	return l.transmit(frame)
}

// transmit writes to the network. With the writing turn.
func (l *line) transmit(frame []byte) (err error) {
	defer l.guardNetwork("write", &err)
	if l.quiet > 0 {
		if err := l.raw.SetWriteDeadline(time.Now().Add(l.quiet)); err != nil {
			return err
		}
	}
	_, err = l.raw.Write(frame)
	return err
}
