package main

import (
	"context"
	"net"
	"sync"
)

// pause lets a connection stand still, as everything does in a process that is stopped. Nothing is
// refused and nothing is closed: it just takes time.
type pause struct {
	mu      sync.Mutex
	resumed chan struct{} // nil: no pause
}

func (p *pause) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumed = make(chan struct{})
}

// end may be called again.
func (p *pause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed != nil {
		close(p.resumed)
		p.resumed = nil
	}
}

// wait returns when there is no pause.
func (p *pause) wait() {
	p.mu.Lock()
	resumed := p.resumed
	p.mu.Unlock()
	if resumed != nil {
		<-resumed
	}
}

// dial connects through the pause.
func (p *pause) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p.wait()
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return paused{c, p}, nil
}

// paused is a connection that stands still during a pause.
type paused struct {
	net.Conn
	pause *pause
}

func (c paused) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.pause.wait()
	return n, err
}

func (c paused) Write(b []byte) (int, error) {
	c.pause.wait()
	return c.Conn.Write(b)
}
