// Package ground is what all examples begin and end with: ZooKeeper servers, embedded or the
// user's own, a namespace that is removed at the end, and processes that can be killed.
package ground

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
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

// Story is an example. It writes what happens to out, line by line.
type Story func(ctx context.Context, g *Ground, out io.Writer) error

// Main is the main function of an example. It parses -zk and the example's own flags, runs the
// story, and exits with status 1 if the story returns an error.
func Main(name string, story Story) {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	exit(name, run(ctx, name, *zk, story))
}

func run(ctx context.Context, name, zk string, story Story) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	g, err := Prepare(ctx, name, zk)
	if err != nil {
		return err
	}
	return errors.Join(story(ctx, g, os.Stdout), g.Leave())
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
func (g *Ground) Leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the context of the run may have ended
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

type closer interface {
	Close(ctx context.Context) error
}

// Close closes c within a few seconds, for use with defer. What ZooKeeper has not confirmed by then
// ends with the session.
func Close(c closer) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.Close(ctx)
}
