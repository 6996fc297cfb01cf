package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/session"
)

const patience = 30 * time.Second // to wait for a leader

// run is what the parent does.
func run(ctx context.Context, zk string, out io.Writer) error {
	return ground.Run(ctx, "leaderservice", zk, out, func(ctx context.Context, g *ground.Ground, out io.Writer) error {
		ctx, cancel := context.WithCancel(ctx) // whatever happens, no process is left
		defer cancel()
		s, err := g.Open(ctx)
		if err != nil {
			return err
		}
		defer ground.Close(s)
		if _, err := s.Create(ctx, counterPath, []byte("0 0 nobody")); err != nil {
			return err
		}
		return lead(ctx, g, s, out)
	})
}

func lead(ctx context.Context, g *ground.Ground, s *session.Session, out io.Writer) (err error) {
	lines := make(chan ground.Line, 16)
	processes := map[string]*ground.Process{}
	defer func() {
		for _, p := range processes {
			go p.Stop() // stop all concurrently
		}
		for _, p := range processes {
			<-p.Ended()
		}
	}()
	for _, name := range []string{"a", "b", "c"} {
		if processes[name], err = ground.Launch(ctx, name, lines, serviceRole,
			"-zk", strings.Join(g.Servers, ","), "-namespace", g.Namespace, "-name", name); err != nil {
			delete(processes, name)
			return err
		}
	}
	ledger := &watcher{session: s, out: out, terms: map[int64]string{}}
	first, token, err := leader(ctx, lines, out)
	if err != nil {
		return err
	}
	if err := ledger.count(ctx, token, 5); err != nil {
		return err
	}

	fmt.Fprintf(out, "killing %s, without warning\n", first.Name)
	begun := time.Now()
	delete(processes, first.Name)
	first.Kill()
	second, token, err := leader(ctx, lines, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  after %v: the session had to expire first\n", time.Since(begun).Round(time.Millisecond))
	if err := ledger.count(ctx, token, 5); err != nil {
		return err
	}

	fmt.Fprintf(out, "stopping %s, as an orchestrator does\n", second.Name)
	begun = time.Now()
	delete(processes, second.Name)
	second.Stop()
	_, token, err = leader(ctx, lines, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  after %v: it has resigned\n", time.Since(begun).Round(time.Millisecond))
	if err := ledger.count(ctx, token, 5); err != nil {
		return err
	}
	return ledger.verdict()
}

// leader waits for the next leader, and returns it with its token.
func leader(ctx context.Context, lines <-chan ground.Line, out io.Writer) (*ground.Process, int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no process leads"))
	defer cancel()
	for {
		select {
		case line := <-lines:
			if text, ok := strings.CutPrefix(line.Text, "leads "); ok {
				fmt.Fprintf(out, "%s leads, with token %s\n", line.From.Name, text)
				token, err := strconv.ParseInt(text, 10, 64)
				return line.From, token, err
			}
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// watcher reads the counter and checks it.
type watcher struct {
	session *session.Session
	out     io.Writer
	number  int
	token   int64
	terms   map[int64]string
}

// count watches until the term has counted that often, or the term is over. On an overloaded
// machine, a term may end by itself.
func (w *watcher) count(ctx context.Context, term int64, many int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no process counts"))
	defer cancel()
	first := 0 // the first number of the term that was seen
	for data := range w.session.WatchData(ctx, counterPath) {
		var by string
		var number int
		var token int64
		if _, err := fmt.Sscan(string(data.Bytes), &number, &token, &by); err != nil {
			return fmt.Errorf("counter %s: %w", strconv.Quote(string(data.Bytes)), err)
		}
		if number < w.number || token < w.token {
			return fmt.Errorf("%d under token %d, after %d under token %d", number, token, w.number, w.token)
		}
		w.number, w.token = number, token
		if number > 0 {
			w.terms[token] = by
		}
		if token == term && first == 0 {
			first = number
		}
		if token > term || token == term && number >= first+many {
			return nil
		}
	}
	return context.Cause(ctx)
}

// verdict checks the result.
func (w *watcher) verdict() error {
	if len(w.terms) < 3 {
		return fmt.Errorf("%d leaders have counted, want 3", len(w.terms))
	}
	fmt.Fprintf(w.out, "counted to %d under %d terms; numbers and tokens only grew\n", w.number, len(w.terms))
	return nil
}
