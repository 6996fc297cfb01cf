package proxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// Direction is one of the two ways through a proxy.
type Direction int

// The ways.
const (
	ToServer Direction = iota
	ToClient
)

// Session is what a client needs to take a session up again.
type Session struct {
	ID       int64
	Password []byte
	Timeout  int32 // milliseconds
	At       time.Time
}

// Proxy is a way to one server. It is safe for concurrent use.
type Proxy struct {
	target   string
	listener *net.TCPListener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup // the accept loop, and the connections

	mu      sync.Mutex
	weather weather
	changed chan struct{} // closed when the weather changes, and replaced
	conns   map[*conn]struct{}
	session Session
}

// weather is how the proxy misbehaves at the moment.
type weather struct {
	cut     bool
	hole    [2]bool // by Direction
	delay   time.Duration
	trickle bool
	lose    int // so many replies are lost next, each with its connection
}

// New starts a proxy on a free port of 127.0.0.1 that leads to target. Close ends it.
func New(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background()) // ends with Close
	p := &Proxy{
		target: target, listener: l.(*net.TCPListener), ctx: ctx, cancel: cancel,
		changed: make(chan struct{}), conns: make(map[*conn]struct{}),
	}
	p.wg.Go(p.accept) // owner: the proxy; ends when Close closes the listener
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and resets its connections.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.listener.Close() // fails only when called again
	p.Reset()
	p.wg.Wait()
}

// Blackhole lets messages vanish silently in the given directions until Heal; they arrive then, if
// the connection still stands.
func (p *Proxy) Blackhole(directions ...Direction) {
	p.change(func(w *weather) {
		for _, d := range directions {
			w.hole[d] = true
		}
	})
}

// Delay lets each message arrive so much later.
func (p *Proxy) Delay(d time.Duration) { p.change(func(w *weather) { w.delay = d }) }

// Trickle lets messages arrive in small pieces with pauses between them.
func (p *Proxy) Trickle() { p.change(func(w *weather) { w.trickle = true }) }

// Lose swallows the next reply that is no ping's, and resets its connection: what a network does
// that breaks in the moment of the answer.
func (p *Proxy) Lose() { p.change(func(w *weather) { w.lose++ }) }

// Cut resets all connections, and new ones, until Heal.
func (p *Proxy) Cut() {
	p.change(func(w *weather) { w.cut = true })
	p.Reset()
}

// Heal ends everything that goes on.
func (p *Proxy) Heal() { p.change(func(w *weather) { *w = weather{} }) }

// Reset resets the connections that are open.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.reset()
	}
}

// Session is the one that connected last; its ID is 0 if there was none.
func (p *Proxy) Session() Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

func (p *Proxy) change(f func(*weather)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.weather)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) now() (weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather, p.changed
}

// loses: this reply is one of those to be lost.
func (p *Proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.weather.lose == 0 {
		return false
	}
	p.weather.lose--
	return true
}

func (p *Proxy) connected(s Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.At = time.Now()
	p.session = s
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.AcceptTCP()
		if err != nil {
			return // Close closed it
		}
		p.wg.Go(func() { p.serve(client) }) // owner: the proxy; ends with the connection, at the latest with Close
	}
}

// serve carries one connection.
func (p *Proxy) serve(client *net.TCPConn) {
	c := &conn{proxy: p, client: client, done: make(chan struct{})}
	if !p.enter(c) {
		return
	}
	defer p.leave(c)
	if !c.passes(ToServer) || !c.passes(ToClient) {
		return
	}
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(p.ctx, "tcp", p.target)
	if err != nil || !c.serverIs(server.(*net.TCPConn)) {
		return
	}
	c.run()
}

// enter notes a connection; false: it is not let in.
func (p *Proxy) enter(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.weather.cut || p.ctx.Err() != nil {
		c.reset()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c *conn) {
	c.reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
