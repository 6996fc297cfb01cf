// Transfer moves money between two account services that keep their ledgers in separate files, by
// two-phase commit, while all processes are killed at random.
//
// # What happens
//
// North and south are processes with an account in a file each (site.go, ledger.go). A third
// process, the coordinator (coordinator.go), moves money from one to the other: either both
// ledgers have the transfer, or neither has. A site writes a transfer to its ledger, with the
// money set aside, before it votes to commit, so that it can keep its promise after a crash. A
// site that can't pay votes to abort; one that dies before it votes has the transfer aborted, too.
//
// This process kills the three at random moments, and restarts them; each kill is printed. In the
// end it opens the ledgers. Its last line is "all 60 transfers are in both ledgers or in none, and
// no money was lost". It exits with status 0 only if that is so.
package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const (
	txPath                    = "/transfers"
	north, south, coordinator = "north", "south", "coordinator"

	transfers = 60
)

// transfer moves money from one site to another.
type transfer struct {
	ID     string `json:"id"`
	From   string `json:"from"` // the other site gets it
	Amount int64  `json:"amount"`
}

// list returns the transfers to make, the same in every process. North pays most of them, and can't
// pay the last ones.
func list() (all []transfer) {
	for i := range transfers {
		from := []string{north, north, south}[i%3]
		all = append(all, transfer{fmt.Sprintf("t-%03d", i), from, 100})
	}
	return all
}

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	name := flag.String("process", "", "which of the three `processes` this is: the program starts itself with it")
	dir := flag.String("dir", "", "the `directory` of the ledgers, for these processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	begin := tell
	if *name != "" {
		begin = process
	}
	if err := begin(ctx, *zk, *dir, *name); err != nil {
		log.Fatal(err)
	}
}

// process is the main function of each of the three.
func process(ctx context.Context, zk, dir, name string) error {
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // the parent is gone
	}()
	s, err := session.Open(ctx, []string{zk}, session.WithTimeout(2*time.Second)) // short, so that a killed process is soon known to be dead
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second) // and its recipes
	if name == coordinator {
		return coordinate(ctx, s)
	}
	return serve(ctx, s, name, dir)
}

// run is the state of this process about the others.
type run struct {
	zk   string
	dir  string          // the ledgers are here
	made map[string]bool // transfers that the coordinator has printed
	kill chan struct{}   // a receiver kills its process
	done chan struct{}   // closed when the coordinator has ended
}

// tell keeps the three processes running until the coordinator is done, and checks the ledgers: on
// these servers, or on one of its own.
func tell(ctx context.Context, zk, _, _ string) error {
	server, err := zktest.New(zktest.WithTick(500 * time.Millisecond)) // it ends with the program
	if err != nil {
		return err
	}
	zk = cmp.Or(zk, server.Servers()[0]) + "/troupe-transfer-" + rand.Text() // below this everything is removed in the end
	keeper, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(keeper, 5*time.Second)
	defer keeper.DeleteAll(context.WithoutCancel(ctx), "/") //nolint:errcheck // it is only tidier
	dir, err := os.MkdirTemp("", "troupe-transfer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the folder is temporary
	r := &run{zk: zk, dir: dir, made: map[string]bool{}, kill: make(chan struct{}, transfers), done: make(chan struct{})}
	all, ctx := errgroup.WithContext(ctx)
	for _, name := range []string{north, south, coordinator} {
		all.Go(func() error { return r.keep(ctx, name) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	n, err1 := openLedger(dir, north)
	s, err2 := openLedger(dir, south)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !maps.Equal(n.Paid, r.made) || !maps.Equal(s.Paid, r.made) || n.Free+s.Free != 2*initial {
		return fmt.Errorf("transfers: %v; north has %d and %v, south %d and %v", r.made, n.Free, n.Paid, s.Free, s.Paid)
	}
	fmt.Printf("%d were committed, %d were aborted\n", len(r.made), transfers-len(r.made))
	fmt.Printf("all %d transfers are in both ledgers or in none, and no money was lost\n", transfers)
	return nil
}

// keep runs a process, and restarts it when it was killed. None survives ctx.
func (r *run) keep(ctx context.Context, name string) error {
	for {
		p := exec.CommandContext(ctx, os.Args[0], "-process", name, "-zk", r.zk, "-dir", r.dir)
		p.Stderr = os.Stderr
		_, err1 := p.StdinPipe() // open for as long as this process is
		out, err2 := p.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if err := p.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { // ends with the process
			for lines := bufio.NewScanner(out); lines.Scan(); {
				r.heard(lines.Text())
			}
			ended <- p.Wait()
		}()
		select {
		case <-r.kill:
			time.Sleep(mathrand.N(5 * time.Millisecond)) // so the moment of a kill is random
			_, _ = p.Process.Kill(), <-ended             // it may have ended already
			fmt.Printf("%s was killed, and is restarted\n", name)
		case <-r.done:
			_, _ = p.Process.Kill(), <-ended // likewise
			return nil
		case err := <-ended:
			if name == coordinator && err == nil {
				close(r.done)
			}
			return err
		}
	}
}

// heard takes a transfer that the coordinator has printed, perhaps again. After some transfers a
// process is killed: in the midst of the work, on machines of any speed.
func (r *run) heard(id string) {
	if !r.made[id] && mathrand.IntN(8) == 0 {
		r.kill <- struct{}{}
	}
	r.made[id] = true
}
