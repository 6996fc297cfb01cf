// Leaderservice is a service that runs as several processes, one of which does a job that must not
// be done twice: an fx application with a leader.
//
//	go run ./examples/leaderservice            # on a ZooKeeper server inside this program
//	go run ./examples/leaderservice -zk zk1:2181
//
// # What happens
//
// The program starts itself three times, each time as the service (service.go): an fx application
// of fxmodule.Module, an election, and a function that runs while the process leads. The leader
// counts in /counter, each step on condition that its term is valid, so that a deposed leader
// can't.
//
// Then the parent (run.go) kills the leader: another one leads when the session of the dead one has
// expired. It stops the next leader, as an orchestrator does: that one ends its job, resigns, and
// another leads a moment later. In the end it reads the counter: each number was counted once, in
// the order of the terms.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// serviceRole as the first argument makes this process a service. It is internal: users do not type
// it.
const serviceRole = "service"

func main() {
	if err := start(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "leaderservice:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) > 0 && args[0] == serviceRole {
		return serve(args[1:])
	}
	flags := flag.NewFlagSet("leaderservice", flag.ContinueOnError)
	zk := flags.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	return run(ctx, *zk, os.Stdout)
}
