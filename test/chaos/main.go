package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/faults"
	"github.com/troupe-go/troupe/test/chaos/internal/run"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

func main() { os.Exit(program()) }

func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if text := os.Getenv(run.WorkerEnv); text != "" {
		if err := serve(ctx, text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	ok, err := chaos(ctx, os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

// serve is the life of a worker process.
func serve(ctx context.Context, text string) error {
	var cfg work.Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	return work.Run(ctx, cfg, os.Stdin, os.Stderr)
}

// chaos does a run. It returns true if there was no violation.
func chaos(ctx context.Context, args []string, out io.Writer) (bool, error) {
	s := run.Settings{Servers: 3, Tick: 200 * time.Millisecond, Out: out}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.DurationVar(&s.Duration, "duration", 2*time.Minute, "how long faults are made, the calms between them included")
	flags.Uint64Var(&s.Seed, "seed", 0, "of the faults and of the work; 0 for a random one")
	flags.IntVar(&s.Workers, "workers", 4, "worker processes")
	flags.DurationVar(&s.Timeout, "timeout", 3*time.Second, "of the workers' sessions")
	flags.DurationVar(&s.Every, "every", 600*time.Millisecond, "from one fault to the next, on average")
	flags.DurationVar(&s.Storm, "storm", 25*time.Second, "how long faults are made before a calm")
	flags.DurationVar(&s.Calm, "calm", 0, "how long a calm is; 0 for a little more than three session timeouts")
	flags.Float64Var(&s.Long, "long", 0.02, "the share of possessions that last about as long as a session")
	flags.StringVar(&s.Log, "log", "", "level of the workers' session logs, kept with -keep")
	flags.StringVar(&s.Keep, "keep", "", "an empty folder to keep the histories in")
	works := flags.String("work", "all", "workloads: all, or a list of "+strings.Join(work.Names(), ","))
	kinds := flags.String("faults", "all", "faults to draw from: all, none, or a list; -kind leaves one out")
	only := flags.String("only", "", "checks that count, a list; \"\" for all")
	expect := flags.Bool("expect", false, "expect violations: the exit code is 0 if there are any")
	report := flags.String("report", "", "a file to append the report to, as one line of JSON")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64N(1 << 32)
	}
	if s.Calm == 0 {
		s.Calm = 3*s.Timeout + time.Second
	}
	var err error
	if s.Kinds, err = faults.ParseKinds(*kinds); err != nil {
		return false, err
	}
	if s.Works, err = parseWorks(*works); err != nil {
		return false, err
	}
	if *only != "" {
		s.Only = strings.Split(*only, ",")
	}
	fmt.Fprintf(out, "seed %d: repeat with -seed %d\n", s.Seed, s.Seed)
	rep, err := run.Run(ctx, s)
	if err != nil {
		return false, err
	}
	rep.Print(out)
	if *report != "" {
		err = rep.Append(*report)
	}
	return (rep.Count == 0) != *expect, err
}

func parseWorks(list string) ([]string, error) {
	if list == "all" {
		return work.Names(), nil
	}
	works := strings.Split(list, ",")
	for _, w := range works {
		if !slices.Contains(work.Names(), w) {
			return nil, fmt.Errorf("no workload is called %q: there are %v", w, work.Names())
		}
	}
	return works, nil
}
