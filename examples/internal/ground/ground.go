// Package ground gives each example ZooKeeper servers, embedded or the user's own, a namespace for
// one run, and a cleanup that leaves nothing behind.
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

// Ground is the servers and the namespace of one run.
type Ground struct {
	Servers   []string
	Namespace string         // of this run, removed at the end
	Embedded  *zktest.Server // nil if the user gave servers

	keeper *session.Session
}

// Prepare starts an embedded server, or connects to the given ones ("host:port,…"), for a run of
// the named example.
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

// Open connects a session of one process of the example. The default timeout is two seconds, so
// that the user does not wait long for takeovers.
func (g *Ground) Open(ctx context.Context, opts ...session.Option) (*session.Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no ZooKeeper at %s", strings.Join(g.Servers, ",")))
	defer cancel()
	opts = append([]session.Option{session.WithNamespace(g.Namespace), session.WithTimeout(2 * time.Second)}, opts...)
	return session.Open(ctx, g.Servers, opts...)
}

// Leave deletes what the run has created in ZooKeeper, and closes the session and the embedded
// server.
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

// Close closes c within a few seconds, with a context of its own, for use with defer.
func Close(c interface {
	Close(ctx context.Context) error
},
) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye) // the context of the run may have ended
	defer cancel()
	_ = c.Close(ctx) // what was not confirmed ends with the session
}

// Abandon closes c without waiting for ZooKeeper's confirmation. With a connection that was cut
// before, it simulates a process that has died: its znodes remain until the session expires.
func Abandon(c interface {
	Close(ctx context.Context) error
},
) {
	ctx, cancel := context.WithCancel(context.Background()) // ended before the call
	cancel()
	_ = c.Close(ctx) // it does not wait
}
