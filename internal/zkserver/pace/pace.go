package pace

import (
	"net"
	"sync"
	"time"
)

// Conn is the server's end of a connection, whose speed can be changed at any time. One goroutine
// at a time reads, and one writes.
type Conn struct {
	net.Conn

	spawn func(func())    // runs a goroutine for its owner, who waits for it
	ended <-chan struct{} // the owner is over
	over  chan struct{}
	close sync.Once
	err   error // of closing

	mu      sync.Mutex
	speed   Speed
	in, out lane
	linger  time.Duration // not 0: Finish was called
}

// New wraps a connection. While it is slow it uses up to two goroutines, started with spawn; they
// end with Close, or with ended, at the latest.
func New(conn net.Conn, spawn func(func()), ended <-chan struct{}) *Conn {
	return &Conn{Conn: conn, spawn: spawn, ended: ended, over: make(chan struct{}), in: newLane(), out: newLane()}
}

// SetSpeed changes the speed for what is sent from now on.
func (w *Conn) SetSpeed(s Speed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.speed = s
}

// Read reads what has arrived.
func (w *Conn) Read(b []byte) (int, error) {
	for {
		w.mu.Lock()
		n, due := w.in.take(b, time.Now())
		switch {
		case n > 0:
			w.mu.Unlock()
			return n, nil
		case !due.IsZero():
			w.mu.Unlock()
			w.waitUntil(due)
		case w.in.moving:
			changed := w.in.changed
			w.mu.Unlock()
			w.wait(changed, nil)
		case w.in.err != nil:
			w.mu.Unlock()
			return 0, w.in.err
		case w.speed.instant():
			w.mu.Unlock()
			if n, late, err := w.direct(b); !late {
				return n, err
			}
			continue
		default:
			w.pump()
			w.mu.Unlock()
		}
		if w.isOver() {
			return 0, net.ErrClosed
		}
	}
}

// direct reads past the lane. What was sent while the way had become slow is late.
func (w *Conn) direct(b []byte) (n int, late bool, err error) {
	n, err = w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.speed.instant() || n == 0 {
		return n, false, err
	}
	w.in.put(append([]byte(nil), b[:n]...), time.Now(), w.speed)
	if w.in.err = err; err == nil {
		w.pump()
	}
	return 0, true, nil
}

// pump takes in what arrives, so that what it costs is counted from when it was sent. It goes on
// until the way is quick again. The caller holds the lock.
func (w *Conn) pump() {
	w.in.moving = true
	// The owner of the connection owns this goroutine; it ends with the connection at the latest.
	w.spawn(func() {
		for {
			buf := make([]byte, 4<<10)
			n, err := w.Conn.Read(buf)
			w.mu.Lock()
			if n > 0 {
				w.in.put(buf[:n], time.Now(), w.speed)
			}
			if err != nil || w.speed.instant() {
				w.in.moving, w.in.err = false, err
				w.in.change()
				w.mu.Unlock()
				return
			}
			for w.in.size > window && !w.isOver() {
				changed := w.in.changed
				w.mu.Unlock()
				w.wait(changed, nil)
				w.mu.Lock()
			}
			w.mu.Unlock()
		}
	})
}

// Write sends; it waits only while too much is under way.
func (w *Conn) Write(b []byte) (int, error) {
	w.mu.Lock()
	for w.out.moving && w.out.size > window && !w.isOver() {
		changed := w.out.changed
		w.mu.Unlock()
		w.wait(changed, nil)
		w.mu.Lock()
	}
	switch {
	case w.out.err != nil:
		w.mu.Unlock()
		return 0, w.out.err
	case w.isOver():
		w.mu.Unlock()
		return 0, net.ErrClosed
	case w.speed.instant() && !w.out.moving:
		w.mu.Unlock()
		return w.Conn.Write(b)
	}
	w.out.put(append([]byte(nil), b...), time.Now(), w.speed)
	if !w.out.moving {
		w.out.moving = true
		// The owner of the connection owns this goroutine; it ends when nothing is under way any
		// more, or with the connection.
		w.spawn(w.deliver)
	}
	w.mu.Unlock()
	return len(b), nil
}

// deliver writes to the client what has arrived there.
func (w *Conn) deliver() {
	buf := make([]byte, 16<<10)
	for {
		w.mu.Lock()
		n, due := w.out.take(buf, time.Now())
		if n == 0 && due.IsZero() || w.out.err != nil {
			w.out.moving = false
			w.out.change()
			finished := w.linger > 0
			w.mu.Unlock()
			if finished {
				_ = w.Close() // nothing can be lost any more
			}
			return
		}
		linger := w.linger
		w.mu.Unlock()
		if n == 0 {
			w.waitUntil(due)
		} else {
			if linger > 0 {
				_ = w.SetWriteDeadline(time.Now().Add(linger)) // a closed one fails at the write
			}
			if _, err := w.Conn.Write(buf[:n]); err != nil {
				w.fail(err)
			}
		}
		if w.isOver() {
			w.fail(net.ErrClosed)
		}
	}
}

func (w *Conn) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.err = err
}

// Finish closes the connection when what is under way to the client has arrived; it gives the
// client so long to take each piece of it.
func (w *Conn) Finish(linger time.Duration) {
	w.mu.Lock()
	w.linger = linger
	moving := w.out.moving
	w.mu.Unlock()
	if !moving {
		_ = w.Close() // nothing can be lost any more
		return
	}
	_ = w.SetWriteDeadline(time.Now().Add(linger)) // of the piece that is being written; a closed one fails there
}

// Close closes the connection now. What was under way is lost.
func (w *Conn) Close() error {
	w.close.Do(func() {
		close(w.over)
		w.err = w.Conn.Close()
	})
	return w.err
}

func (w *Conn) isOver() bool {
	select {
	case <-w.over:
		return true
	case <-w.ended:
		return true
	default:
		return false
	}
}

// waitUntil ends at a moment, at once if that has passed, or with the connection.
func (w *Conn) waitUntil(due time.Time) {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	w.wait(nil, timer.C)
}

// wait ends with a change, at a time, or with the connection.
func (w *Conn) wait(changed <-chan struct{}, after <-chan time.Time) {
	select {
	case <-changed:
	case <-after:
	case <-w.over:
	case <-w.ended:
	}
}
