package link

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
)

// Write takes one frame of the library.
func (l *line) Write(frame []byte) (int, error) {
	if len(frame) < 12 {
		return 0, errUnexpected
	}
	if !l.greeted {
		return len(frame), l.greet()
	}
	xid, op := int32(binary.BigEndian.Uint32(frame[4:])), jute.Op(int32(binary.BigEndian.Uint32(frame[8:])))
	if op == jute.OpPing {
		l.conn.mu.Lock()
		l.order.asked(jute.XidPing)
		l.conn.mu.Unlock()
		return len(frame), l.send(frame)
	}
	r, err := l.register(xid)
	if err != nil {
		l.lose(err)
		return 0, err
	}
	if r.grow > 0 {
		// The library's send buffer belongs to the goroutine that runs here.
		zk.WithMaxConnBufferSize(r.grow)(l.conn.zk)
		return len(frame), l.send(frame)
	}
	if r.watch {
		// The library doesn't know of watches: it would re-arm them behind our back. The flag is the last byte.
		frame = append(make([]byte, 0, len(frame)), frame...)
		frame[len(frame)-1] = 1
	}
	if r.op == jute.OpCreate2 {
		frame = asCreate2(frame)
	}
	err = l.send(frame)
	l.conn.turn.pass()
	r.out()
	return len(frame), err
}

// register makes the request that was handed to the library the owner of the xid that the library gave it.
func (l *line) register(xid int32) (*request, error) {
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.dead != nil {
		return nil, l.dead
	}
	r := c.handing
	if r == nil {
		return nil, errUnexpected
	}
	c.handing = nil
	r.sent, r.sentAt = true, time.Now()
	l.pending[xid] = r
	l.order.asked(xid)
	return r, nil
}

// send writes a frame, or loses the line.
func (l *line) send(frame []byte) error {
	if err := l.write(frame); err != nil {
		l.lose(fmt.Errorf("write: %w", err))
		return err
	}
	return nil
}

func (l *line) write(frame []byte) error {
	l.writing.take()
	defer l.writing.pass()
	if l.quiet > 0 {
		if err := l.raw.SetWriteDeadline(time.Now().Add(l.quiet)); err != nil {
			return err
		}
	}
	_, err := l.raw.Write(frame)
	return err
}
