package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

const (
	electionPath = "/leader"
	counterPath  = "/counter" // "17 4294967301 b": the number, the term's token, the leader's name
	pace         = 50 * time.Millisecond
)

// serve is one process of the service. It prints what it does, and stops when its standard input
// ends.
func serve(args []string) error {
	var servers, namespace, name string
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.StringVar(&servers, "zk", "", "")
	flags.StringVar(&namespace, "namespace", "", "")
	flags.StringVar(&name, "name", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg := fxmodule.Default(servers)
	cfg.Namespace, cfg.Timeout = namespace, fxmodule.Duration(2*time.Second)

	app := fx.New(
		fxmodule.Module,
		fx.Supply(cfg),
		fxmodule.Election("counter", electionPath, election.WithID(name)),
		fxmodule.RunLeader("counter", func(ctx context.Context, term *election.Term) error { return count(ctx, term, name) }),
		fx.Invoke(stopWithInput),
		fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
	)
	if err := app.Err(); err != nil {
		return err
	}
	app.Run()
	return nil
}

// stopWithInput stops the application when standard input ends: the parent has closed it, or is
// gone.
func stopWithInput(s fx.Shutdowner) {
	go func() { // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.Shutdown()
	}()
}

// count counts for as long as the term lasts.
func count(ctx context.Context, term *election.Term, name string) error {
	fmt.Printf("leads %d\n", term.Token()) // the parent reads this
	s := term.Session()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		data, stat, err := s.Get(ctx, counterPath)
		if err != nil {
			return unlessOver(ctx, err)
		}
		number, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		next := fmt.Sprintf("%d %d %s", n+1, term.Token(), name)
		if _, err := term.Commit(ctx, session.SetOp(counterPath, []byte(next), stat.Version)); err != nil {
			return unlessOver(ctx, err)
		}
		select {
		case <-ctx.Done(): // the term is over, or the service stops
			return nil
		case <-tick.C:
		}
	}
}

// unlessOver returns nil if the term is over: the error is then only a consequence of that.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end is not a failure
	}
	return err
}
