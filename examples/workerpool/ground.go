package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// ground is the ZooKeeper servers and the namespace of this run.
type ground struct {
	servers   []string
	namespace string
	embedded  *zktest.Server   // nil if the user gave servers
	session   *session.Session // of the parent
}

const (
	patience = 15 * time.Second // for the first connection
	goodbye  = 3 * time.Second  // for ZooKeeper's confirmation when a process leaves
)

// prepare starts or connects to the servers, and creates the znodes of the run.
func prepare(ctx context.Context, servers string, timeout time.Duration) (*ground, error) {
	g := &ground{namespace: "/troupe-workerpool-" + strings.ToLower(rand.Text()[:10])}
	if servers == "" {
		var err error
		g.embedded, err = zktest.New(zktest.WithTick(200 * time.Millisecond))
		if err != nil {
			return nil, err
		}
		g.servers = g.embedded.Servers()
	} else {
		g.servers = []string{servers}
	}
	if err := g.layOut(ctx, timeout); err != nil {
		return nil, errors.Join(err, g.leave(ctx))
	}
	return g, nil
}

func (g *ground) layOut(ctx context.Context, timeout time.Duration) error {
	connecting, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no ZooKeeper at %s", strings.Join(g.servers, ",")))
	defer cancel()
	var err error
	g.session, err = session.Open(connecting, g.servers, session.WithNamespace(g.namespace), session.WithTimeout(timeout))
	if err != nil {
		return err
	}
	for _, path := range []string{openPath, resultsPath} {
		if _, err := g.session.Create(ctx, path, nil, session.Parents()); err != nil {
			return err
		}
	}
	_, err = g.session.Create(ctx, cursorPath, []byte(cursor{}.String()))
	return err
}

// leave deletes what the run has created in ZooKeeper. All workers must have ended.
func (g *ground) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	var errs []error
	if g.session != nil {
		if g.embedded == nil {
			errs = append(errs, g.session.DeleteAll(ctx, "/")) // the root of the namespace
		}
		errs = append(errs, g.session.Close(ctx))
	}
	if g.embedded != nil {
		errs = append(errs, g.embedded.Close())
	}
	return errors.Join(errs...)
}
