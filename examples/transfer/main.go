// Transfer moves money between two account services that keep their ledgers in separate files, by
// two-phase commit, while all processes are killed at random.
//
//	go run ./examples/transfer            # on a ZooKeeper server inside this program
//	go run ./examples/transfer -zk zk1:2181
//
// # What happens
//
// North and south are processes with an account in a file each (site.go, ledger.go). A third
// process, the coordinator (coordinator.go), moves money from one to the other: either both
// ledgers have the transfer, or neither has. A site writes a transfer to its ledger, with the
// money set aside, before it votes to commit, so that it can keep its promise after a crash. A
// site that can't pay votes to abort. A transfer that was aborted because a process had died is
// repeated.
//
// This process kills each of the three twice, whatever it is doing, and restarts it; each kill is
// printed. In the end it opens the ledgers. Its last line is "all 60 transfers are in both ledgers
// or in none, and no money was lost". It exits with status 0 only if that is so.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

const txPath = "/transfers"

const north, south, coordinator = "north", "south", "coordinator"

var parties = []string{north, south, coordinator}

var errEnded = errors.New("a process has ended that was not killed")

func main() {
	ground.Launched(func(ctx context.Context, g *ground.Ground, name string, args []string) error {
		s, err := g.Open(ctx, session.WithTimeout(2*time.Second)) // short, so that a killed process is soon known to be dead
		if err != nil {
			return err
		}
		defer ground.Close(s) // and what was made with it
		if name != coordinator {
			return serve(ctx, s, name, args[0])
		}
		if err := coordinate(ctx, s, args); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	ground.Main("transfer", tell)
}

// tell starts the three processes, kills them at random, and checks the ledgers at the end.
//
//nolint:funlen // one story, from beginning to end
func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // whatever happens, no process is left
	dir, err := os.MkdirTemp("", "troupe-transfer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the folder is temporary
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)

	var mu sync.Mutex // guards outcomes
	outcomes, all := map[string]string{}, map[string]*ground.Process{}
	heard := func(line string) { // from the coordinator; it may tell an outcome again
		mu.Lock()
		defer mu.Unlock()
		id, outcome, _ := strings.Cut(line, " ")
		if was, known := outcomes[id]; known && was != outcome {
			outcome = was + " and " + outcome
		}
		outcomes[id] = outcome
	}
	missing := func() (ids []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, t := range list() {
			if outcomes[t.ID] == "" {
				ids = append(ids, t.ID)
			}
		}
		return ids
	}
	launch := func(name string) (err error) {
		args := []string{dir}
		if name == coordinator {
			args = missing()
		}
		all[name], err = g.Launch(ctx, name, heard, args...)
		return err
	}
	for _, name := range parties {
		if err := launch(name); err != nil {
			return err
		}
	}
	for killed := 0; len(missing()) > 0; {
		select {
		case <-all[north].Ended():
			return errors.Join(all[north].Err(), errEnded)
		case <-all[south].Ended():
			return errors.Join(all[south].Err(), errEnded)
		case <-all[coordinator].Ended():
			return errors.Join(all[coordinator].Err(), errEnded)
		case <-time.After(rand.N(5 * time.Millisecond)): // so the moment of a kill is random
		}
		if n := transfers - len(missing()); killed < kills && n >= (killed+1)*transfers/(kills+1) {
			victim := parties[killed%len(parties)]
			killed++
			fmt.Fprintf(out, "%d of %d are decided; killing %s and restarting it\n", n, transfers, victim)
			all[victim].Kill()
			if err := launch(victim); err != nil {
				return err
			}
		}
	}
	for now := range s.WatchChildren(ctx, txPath+"/tx") {
		if !now.Stale && len(now.Names) == 0 {
			break // the coordinator and both sites have acknowledged every decision
		}
	}
	for _, name := range parties {
		if err := all[name].Stop(); err != nil {
			return err
		}
	}
	return verdict(dir, outcomes, out)
}

// verdict opens both ledgers, and compares them with each other and with what was decided.
func verdict(dir string, outcomes map[string]string, out io.Writer) error {
	n, err1 := openLedger(dir, north)
	s, err2 := openLedger(dir, south)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	committed := 0
	for id, outcome := range outcomes {
		paid := outcome == twopc.Committed.String()
		if !paid && outcome != twopc.Aborted.String() || n.Paid[id] != paid || s.Paid[id] != paid {
			return fmt.Errorf("%s was %s, and is in the ledger of the north %t, of the south %t", id, outcome, n.Paid[id], s.Paid[id])
		}
		if paid {
			committed++
		}
	}
	if len(n.Aside) > 0 || len(s.Aside) > 0 || n.Free+s.Free != 2*initial {
		return fmt.Errorf("the sites have %d and %d, and have set aside %v and %v", n.Free, s.Free, n.Aside, s.Aside)
	}
	fmt.Fprintf(out, "%d were committed, %d were aborted for lack of money\n", committed, transfers-committed)
	fmt.Fprintf(out, "all %d transfers are in both ledgers or in none, and no money was lost, despite %d kills\n", transfers, kills)
	return nil
}
