package zkconn

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Write takes one frame of the library: the request for the session, which was made before, and
// then pings.
func (w *wire) Write(frame []byte) (n int, err error) {
	defer w.guard("writing", &err)
	if !w.askedForSession {
		w.askedForSession = true
		return len(frame), nil
	}
	if len(frame) < 12 || int32(binary.BigEndian.Uint32(frame[4:])) != jute.XidPing {
		w.lose(errUnexpected)
		return 0, errUnexpected
	}
	if err := w.ping(); err != nil {
		return 0, err
	}
	return len(frame), nil
}

// ping asks the server for a probe of life.
func (w *wire) ping() error {
	w.writing.acquire()
	defer w.writing.release()
	w.conn.mu.Lock()
	w.await(nil)
	w.conn.mu.Unlock()
	return w.transmit(encode(&jute.Request{Xid: jute.XidPing, Op: jute.OpPing}))
}

// put writes requests, or refuses them; frames are theirs, without their numbers. If the writing
// fails, the wire is lost, and so are the answers.
func (w *wire) put(rs []*request, frames []byte) error {
	select {
	case w.writing <- struct{}{}:
	case <-w.lost.C():
		return w.conn.refusal()
	case <-w.conn.closed.C():
		return ErrEnded
	}
	defer w.writing.release()
	if !w.number(rs, frames) {
		return w.conn.refusal()
	}
	_ = w.transmit(frames) // if it fails, the wire is lost
	return nil
}

// number makes each request the owner of the next xid, and writes that into its frame; false if the
// wire takes no requests any more. With the writing semaphore, so that the order in which answers are
// awaited is that of the frames.
func (w *wire) number(rs []*request, frames []byte) bool {
	c := w.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wire != w || c.closing || c.cause != nil {
		return false
	}
	for _, r := range rs {
		w.xid = max(w.xid+1, 1) // behind the last one it begins anew
		r.ask.Xid, r.wire, r.sentAt = w.xid, w, time.Now()
		binary.BigEndian.PutUint32(frames[4:], uint32(w.xid))
		frames = frames[4+r.size:]
		w.await(r)
		if r.ask.Op == jute.OpRemoveWatches {
			c.watches.remove(r.ask.Path, r.ask.Kind)
		}
	}
	return true
}

// write writes a frame of the handshake, or the closeSession.
func (w *wire) write(frame []byte) error {
	w.writing.acquire()
	defer w.writing.release()
	return w.transmit(frame)
}

// transmit writes to the network, or loses the wire: before the next frame has its turn, which then
// knows that it is not sent. With the writing semaphore.
func (w *wire) transmit(frames []byte) error {
	err := w.toNetwork(frames)
	if err != nil {
		err = fmt.Errorf("write: %w", err)
		w.lose(err)
	}
	return err
}

func (w *wire) toNetwork(frames []byte) (err error) {
	defer w.guardNetwork("write", &err)
	if w.patience > 0 {
		if err := w.raw.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
			return err
		}
	}
	_, err = w.raw.Write(frames)
	return err
}
