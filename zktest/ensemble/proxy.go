package ensemble

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Direction is one of the two ways through a Proxy.
type Direction int

// The two ways through a Proxy.
const (
	ToServer Direction = iota // what clients send
	ToClient                  // what the server answers
)

// Proxy is a TCP proxy that can inject network faults. It is safe for concurrent use.
type Proxy struct {
	target   string
	patience time.Duration                   // how long a refused connection to the target is tried again
	opening  func(io.Reader) ([]byte, error) // nil, or reads the client's first message and says what to send instead
	listener net.Listener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup // accept loop, relays

	now atomic.Pointer[weather] // set under mu; read without it, because pipes read it while mu is held for them

	mu      sync.Mutex
	dialing map[*net.TCPConn]context.CancelFunc // accepted clients that have no connection to the target yet
	relays  map[*relay]struct{}
}

// weather is the state of a Proxy at one time. It never changes; the Proxy gets another.
type weather struct {
	cut     bool
	hole    [2]bool // by Direction
	delay   time.Duration
	changed chan struct{} // closed by the Proxy when this weather is over
}

// NewProxy starts a proxy on a free port of 127.0.0.1. It forwards connections to target,
// host:port. Close ends it.
func NewProxy(target string) (*Proxy, error) { return newProxy("127.0.0.1:0", &Proxy{target: target}) }

func newProxy(listen string, p *Proxy) (*Proxy, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background()) // the proxy outlives its constructor's caller; Close ends it
	p.listener, p.ctx, p.cancel, p.relays = l, ctx, cancel, map[*relay]struct{}{}
	p.dialing = map[*net.TCPConn]context.CancelFunc{}
	p.now.Store(&weather{changed: make(chan struct{})})
	p.wg.Go(p.accept) // owner: the proxy; ends when Close closes the listener
	return p, nil
}

// Addr returns the address that clients connect to, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Reset breaks all open connections on both sides with a TCP reset, including those that still wait
// for a connection to the target. New connections pass.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resetLocked()
}

// Cut breaks all connections with a TCP reset, including new ones, until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changeLocked(func(w *weather) { w.cut = true })
	p.resetLocked()
}

// Blackhole drops packets silently in the given directions, in both if none is given, until Heal.
// After Blackhole has returned, no byte and no end of a connection gets through, and new
// connections hang. Data that was sent meanwhile arrives after Heal, as if TCP had retransmitted
// it, if the connection is still open on both sides.
func (p *Proxy) Blackhole(directions ...Direction) {
	if len(directions) == 0 {
		directions = []Direction{ToServer, ToClient}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changeLocked(func(w *weather) {
		for _, d := range directions {
			w.hole[d] = true
		}
	})
	for r := range p.relays {
		for _, d := range directions {
			r.pipes[d].interrupt()
		}
	}
}

// Delay delays everything that is sent from now on by d, in each direction, without limiting the
// throughput.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changeLocked(func(w *weather) { w.delay = max(d, 0) })
}

// Heal ends Cut, Blackhole and Delay.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changeLocked(func(w *weather) { w.cut, w.hole, w.delay = false, [2]bool{}, 0 })
}

// Close ends the proxy and resets its connections. When it returns, no goroutine of the proxy is
// left. It may be called more than once.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.listener.Close() // fails only when called again
	p.Reset()
	p.wg.Wait()
}

func (p *Proxy) changeLocked(change func(*weather)) {
	old := p.now.Load()
	next := *old
	next.changed = make(chan struct{})
	change(&next)
	p.now.Store(&next)
	close(old.changed)
}

func (p *Proxy) resetLocked() {
	for client, giveUp := range p.dialing {
		giveUp()
		resetConn(client)
		delete(p.dialing, client)
	}
	for r := range p.relays {
		r.reset()
	}
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // Close closed the listener; nothing else ends one on loopback
		}
		client := conn.(*net.TCPConn)
		ctx, giveUp := context.WithCancel(p.ctx)
		p.mu.Lock()
		p.dialing[client] = giveUp
		p.mu.Unlock()
		p.wg.Go(func() { // owner: the proxy; ends with the connection, at the latest with Close
			defer giveUp()
			p.serve(ctx, client)
		})
	}
}

// serve carries one connection from its acceptance to its end.
func (p *Proxy) serve(ctx context.Context, client *net.TCPConn) {
	server := p.dial(ctx)
	p.mu.Lock()
	_, wanted := p.dialing[client] // not if it was reset meanwhile
	delete(p.dialing, client)
	if server == nil || !wanted || ctx.Err() != nil {
		p.mu.Unlock()
		resetConn(client)
		if server != nil {
			resetConn(server)
		}
		return
	}
	r := newRelay(p, client, server)
	p.relays[r] = struct{}{}
	p.mu.Unlock()
	r.run()
	p.mu.Lock()
	delete(p.relays, r)
	p.mu.Unlock()
}

// dial connects to the target, once the weather lets a connection through. Nil if that fails, or
// when ctx ends.
func (p *Proxy) dial(ctx context.Context) *net.TCPConn {
	deadline := time.Now().Add(p.patience)
	for {
		w := p.now.Load()
		switch {
		case w.cut || ctx.Err() != nil:
			return nil
		case w.hole[ToServer] || w.hole[ToClient]:
			select {
			case <-w.changed:
			case <-ctx.Done():
			}
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.target)
		if err == nil {
			return conn.(*net.TCPConn)
		}
		if time.Now().After(deadline) || !pause(ctx, 10*time.Millisecond) {
			return nil
		}
	}
}

// pause waits for d, and says whether ctx has not ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
