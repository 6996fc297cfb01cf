// Package ground is what the examples stand on: ZooKeeper servers, inside the program or the
// reader's own, a namespace that is one run's alone, and a way out that leaves nothing behind.
package ground

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

const (
	patience = 15 * time.Second // for the first connection
	goodbye  = 5 * time.Second  // for ZooKeeper's confirmation at the end
)

// Ground is where one run takes place.
type Ground struct {
	Servers   []string
	Namespace string         // of this run, removed at the end
	Embedded  *zktest.Server // nil on servers of the reader's own

	keeper *session.Session
}

// Prepare starts a server in this process, or connects to those given as "host:port,…", for a run
// of the example of that name.
func Prepare(ctx context.Context, name, servers string) (*Ground, error) {
	g := &Ground{Namespace: "/troupe-" + name + "-" + strings.ToLower(rand.Text()[:10])}
	if servers == "" {
		var err error
		if g.Embedded, err = zktest.New(zktest.WithTick(200 * time.Millisecond)); err != nil {
			return nil, err
		}
		g.Servers = g.Embedded.Servers()
	} else {
		g.Servers = []string{servers}
	}
	var err error
	if g.keeper, err = g.Open(ctx); err != nil {
		return nil, errors.Join(err, g.Leave(ctx))
	}
	return g, nil
}

// Open connects a session, as a process of the example has it. Without options its timeout is two
// seconds: short, so that the reader need not wait.
func (g *Ground) Open(ctx context.Context, opts ...session.Option) (*session.Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no ZooKeeper at %s", strings.Join(g.Servers, ",")))
	defer cancel()
	opts = append([]session.Option{session.WithNamespace(g.Namespace), session.WithTimeout(2 * time.Second)}, opts...)
	return session.Open(ctx, g.Servers, opts...)
}

// Leave takes away what the run has put into ZooKeeper.
func (g *Ground) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	var errs []error
	if g.keeper != nil {
		errs = append(errs, g.keeper.DeleteAll(ctx, "/"), g.keeper.Close(ctx)) // "/" is the namespace
	}
	if g.Embedded != nil {
		errs = append(errs, g.Embedded.Close())
	}
	return errors.Join(errs...)
}

// Close closes something within a few seconds, whatever has become of the run: for defer.
func Close(c interface {
	Close(ctx context.Context) error
},
) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye) // the run's own context may have ended
	defer cancel()
	_ = c.Close(ctx) // what could not be confirmed goes with the session
}

// Abandon closes something without waiting for ZooKeeper's word: what a process that has died
// leaves goes with its session.
func Abandon(c interface {
	Close(ctx context.Context) error
},
) {
	ctx, cancel := context.WithCancel(context.Background()) // over at once
	cancel()
	_ = c.Close(ctx) // that it was not confirmed is the point
}
