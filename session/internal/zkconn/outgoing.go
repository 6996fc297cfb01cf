package zkconn

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Write takes one frame of the library: the request for the session, which was made before, and
// then pings.
func (l *line) Write(frame []byte) (n int, err error) {
	defer l.guard("writing", &err)
	if !l.greeted {
		l.greeted = true
		return len(frame), nil
	}
	if len(frame) < 12 || int32(binary.BigEndian.Uint32(frame[4:])) != jute.XidPing {
		l.lose(errUnexpected)
		return 0, errUnexpected
	}
	if err := l.ping(); err != nil {
		return 0, err
	}
	return len(frame), nil
}

// ping asks the server for a sign of life.
func (l *line) ping() error {
	l.writing.take()
	defer l.writing.pass()
	l.conn.mu.Lock()
	l.await(nil)
	l.conn.mu.Unlock()
	return l.transmit(encode(&jute.Request{Xid: jute.XidPing, Op: jute.OpPing}))
}

// put writes requests, or refuses them; frames are theirs, without their numbers. If the writing
// fails, the line is lost, and so are the answers.
func (l *line) put(rs []*request, frames []byte) error {
	select {
	case l.writing <- struct{}{}:
	case <-l.gone.C():
		return l.conn.refusal()
	case <-l.conn.shut.C():
		return ErrEnded
	}
	defer l.writing.pass()
	if !l.number(rs, frames) {
		return l.conn.refusal()
	}
	_ = l.transmit(frames) // if it fails, the line is lost
	return nil
}

// number makes each request the owner of the next xid, and writes that into its frame; false if the
// line takes no requests any more. With the writing turn, so that the order in which answers are
// awaited is that of the frames.
func (l *line) number(rs []*request, frames []byte) bool {
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != l || c.closing || c.cause != nil {
		return false
	}
	for _, r := range rs {
		l.xid = max(l.xid+1, 1) // behind the last one it begins anew
		r.ask.Xid, r.line, r.sentAt = l.xid, l, time.Now()
		binary.BigEndian.PutUint32(frames[4:], uint32(l.xid))
		frames = frames[4+r.size:]
		l.await(r)
		if r.ask.Op == jute.OpRemoveWatches {
			c.watches.remove(r.ask.Path, r.ask.Kind)
		}
	}
	return true
}

// write writes a frame of the handshake, or the farewell.
func (l *line) write(frame []byte) error {
	l.writing.take()
	defer l.writing.pass()
	return l.transmit(frame)
}

// transmit writes to the network, or loses the line: before the next frame has its turn, which then
// knows that it is not sent. With the writing turn.
func (l *line) transmit(frames []byte) error {
	err := l.toNetwork(frames)
	if err != nil {
		err = fmt.Errorf("write: %w", err)
		l.lose(err)
	}
	return err
}

func (l *line) toNetwork(frames []byte) (err error) {
	defer l.guardNetwork("write", &err)
	if l.quiet > 0 {
		if err := l.raw.SetWriteDeadline(time.Now().Add(l.quiet)); err != nil {
			return err
		}
	}
	_, err = l.raw.Write(frames)
	return err
}
