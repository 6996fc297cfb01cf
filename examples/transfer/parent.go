package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
)

const patience = 3 * time.Minute // for all transfers

// parent starts the three processes, kills them at random, and checks the ledgers at the end.
func parent(ctx context.Context, g *ground.Ground, transfers, kills int, out io.Writer) (err error) {
	if transfers < 1 || kills < 0 {
		return errors.New("-transfers must be positive, and -kills must not be negative")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the transfers were not made within three minutes"))
	defer cancel() // whatever happens, no process is left
	dir, err := os.MkdirTemp("", "troupe-transfer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the folder is temporary
	t := &troop{ground: g, dir: dir, transfers: transfers, lines: make(chan ground.Line), all: map[string]*ground.Process{}}
	defer t.killAll()
	for _, name := range []string{north, south, coordinatorRole} {
		if err := t.launch(ctx, name); err != nil {
			return err
		}
	}
	if err := t.watch(ctx, kills, out); err != nil {
		return err
	}
	t.stop(north, south)
	return verdict(dir, transfers, t.killed, out)
}

// troop is the three processes.
type troop struct {
	ground    *ground.Ground
	dir       string
	transfers int
	lines     chan ground.Line
	all       map[string]*ground.Process
	killed    int
}

func (t *troop) launch(ctx context.Context, name string) (err error) {
	role := siteRole
	if name == coordinatorRole {
		role = coordinatorRole
	}
	t.all[name], err = ground.Launch(ctx, name, t.lines, role, "-zk", strings.Join(t.ground.Servers, ","),
		"-namespace", t.ground.Namespace, "-name", name, "-dir", t.dir, "-transfers", strconv.Itoa(t.transfers))
	return err
}

// watch counts decisions until the coordinator has made all transfers, and kills processes
// meanwhile.
func (t *troop) watch(ctx context.Context, kills int, out io.Writer) error {
	outcomes := map[string]string{}
	victims := []string{coordinatorRole, north, south}
	due := func() int { return (t.killed + 1) * t.transfers / (kills + 1) }
	for {
		select {
		case line := <-t.lines:
			id, outcome, ok := decided(line.Text)
			if !ok {
				continue
			}
			if was, known := outcomes[id]; known && was != outcome {
				return fmt.Errorf("%s was %s, and is %s", id, was, outcome)
			}
			outcomes[id] = outcome
			if t.killed == kills || len(outcomes) < due() {
				continue
			}
			name := victims[t.killed%len(victims)]
			fmt.Fprintf(out, "%d of %d are decided; killing %s and restarting it\n", len(outcomes), t.transfers, name)
			time.AfterFunc(rand.N(5*time.Millisecond), t.all[name].Kill) // at a random moment
			t.drain(t.all[name], func(text string) {
				if id, outcome, ok := decided(text); ok {
					outcomes[id] = outcome
				}
			})
			t.killed++
			if err := t.launch(ctx, name); err != nil {
				return err
			}
		case <-t.all[coordinatorRole].Ended():
			return t.ended(outcomes, out)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drain reads the output of a process until it has ended.
func (t *troop) drain(p *ground.Process, heard func(text string)) {
	for {
		select {
		case line := <-t.lines:
			heard(line.Text)
		case <-p.Ended():
			return
		}
	}
}

// ended handles the end of the coordinator: it has done its work, or has failed and printed why.
func (t *troop) ended(outcomes map[string]string, out io.Writer) error {
	count := map[string]int{}
	for _, outcome := range outcomes {
		count[outcome]++
	}
	if t.killed == 0 && len(outcomes) != t.transfers {
		return fmt.Errorf("%d of %d transfers were decided", len(outcomes), t.transfers)
	}
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(out, "%d %s\n", count[outcome], outcome)
	}
	return nil
}

// stop stops processes gracefully.
func (t *troop) stop(names ...string) {
	for _, name := range names {
		p := t.all[name]
		go p.Stop() // drain waits for its end
		t.drain(p, func(string) {})
	}
}

func (t *troop) killAll() {
	for _, p := range t.all {
		if p != nil {
			go p.Kill() // drain waits for its end
			t.drain(p, func(string) {})
		}
	}
}

// decided parses a line of the coordinator.
func decided(line string) (id, outcome string, ok bool) {
	rest, ok := strings.CutPrefix(line, "decided ")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, " ")
}
