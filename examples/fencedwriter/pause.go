package main

import (
	"context"
	"net"
	"sync"
)

// pause stops the traffic of a connection, as if the process were stopped. Nothing is refused or
// closed; reads and writes wait.
type pause struct {
	mu      sync.Mutex
	resumed chan struct{} // nil when not paused
}

func (p *pause) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumed = make(chan struct{})
}

// end ends the pause. It may be called more than once.
func (p *pause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed != nil {
		close(p.resumed)
		p.resumed = nil
	}
}

// wait blocks during a pause.
func (p *pause) wait() {
	p.mu.Lock()
	resumed := p.resumed
	p.mu.Unlock()
	if resumed != nil {
		<-resumed
	}
}

// dial opens a connection that the pause can stop.
func (p *pause) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p.wait()
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return paused{c, p}, nil
}

// paused is a connection whose reads and writes wait during a pause.
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
