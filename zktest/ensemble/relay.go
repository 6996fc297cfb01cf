package ensemble

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// relay is one connection through a Proxy: a pipe for each direction.
type relay struct {
	pipes  [2]*pipe // by Direction
	done   chan struct{}
	ending sync.Once
}

// pipe carries the bytes of one direction: read, wait for the delay and for the weather, write.
type pipe struct {
	proxy     *Proxy
	direction Direction
	src, dst  *net.TCPConn
	opening   func(io.Reader) ([]byte, error) // of the proxy, to the server only
	queue     chan parcel                     // bound 64: what is under way while a delay lasts; the sender is held back beyond that
	done      chan struct{}                   // of the relay

	writing sync.Mutex // held while bytes go out, so that interrupt can wait for their end
}

// parcel is what one read brought: bytes, or the end of the stream.
type parcel struct {
	bytes []byte
	due   time.Time // zero: at once
	end   error     // io.EOF, or why the stream broke
}

func newRelay(p *Proxy, client, server *net.TCPConn) *relay {
	r := &relay{done: make(chan struct{})}
	for d, ends := range [2][2]*net.TCPConn{ToServer: {client, server}, ToClient: {server, client}} {
		r.pipes[d] = &pipe{
			proxy: p, direction: Direction(d), src: ends[0], dst: ends[1],
			queue: make(chan parcel, 64), done: r.done,
		}
	}
	r.pipes[ToServer].opening = p.opening
	return r
}

// run returns when both directions have ended; both connections are closed then.
func (r *relay) run() {
	var wg sync.WaitGroup
	for _, p := range r.pipes {
		wg.Go(p.read)  // owner: run; ends with the source's stream or with reset
		wg.Go(func() { // owner: run; ends behind the last parcel or with reset
			if !p.write() {
				r.reset()
			}
		})
	}
	wg.Wait()
	r.end(func(conn *net.TCPConn) { _ = conn.Close() }) // orderly: what was written last is still under way
}

// reset breaks both connections at once. May be called more than once, from any goroutine.
func (r *relay) reset() { r.end(resetConn) }

func (r *relay) end(how func(*net.TCPConn)) {
	r.ending.Do(func() {
		close(r.done)
		how(r.pipes[ToServer].src)
		how(r.pipes[ToServer].dst)
	})
}

func resetConn(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // close with a reset, not an orderly end
	_ = conn.Close()      // data that were under way are dropped
}

func (p *pipe) read() {
	if p.opening != nil {
		first, err := p.opening(p.src)
		if !p.enqueue(first, err) || err != nil {
			return
		}
	}
	for {
		buf := make([]byte, 16<<10)
		n, err := p.src.Read(buf)
		if !p.enqueue(buf[:n], err) || err != nil {
			return
		}
	}
}

// enqueue hands on what a read brought: bytes, the end, or both. False if the relay has ended.
func (p *pipe) enqueue(bytes []byte, end error) bool {
	for _, next := range []parcel{{bytes: bytes}, {end: end}} {
		if len(next.bytes) == 0 && next.end == nil {
			continue
		}
		if delay := p.proxy.now.Load().delay; delay > 0 {
			next.due = time.Now().Add(delay)
		}
		select {
		case p.queue <- next:
		case <-p.done:
			return false
		}
	}
	return true
}

// write delivers parcels until the end of the stream; false if the connection is broken and its
// other end must learn of it.
func (p *pipe) write() bool {
	for {
		select {
		case next := <-p.queue:
			if !p.await(next.due) {
				return false
			}
			if next.end != nil {
				return p.deliver(func() error {
					if !errors.Is(next.end, io.EOF) {
						return next.end
					}
					return p.dst.CloseWrite()
				})
			}
			if !p.send(next.bytes) {
				return false
			}
		case <-p.done:
			return false
		}
	}
}

func (p *pipe) send(b []byte) bool {
	for len(b) > 0 {
		ok := p.deliver(func() error {
			n, err := p.dst.Write(b)
			b = b[n:]
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil // interrupted by a change of the weather: the rest goes when it allows
			}
			return err
		})
		if !ok {
			return false
		}
	}
	return true
}

// await waits until a delayed parcel is due; false if the relay ends before.
func (p *pipe) await(due time.Time) bool {
	if due.IsZero() {
		return true
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

// deliver does something that the receiver notices, as soon as the weather lets it through.
func (p *pipe) deliver(do func() error) bool {
	for {
		p.writing.Lock()
		w := p.proxy.now.Load()
		if !w.hole[p.direction] {
			err := do()
			p.writing.Unlock()
			return err == nil
		}
		p.writing.Unlock()
		select {
		case <-w.changed:
		case <-p.done:
			return false
		}
	}
}

// interrupt returns when no write that began in older weather is going on any more: one that hangs,
// because the receiver doesn't read, is broken off and continues when the weather allows.
func (p *pipe) interrupt() {
	_ = p.dst.SetWriteDeadline(time.Unix(1, 0)) // fails only on a closed connection
	p.writing.Lock()
	_ = p.dst.SetWriteDeadline(time.Time{})
	p.writing.Unlock()
}
