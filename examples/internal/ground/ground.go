// Package ground is what all examples begin and end with: ZooKeeper servers, embedded or the
// user's own, a namespace that is removed at the end, and processes that can be killed.
package ground

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Ground is the servers and the namespace of one run.
type Ground struct {
	Servers   string // host:port,…
	Namespace string
	Embedded  *zktest.Server // nil if the user gave servers

	keeper *session.Session
}

// Main is the main function of an example. It parses -zk and the example's own flags, runs the
// story, and exits with status 1 if the story returns an error.
func Main(name string, story func(ctx context.Context, g *Ground) error) {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	if flag.NArg() > 0 {
		exit(name, fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	g, err := Prepare(ctx, name, *zk)
	if err != nil {
		exit(name, err)
	}
	exit(name, errors.Join(story(ctx, g), g.Leave()))
}

func exit(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Prepare starts an embedded server, or connects to the given ones.
func Prepare(ctx context.Context, name, zk string) (_ *Ground, err error) {
	g := &Ground{Servers: zk, Namespace: "/troupe-" + name + "-" + strings.ToLower(rand.Text()[:10])}
	if zk == "" {
		if g.Embedded, err = zktest.New(zktest.WithTick(500 * time.Millisecond)); err != nil {
			return nil, err
		}
		g.Servers = strings.Join(g.Embedded.Servers(), ",")
	}
	if g.keeper, err = g.Open(ctx); err != nil {
		return nil, errors.Join(err, g.Leave())
	}
	return g, nil
}

// Open connects a session. Where a process is to lose its session soon, the example sets a shorter
// timeout; elsewhere it is as long as the embedded server allows, for a machine that is busy.
func (g *Ground) Open(ctx context.Context, opts ...session.Option) (*session.Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no ZooKeeper at "+g.Servers))
	defer cancel()
	opts = append([]session.Option{session.WithNamespace(g.Namespace), session.WithTimeout(10 * time.Second)}, opts...)
	return session.Open(ctx, []string{g.Servers}, opts...)
}

// Leave deletes what the run has created in ZooKeeper, and ends the embedded server.
func (g *Ground) Leave() (err error) {
	if g.keeper != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the context of the run may have ended
		defer cancel()
		err = errors.Join(g.keeper.DeleteAll(ctx, "/"), g.keeper.Close(ctx)) // "/" is the namespace
	}
	if g.Embedded != nil {
		err = errors.Join(err, g.Embedded.Close())
	}
	return err
}
