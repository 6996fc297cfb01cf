package zkserver

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// outbox holds the frames that wait to be written to a client. Any goroutine may append; one at a
// time writes: the connection's own after it has served a batch of requests, or else one that lives
// only as long as there is something to write.
type outbox struct {
	mu        sync.Mutex
	to        io.Writer // the transport, or TLS over it
	transport net.Conn  // which is closed below TLS: a farewell could have to wait, with the server's lock held
	limit     int
	pending   jute.Writer // frames to be written
	spare     []byte      // a buffer for pending, while the other one is being written
	writing   bool        // a goroutine is inside transport.Write
	held      int         // reasons to write nothing now: see hold
	finishing bool        // close the transport when all is written
	broken    bool        // the transport is closed
	moved     sync.Cond   // signalled when a waiter in drain has to check again
}

// keepBuffer is how large a buffer may be to be kept for the next batch.
const keepBuffer = 16 << 10

// drain returns when no more than a megabyte waits for the client, or the connection ends: until
// then its requests are not read.
func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.pending.Len() > 1<<20 && !o.broken && !o.finishing {
		if o.writing || o.held > 0 {
			o.moved.Wait()
			continue
		}
		o.mu.Unlock()
		o.flush()
		o.mu.Lock()
	}
}

// begin opens a frame; end closes it. Between them the outbox is locked: begin locks, end unlocks.
func (o *outbox) begin() *jute.Writer {
	o.mu.Lock()
	o.pending.Begin()
	return &o.pending
}

func (o *outbox) end() {
	o.pending.End()
	if o.broken {
		o.pending.Reset(nil)
	} else if o.pending.Len() > o.limit {
		o.fail()
	}
	o.mu.Unlock()
}

// say writes text, outside any frame.
func (o *outbox) say(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.broken {
		o.pending.Raw(text)
	}
}

// fail gives the connection up: its goroutine notices by itself.
func (o *outbox) fail() {
	o.broken = true
	o.pending.Reset(nil)
	o.moved.Broadcast()
	_ = o.transport.Close() // it is given up
}

// flush writes until nothing is left, unless another goroutine does already.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.writing && o.held == 0 && !o.broken && o.pending.Len() > 0 {
		batch := o.pending.Bytes()
		o.pending.Reset(o.spare[:0])
		o.spare, o.writing = nil, true
		o.moved.Broadcast()
		err := o.write(batch)
		o.writing = false
		if cap(batch) <= keepBuffer {
			o.spare = batch
		}
		if err != nil && !o.broken {
			o.fail()
		}
	}
	if o.finishing && o.held == 0 && !o.writing && !o.broken {
		o.broken = true
		_ = o.transport.Close() // everything is written
	}
}

// write writes a batch, piece by piece, so that a client that takes its last answers slowly, but
// takes them, has time for each piece. The lock is let go meanwhile.
func (o *outbox) write(batch []byte) error {
	const piece = 64 << 10
	for len(batch) > 0 && !o.broken {
		n := min(len(batch), piece)
		if o.finishing {
			_ = o.transport.SetWriteDeadline(time.Now().Add(linger)) // a closed one fails at the write
		}
		o.mu.Unlock()
		_, err := o.to.Write(batch[:n])
		o.mu.Lock()
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// idle reports whether there is nothing to do for flush.
func (o *outbox) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writing || o.held > 0 || o.broken || o.pending.Len() == 0 && !o.finishing
}

// hold keeps everything back, the closing of the connection too, until release was called as often.
func (o *outbox) hold() {
	o.mu.Lock()
	o.held++
	o.mu.Unlock()
}

func (o *outbox) release() {
	o.mu.Lock()
	o.held--
	o.moved.Broadcast()
	o.mu.Unlock()
}

// linger is how long a client whose connection is over has to take each piece of what was still to
// be said.
const linger = 2 * time.Second

// finish closes the connection as soon as everything is written.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finishing = true
	o.moved.Broadcast()
	if o.writing {
		_ = o.transport.SetWriteDeadline(time.Now().Add(linger)) // as above
	}
}

// abort closes the connection now.
func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.broken {
		o.fail()
	}
}
