package zkconn

import (
	"encoding/binary"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

func (w *socket) ping() (err error) {
	defer guard(w.log, "ping", &err)
	w.writing <- struct{}{}
	defer w.written()
	r := newPing()
	w.conn.mu.Lock()
	w.await(r)
	w.conn.mu.Unlock()
	return w.transmit(encode(&r.ask))
}

// put sends requests, or refuses them, when those are answered that go before. Their frames are
// complete but for the xids. If the write fails the connection is lost, and the requests get no
// reply.
func (w *socket) put(rs []*request, frames []byte) error {
	for {
		select {
		case w.writing <- struct{}{}:
		case <-w.taking.Done():
			return w.refusal()
		}
		before, err := w.number(rs, frames)
		if before == nil && err == nil {
			_ = w.transmit(frames)
		}
		w.written()
		if before == nil {
			return err
		}
		select {
		case <-before.answered.C():
		case <-w.taking.Done():
		}
	}
}

// before returns a request whose answer has to come before these are sent; nil if they may be. One
// that is to be alone waits for all others, and they for it from then on: they do not overtake it.
// But nothing that trust depends on waits for one that is alone; nor does that for those, which may
// come without end. Under mu.
func (w *socket) before(rs []*request) *request {
	last := rs[len(rs)-1]
	switch waits := last.alone || !last.probe; {
	case w.alone != nil && w.alone != last && !w.alone.answered.Closed():
		if waits {
			return w.alone
		}
	case last.alone:
		w.alone = last
		for _, r := range slices.Backward(w.order) {
			if !r.isPing() && !r.probe {
				return r
			}
		}
	}
	return nil
}

// number gives each request the next xid, also in its frame, and queues it for its reply; or
// returns one that goes before. It fails if the connection takes no requests any more, or one of
// them is called off. With the semaphore, so that the queue has the order of the frames.
//
// The numbers go on from connection to connection. A server tells its own clients' transactions
// from others' by session and xid: one that was sent on the connection before, through another
// server, would be taken for a later one of the same number.
func (w *socket) number(rs []*request, frames []byte) (before *request, err error) {
	c := w.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takes(w); err != nil {
		return nil, err
	}
	if before := w.before(rs); before != nil {
		return before, nil
	}
	if slices.ContainsFunc(rs, func(r *request) bool { return r.stands != nil && !r.stands() }) {
		if w.alone == rs[len(rs)-1] {
			w.alone.answered.Close() // nobody waits for it any more
		}
		return nil, ErrCalledOff
	}
	s := &c.session
	for _, r := range rs {
		s.xid = max(s.xid+1, 1) // it wraps
		r.ask.Xid = s.xid
		binary.BigEndian.PutUint32(frames[4:], uint32(s.xid))
		frames = frames[4+r.size:]
		w.await(r)
		if r.ask.Op == jute.OpRemoveWatches {
			delete(c.watches, Watch{r.ask.Path, r.ask.Kind == childWatches}) // whatever the outcome, it is not armed again
		}
	}
	return nil, nil
}

// send sends a frame that gets no reply that is waited for.
func (w *socket) send(frame []byte) error {
	w.writing <- struct{}{}
	defer w.written()
	return w.transmit(frame)
}

// written lets the next one write.
func (w *socket) written() { <-w.writing }

// transmit writes to the network. If that fails, the connection is lost before the semaphore is
// released: those that wait for it then know that they have sent nothing. With the semaphore.
func (w *socket) transmit(frames []byte) error {
	err := w.write(frames)
	if err != nil {
		w.lose(err)
	}
	return err
}
