package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// parent is the process that the user started, with its state for one run.
type parent struct {
	config

	files  int // number of files
	screen *screen
	ground *ground
	board  *board
	pool   *pool
	chaos  *chaos
}

// run prepares the servers, lets the pool work under faults, and compares the results with a serial
// run. It always cleans up.
func run(ctx context.Context, cfg config, screen *screen) (err error) {
	p := &parent{config: cfg, screen: screen}
	files, err := listFiles(p.dir)
	if err != nil {
		return err
	}
	p.files = len(files)
	if p.batch == 0 {
		p.batch = batchSize(p.files)
	}
	if p.ground, err = prepare(ctx, p.servers, p.timeout); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.ground.leave(ctx)) }()
	if p.board, err = newBoard(p.ground.session); err != nil {
		return err
	}
	screen.say("%d files below %s, for %d workers in batches of %d, through ZooKeeper at %s%s (seed %d)",
		p.files, p.dir, p.workers, p.batch, strings.Join(p.ground.servers, ","), p.ground.namespace, p.seed)

	began := time.Now()
	err = p.work(ctx)
	screen.close()
	if err != nil {
		return err
	}
	return p.conclude(ctx, time.Since(began))
}

// work runs the pool until all work is done. When it returns, no worker is left.
func (p *parent) work(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p.pool = &pool{command: p.command, failed: fail}
	plan := p.planChaos()
	err := p.pool.fill(p.workers)
	if err == nil {
		working, finished := context.WithCancel(ctx)
		err = together(ctx,
			func(ctx context.Context) error {
				defer finished()
				return p.board.follow(ctx)
			},
			func(context.Context) error {
				p.chaos.run(working, ctx, plan)
				return nil
			},
			func(context.Context) error {
				p.screen.follow(working, p.look)
				return nil
			},
		)
	}
	p.pool.stop(3 * goodbye)
	return errors.Join(err, context.Cause(ctx))
}

// planChaos creates the chaos, which sees the work through the board, and plans its faults.
func (p *parent) planChaos() []strike {
	p.chaos = &chaos{
		pool:     p.pool,
		say:      p.screen.say,
		progress: func() float64 { return float64(p.look().Files) / float64(max(p.files, 1)) },
		leader:   func() string { return p.look().Leader },
		works:    p.pool.works,
	}
	if p.ground.embedded != nil {
		p.chaos.expire = p.ground.embedded.Expire
	}
	if !p.havoc {
		return nil
	}
	p.chaos.kinds = possible(canPause, p.chaos.expire != nil)
	const more = 4
	return planChaos(p.chaos.kinds, more, rand.New(rand.NewPCG(p.seed, 0)))
}

// command returns the command that starts a worker: this program again.
func (p *parent) command(name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	//nolint:gosec // the arguments come from this process, and no shell reads them
	return exec.Command(self, workerRole, "-name", name, "-zk", strings.Join(p.ground.servers, ","), "-namespace", p.ground.namespace,
		"-dir", p.dir, "-batch", strconv.Itoa(p.batch), "-window", strconv.Itoa(4*p.workers), "-session", p.timeout.String())
}

// look returns the current state, for the progress line.
func (p *parent) look() view {
	v := view{Of: p.files}
	v.Files, v.Bytes, v.Leader, v.Takeovers = p.board.now()
	_, v.Epochs, _ = p.pool.counts()
	return v
}
