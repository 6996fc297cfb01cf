package run

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/troupe-go/troupe/internal/tempdir"
	"github.com/troupe-go/troupe/test/chaos/internal/check"
	"github.com/troupe-go/troupe/test/chaos/internal/faults"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// Settings are the settings of a run.
type Settings struct {
	Seed     uint64
	Duration time.Duration
	Servers  int
	Workers  int
	Timeout  time.Duration
	Tick     time.Duration
	Works    []string
	Kinds    []faults.Kind
	Every    time.Duration
	Storm    time.Duration
	Calm     time.Duration
	Long     float64  // the share of possessions that last about as long as a session
	Log      string   // level of the workers' logs, "" for none
	Only     []string // the checks that count; nil for all
	Keep     string   // a folder for the histories and logs; "": they are removed
	Out      io.Writer
}

// Run does one run.
func Run(ctx context.Context, s Settings) (rep Report, err error) {
	folder := s.Keep
	if folder == "" {
		f, err := tempdir.New("troupe-chaos")
		if err != nil {
			return rep, err
		}
		defer f.Remove()
		folder = f.Path()
	}
	counts, err := s.perform(ctx, folder)
	if err != nil {
		return rep, err
	}
	events, err := history.Load(folder)
	if err != nil {
		return rep, err
	}
	r := check.Run{Events: check.Checked(events), Settings: check.Settings{
		Timeout: s.Timeout, Works: s.Works, Workers: s.Workers, Settle: 3 * s.Timeout,
		Permits: work.Permits(), Capacity: map[string]int{"queue-capacity/items": work.Capacity},
		Delay: map[string]time.Duration{"delay/line": work.Delay}, Lots: work.Lots(),
	}}
	rep = Report{Settings: s, Faults: counts.faults, Skipped: counts.skipped, Deaths: counts.deaths, Diverged: counts.diverged}
	rep.fill(r)
	return rep, nil
}

// performed is what a run has done, besides the histories: see Report.
type performed struct {
	faults   map[faults.Kind]int
	skipped  int
	deaths   []string
	diverged string
}

// perform runs servers, workers and faults. When it returns all processes have ended.
func (s Settings) perform(ctx context.Context, folder string) (done performed, err error) {
	w := &world{parents: work.Parents(s.Works)}
	defer w.close()
	if err := w.open(s, folder); err != nil {
		return done, err
	}
	for i := range s.Workers {
		w.workers = append(w.workers, &worker{folder: folder, config: work.Config{
			Index: i, Workers: s.Workers, Servers: w.addresses(i), Direct: w.Servers(), Timeout: s.Timeout, Tick: s.Tick,
			Seed: s.Seed*1000 + uint64(i), Works: s.Works, Long: s.Long, Log: s.Log,
		}})
		if err := w.workers[i].start(); err != nil {
			return done, err
		}
	}
	c := &faults.Conductor{World: w, Servers: s.Servers, Workers: s.Workers, Log: s.Out}
	storms := faults.Schedule(s.Seed, faults.Plan{
		Duration: s.Duration, Timeout: s.Timeout, Servers: s.Servers, Workers: s.Workers,
		Kinds: s.Kinds, Every: s.Every, Storm: s.Storm, Calm: s.Calm,
	})
	if err := w.Await(ctx); err != nil {
		return done, err
	}
	w.pause(ctx, s.Timeout) // all workers have begun
	for _, storm := range storms {
		w.recorder.Write(history.Event{Kind: history.StormBegan})
		c.Storm(ctx, storm)
		if err := w.Await(ctx); err != nil {
			return done, fmt.Errorf("the servers do not come back: %w", err)
		}
		ends, err := history.Ends(folder)
		if err != nil {
			return done, err
		}
		w.recorder.Write(history.Event{Kind: history.CalmBegan})
		w.pause(ctx, s.Calm)
		w.standstill(ctx, s, folder, ends)
		for _, t := range w.memory.Twice() {
			w.recorder.Write(t)
		}
		w.recorder.Write(history.Event{Kind: history.CalmEnded})
		if err := w.agree(ctx, s.Out, 5*s.Timeout); err != nil {
			fmt.Fprintln(s.Out, err)
			done.diverged = err.Error()
			break
		}
	}
	if done.diverged == "" {
		w.finish(ctx, s)
	}
	done.faults, done.skipped = c.Counts()
	for _, worker := range w.workers {
		done.deaths = append(done.deaths, worker.dead()...)
	}
	return done, ctx.Err()
}

// finish lets the workers end in order.
func (w *world) finish(ctx context.Context, s Settings) {
	for _, worker := range w.workers {
		worker.tell(work.Drain)
	}
	w.pause(ctx, 2*s.Timeout)
	for _, worker := range w.workers {
		worker.tell(work.Stop)
	}
	for i, worker := range w.workers {
		if !worker.await(6 * s.Timeout) {
			w.recorder.Write(history.Event{Kind: history.Failed, Work: "worker", Thing: "end", Party: fmt.Sprint(i), Value: "it does not end"})
		}
	}
	collecting, cancel := context.WithTimeout(ctx, 10*s.Timeout)
	work.Collect(collecting, w.watcher, w.recorder, work.Config{Name: "main", Timeout: s.Timeout, Works: s.Works})
	cancel()
	w.pause(ctx, 2*time.Second) // the servers delete empty containers
	w.leftovers(ctx, s)
}

func (w *world) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
