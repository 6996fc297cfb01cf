package main

import (
	"context"
	"net"
	"sync"
)

// pause stops a session's messages while it is locked, as if its process were stopped: no
// connection is refused or closed.
type pause struct{ sync.RWMutex }

// dial opens a connection that the pause stops.
func (p *pause) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	return paused{c, p}, err
}

type paused struct {
	net.Conn
	pause *pause
}

func (c paused) Write(b []byte) (int, error) {
	c.pause.RLock()
	defer c.pause.RUnlock()
	return c.Conn.Write(b)
}
