package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// config is what the command line says.
type config struct {
	dir     string
	servers string // "": an embedded one
	workers int
	batch   int // files in a batch; 0: by the size of the tree
	timeout time.Duration
	chaos   bool
	seed    uint64
}

func (c config) check() error {
	switch {
	case c.workers < 1 || c.workers > 64:
		return fmt.Errorf("-workers %d: not from 1 to 64", c.workers)
	case c.batch < 0:
		return fmt.Errorf("-batch %d: negative", c.batch)
	case c.timeout < 400*time.Millisecond:
		return fmt.Errorf("-session %v: too short for processes that share a machine", c.timeout)
	}
	return nil
}

// run is one run, in the parent: it prepares the ground, lets the pool work under chaos, and compares what came of it with a serial run.
func run(ctx context.Context, cfg config, show *screen) (err error) {
	files, err := listFiles(cfg.dir)
	if err != nil {
		return err
	}
	if cfg.batch == 0 {
		cfg.batch = batchSize(len(files))
	}
	g, err := prepare(ctx, cfg.servers, cfg.timeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.leave(ctx)) }()
	show.say("%d files below %s, for %d workers in batches of %d, through ZooKeeper at %s%s (seed %d)",
		len(files), cfg.dir, cfg.workers, cfg.batch, strings.Join(g.servers, ","), g.namespace, cfg.seed)

	seen, err := newBoard(g.session)
	if err != nil {
		return err
	}
	began := time.Now()
	crew, havoc, err := perform(ctx, cfg, g, seen, len(files), show)
	show.close()
	if err != nil {
		return err
	}
	took := time.Since(began)
	results, err := seen.all(ctx)
	if err != nil {
		return err
	}
	return conclude(ctx, cfg, crew, havoc, results, took, show)
}

// perform lets the pool do the work. When it returns, no worker is left.
func perform(ctx context.Context, cfg config, g *ground, seen *board, files int, show *screen) (*pool, *chaos, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	crew := &pool{command: commands(cfg, g), failed: fail}
	havoc := &chaos{pool: crew, say: show.say}
	havoc.progress = func() float64 { done, _, _, _ := seen.now(); return float64(done) / float64(max(files, 1)) }
	havoc.works = func(name string) bool { return seen.works(ctx, name) }
	havoc.leader = func() string { _, _, leader, _ := seen.now(); return leader }
	if g.embedded != nil {
		havoc.expire = g.embedded.Expire
	}
	var plan []strike
	if cfg.chaos {
		havoc.kinds = possible(canPause, havoc.expire != nil)
		plan = planChaos(havoc.kinds, 4, rand.New(rand.NewPCG(cfg.seed, 0)))
	}

	err := crew.fill(cfg.workers)
	if err == nil {
		working, finished := context.WithCancel(ctx)
		err = together(ctx,
			func(ctx context.Context) error {
				defer finished()
				return seen.follow(ctx)
			},
			func(context.Context) error { havoc.run(working, ctx, plan); return nil },
			func(context.Context) error {
				show.follow(working, func() view { return look(seen, crew, files) })
				return nil
			},
		)
	}
	crew.stop(2 * goodbye)
	return crew, havoc, errors.Join(err, context.Cause(ctx))
}

// commands makes the command of a worker: this program again.
func commands(cfg config, g *ground) func(name string) *exec.Cmd {
	return func(name string) *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		return exec.Command(self, workerRole, "-name", name, "-zk", strings.Join(g.servers, ","), "-namespace", g.namespace, "-dir", cfg.dir,
			"-batch", strconv.Itoa(cfg.batch), "-window", strconv.Itoa(4*cfg.workers), "-session", cfg.timeout.String())
	}
}

func look(seen *board, crew *pool, files int) view {
	v := view{Of: files}
	v.Files, v.Bytes, v.Leader, v.Takeovers = seen.now()
	_, v.Epochs, _ = crew.counts()
	return v
}

// conclude compares, and says what happened.
func conclude(ctx context.Context, cfg config, crew *pool, havoc *chaos, results []stored, took time.Duration, show *screen) error {
	began := time.Now()
	serial, err := hashSerially(ctx, cfg.dir)
	if err != nil {
		return err
	}
	serially := time.Since(began)
	started, epochs, refused := crew.counts()
	wrong := verify(serial, results, refused)

	var bytes int64
	for _, d := range serial {
		bytes += d.Size
	}
	show.say("pool:    %d files, %s in %d batches, %.1fs; %d processes, %d sessions", len(serial), megabytes(bytes), len(results), took.Seconds(), started, epochs)
	show.say("chaos:   %s", havoc.summary())
	show.say("stale:   %d attempts to write after the loss of a lock or of the lead, each refused", len(refused))
	show.say("serial:  the same in one process, %.1fs", serially.Seconds())
	if len(wrong) == 0 {
		show.say("result:  every file once, same digests, no result by a stale holder")
		return nil
	}
	const most = 20
	for _, w := range wrong[:min(len(wrong), most)] {
		show.say("wrong:   %s", w)
	}
	return fmt.Errorf("%d differences from the serial run", len(wrong))
}
