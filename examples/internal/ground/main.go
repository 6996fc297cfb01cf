package ground

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Story is the body of an example. It writes what happens to out, line by line.
type Story func(ctx context.Context, g *Ground, out io.Writer) error

// Main is the main function of an example. It parses -zk and the example's own flags, runs the
// story, and exits with status 1 if the story returns an error.
func Main(name string, story Story) {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	if err := tell(name, *zk, story); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func tell(name, zk string, story Story) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	return Run(ctx, name, zk, os.Stdout, story)
}

// Run runs a story. Tests call it.
func Run(ctx context.Context, name, zk string, out io.Writer, story Story) (err error) {
	g, err := Prepare(ctx, name, zk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Leave(ctx)) }()
	return story(ctx, g, out)
}
