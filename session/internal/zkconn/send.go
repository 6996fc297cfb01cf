package zkconn

import (
	"encoding/binary"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Write is called by the library with one frame: first its connect request, which is dropped, then
// pings.
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

// ping sends a ping.
func (w *wire) ping() error {
	w.writing <- struct{}{}
	defer w.written()
	r := newPing()
	w.conn.mu.Lock()
	w.await(r)
	w.conn.mu.Unlock()
	return w.transmit(encode(&r.ask))
}

// put sends requests, or refuses them. Their frames are complete but for the xids. If the write
// fails the connection is lost, and the requests get no reply.
func (w *wire) put(rs []*request, frames []byte) error {
	select {
	case w.writing <- struct{}{}:
	case <-w.lost.C():
		return w.refusal()
	case <-w.conn.closed.C():
		return w.refusal()
	}
	defer w.written()
	if err := w.number(rs, frames); err != nil {
		return err
	}
	_ = w.transmit(frames)
	return nil
}

// number gives each request the next xid, also in its frame, and queues it for its reply. It
// fails if the connection takes no requests any more. With the semaphore, so that the queue has the
// order of the frames.
//
// The numbers go on from connection to connection. A server tells its own clients' transactions
// from others' by session and xid: one that was sent on the connection before, through another
// server, would be taken for a later one of the same number.
func (w *wire) number(rs []*request, frames []byte) error {
	c := w.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takes(w); err != nil {
		return err
	}
	for _, r := range rs {
		c.xid = max(c.xid+1, 1) // it wraps
		r.ask.Xid = c.xid
		binary.BigEndian.PutUint32(frames[4:], uint32(c.xid))
		frames = frames[4+r.size:]
		w.await(r)
		if r.ask.Op == jute.OpRemoveWatches {
			c.watches.remove(r.ask.Path, r.ask.Kind)
		}
	}
	return nil
}

// write sends a frame that is not a request's.
func (w *wire) write(frame []byte) error {
	w.writing <- struct{}{}
	defer w.written()
	return w.transmit(frame)
}

// written lets the next one write.
func (w *wire) written() { <-w.writing }

// transmit writes to the network. If that fails, the connection is lost before the semaphore is
// released: those that wait for it then know that they have sent nothing. With the semaphore.
func (w *wire) transmit(frames []byte) error {
	err := w.writeNetwork(frames)
	if err != nil {
		w.lose(err)
	}
	return err
}

func (w *wire) writeNetwork(frames []byte) (err error) {
	defer w.guardNetwork("write", &err)
	if w.patience > 0 {
		if err := w.raw.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
			return err
		}
	}
	_, err = w.raw.Write(frames)
	return err
}
