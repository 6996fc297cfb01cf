package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// page serves the state of the session and the election over HTTP.
type page struct {
	server http.Server
	served chan struct{}
	addr   string
}

func serveStatus(ctx context.Context, listen string, sess *session.Session, leader *election.Election) (*page, error) {
	var sockets net.ListenConfig
	listener, err := sockets.Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, err
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		status := sess.Status()
		fmt.Fprintf(w, "session: %s, epoch %d, trusted for %v\n", status.State, status.Epoch, time.Until(status.TrustedUntil).Round(time.Millisecond))
		now, err := leader.Current(r.Context())
		if err != nil {
			fmt.Fprintf(w, "leader: %v\n", err)
			return
		}
		fmt.Fprintf(w, "leader: %s, token %d, this process: %v, at work: %v\n", now.Name, now.Token, now.Self, now.Ready)
	}
	p := &page{served: make(chan struct{}), addr: listener.Addr().String()}
	p.server = http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Second}
	go func() { // ends with stop
		defer close(p.served)
		_ = p.server.Serve(listener)
	}()
	return p, nil
}

func (p *page) stop() {
	_ = p.server.Close() // the page only reads, so nothing is lost
	<-p.served
}
