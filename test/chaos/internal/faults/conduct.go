package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// World has the targets of a schedule.
type World interface {
	Leader() int // -1: none at the moment
	KillServer(i int)
	RestartServer(i int) error
	StopServer(i int)
	ContinueServer(i int)
	IsolateServer(i int) (heal func())
	SeverServers(i, j int) (heal func())

	KillWorker(i int)
	RestartWorker(i int) error
	StopWorker(i int)
	ContinueWorker(i int)
	PanicWorker(i int)
	ExpireWorker(i int)
	Strike(ctx context.Context) error // delete a contender's znode
	Raze(ctx context.Context) error   // delete a recipe's path with all contenders

	Link(worker, server int) *ensemble.Proxy
}

// Conductor carries schedules out and counts the faults.
type Conductor struct {
	World   World
	Servers int
	Workers int
	Log     io.Writer // faults and their times, a line each

	mu      sync.Mutex
	busy    map[string]bool // servers and workers that are in a fault
	counts  map[Kind]int
	skipped int
}

// Counts returns how many faults of each kind there were, and how many could not be made, because
// their target was in another one already.
func (c *Conductor) Counts() (counts map[Kind]int, skipped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts, c.skipped
}

// Storm carries a storm out, and returns when all its faults are healed. It is cut short when ctx
// ends.
func (c *Conductor) Storm(ctx context.Context, s Storm) {
	begin := time.Now()
	var wg sync.WaitGroup
	for _, f := range s.Faults {
		if !sleep(ctx, time.Until(begin.Add(f.At))) {
			break
		}
		wg.Go(func() { c.carryOut(ctx, f) }) // owner: Storm, which waits for it; ends when the fault is healed
	}
	sleep(ctx, time.Until(begin.Add(s.Length)))
	wg.Wait()
}

// carryOut makes a fault, unless its target is in another one, and counts it.
func (c *Conductor) carryOut(ctx context.Context, f Fault) {
	if f.Leader {
		if leader := c.World.Leader(); leader >= 0 {
			f.Server = leader
		}
	}
	if f.Kind == KillWorker || f.Kind == StopWorker { // only links may be those of all workers
		f.Worker = max(f.Worker, 0)
	}
	if f.Kind == Sever && c.World.Leader() == f.Server { // the target is a follower
		f.Server = (f.Server + 1) % c.Servers
	}
	target := fmt.Sprintf("worker %d", f.Worker)
	if f.Kind.onServers() {
		target = fmt.Sprintf("server %d", f.Server)
	}
	// Two kills, stops or isolations of one target can't be healed apart; faults of links can.
	exclusive := f.Kind.onServers() && f.Kind != Herd || f.Kind == KillWorker || f.Kind == StopWorker
	if exclusive && !c.take(target) {
		return
	}
	fmt.Fprintf(c.Log, "%.3f %s %s for %v\n", float64(history.Now())/1e9, f.Kind, target, f.For.Round(time.Millisecond))
	err := c.do(ctx, f)
	if exclusive {
		c.free(target)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		fmt.Fprintf(c.Log, "%.3f %s %s: %v\n", float64(history.Now())/1e9, f.Kind, target, err)
		c.skipped++
		return
	}
	if c.counts == nil {
		c.counts = make(map[Kind]int)
	}
	c.counts[f.Kind]++
}

// take reports whether a target is in no other fault; then it is in this one until free.
func (c *Conductor) take(target string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == nil {
		c.busy = make(map[string]bool)
	}
	if c.busy[target] {
		c.skipped++
		return false
	}
	c.busy[target] = true
	return true
}

func (c *Conductor) free(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, target)
}

// do makes a fault and heals it.
func (c *Conductor) do(ctx context.Context, f Fault) error {
	w := c.World
	worker := max(f.Worker, 0)
	switch f.Kind {
	case KillServer:
		w.KillServer(f.Server)
		sleep(ctx, f.For)
		return w.RestartServer(f.Server)
	case StopServer:
		w.StopServer(f.Server)
		defer w.ContinueServer(f.Server)
		sleep(ctx, f.For)
	case Isolate:
		defer w.IsolateServer(f.Server)()
		sleep(ctx, f.For)
	case Sever:
		return c.sever(ctx, f)
	case Herd:
		return c.herd()
	case KillWorker:
		w.KillWorker(worker)
		sleep(ctx, f.For)
		return w.RestartWorker(worker)
	case StopWorker:
		w.StopWorker(worker)
		defer w.ContinueWorker(worker)
		sleep(ctx, f.For)
	case PanicWorker:
		w.PanicWorker(worker)
	case Expire:
		w.ExpireWorker(worker)
	case Strike:
		return w.Strike(ctx)
	case Raze:
		return w.Raze(ctx)
	default:
		c.trouble(ctx, f)
	}
	return nil
}

var errNoLink = errors.New("there is no leader, or it is the server itself")

// sever cuts a follower off from its leader, and resets its clients' connections. Their requests
// wait at the follower, while the clients go to another server and come back.
func (c *Conductor) sever(ctx context.Context, f Fault) error {
	leader := c.World.Leader()
	if leader < 0 || leader == f.Server {
		return errNoLink
	}
	defer c.World.SeverServers(f.Server, leader)()
	const resets = 3
	for range resets {
		sleep(ctx, f.For/(resets+1))
		for i := range c.Workers {
			c.World.Link(i, f.Server).Reset()
		}
	}
	sleep(ctx, f.For/(resets+1))
	return nil
}

// herd kills all servers that are in no other fault, and restarts them.
func (c *Conductor) herd() error {
	var mine []int
	for i := range c.Servers {
		if c.take(fmt.Sprintf("server %d", i)) {
			mine = append(mine, i)
			defer c.free(fmt.Sprintf("server %d", i))
		}
	}
	for _, i := range mine {
		c.World.KillServer(i)
	}
	errs := make(chan error, len(mine)) // bound: one each
	for _, i := range mine {
		go func() { errs <- c.World.RestartServer(i) }() // owner: herd, which waits below
	}
	var first error
	for range mine {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// trouble disturbs links: those of one worker to all servers, or those of all workers to one
// server.
func (c *Conductor) trouble(ctx context.Context, f Fault) {
	var links []*ensemble.Proxy
	for i := range max(c.Workers, c.Servers) {
		switch {
		case f.Worker < 0 && i < c.Workers:
			links = append(links, c.World.Link(i, f.Server))
		case f.Worker >= 0 && i < c.Servers:
			links = append(links, c.World.Link(f.Worker, i))
		}
	}
	for _, l := range links {
		switch f.Kind {
		case Blackhole:
			l.Blackhole()
		case OneWay:
			l.Blackhole(ensemble.Direction(f.Way))
		case Lose:
			l.Blackhole(ensemble.ToClient)
		case Reset:
			l.Reset()
		case Cut:
			l.Cut()
		case Delay:
			l.Delay(f.Late)
		default:
			panic("unknown fault: " + f.Kind)
		}
	}
	if !f.Kind.lasts() {
		return
	}
	sleep(ctx, f.For)
	for _, l := range links {
		if f.Kind == Lose {
			l.Reset() // with the replies that are under way
		}
		l.Heal()
	}
}

// sleep returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
