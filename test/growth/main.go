//go:build unix

// Program growth measures what an operation costs as the work grows, on a real server that it
// starts, and draws it beside the line of the theory: `make growth`. Any error ends it.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func main() {
	only := flag.String("only", "", "names of sweeps, by commas; all if empty")
	write := flag.String("write", "", "file for the tables, with the pictures beside it; none if empty")
	divide := flag.Float64("divide", 1, "the sizes have so many times fewer digits")
	flag.Parse()
	for _, s := range sweeps {
		if *only == "" || slices.Contains(strings.Split(*only, ","), s.name) {
			s.run(*write, max(*divide, 1))
		}
	}
}

// A sweep has two series of figures, each with a figure for each panel: figure i is in panel i%3,
// and of series i/3. The second series has no memory, so there are five.
var panels = []string{"requests", "ms", "KiB of live memory"}

const (
	memory = 2  // the panel
	enough = 10 // of fewer than so many, the memory of each is noise
)

type (
	list   = []float64
	two    = [2]string
	theory = [2]float64 // a and b in a + b·x; not a number where theory does not know it: see figures. Zero: no figure
	lines  = [5]theory  // of each figure
)

var level, linear = theory{math.NaN(), 0}, theory{math.NaN(), math.NaN()}

// sweep is a measurement for each of some sizes.
type sweep struct {
	name, title string
	x           string       // what is counted on the axis
	sizes       list         // at which it is measured
	measure     func(r *rig) // sets r.of for the size r.x
	series      two          // their names; "" for none
	theory      lines
	points      []rig // the results, by size
}

var sweeps = []sweep{
	{
		name: "contenders", title: "Contenders of one path: what each costs", x: "contenders", sizes: list{1, 10, 100, 1000, 5000}, measure: contenders,
		series: two{"joining", "hand-over"}, theory: lines{{4, 0}, linear, level, {3, 0}, linear},
	},
	{
		name: "instances", title: "Waiting locks of one session: what each costs", x: "waiting locks of one session", sizes: list{1, 10, 100, 1000, 1e4, 1e5}, measure: instances,
		series: two{"lining up"}, theory: lines{{2, 0}, level, level},
	},
	{
		name: "sessions", title: "Sessions of one process: what each costs, and all of them in a second", x: "sessions", sizes: list{1, 10, 100, 500, 2000}, measure: sessions,
		series: two{"connecting one", "all idle, per second"}, theory: lines{{2, 0}, level, level, {0, .1}},
	},
	{
		name: "parties", title: "Parties of a double barrier: what each costs in a round", x: "parties of a double barrier", sizes: list{2, 10, 50, 200, 500}, measure: parties,
		series: two{"a party's round"}, theory: lines{{6, 0}, level, linear},
	},
	{
		name: "queue", title: "Length of a queue: what one item costs", x: "items in a queue", sizes: list{1, 100, 1000, 2e4, 2e5}, measure: length,
		series: two{"put", "take and acknowledge"}, theory: lines{{1, 0}, level, {}, {4, 0}, level},
	},
	{
		name: "roundtrip", title: "Round trip of the network: what it costs to lock and release once", x: "ms of a round trip", sizes: list{.2, .5, 1, 2, 5, 10, 20}, measure: roundtrip,
		series: two{"lock and release"}, theory: lines{{3, 0}, {math.NaN(), 2}},
	},
}

// run measures, and writes the results between the sweep's marks in the file.
func (s *sweep) run(file string, divide float64) {
	began, e := time.Now(), must(ensemble.New(1, ensemble.WithJVM("-Xmx2g"), ensemble.WithConfig("maxClientCnxns", "0")))
	defer e.Close()
	for i, size := range append(s.sizes[1:2:2], s.sizes...) { // the first does not count: a server that has just started is slow
		size = rounded(s.sizes[0] * math.Pow(size/s.sizes[0], 1/divide))
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
		r := rig{Ensemble: e, ctx: ctx, path: fmt.Sprintf("/%s-%d/", s.name, i), x: size, n: int(size + .5), second: time.Duration(1e9 / divide / divide)}
		r.memoryOf(1)
		s.measure(&r)
		each(len(r.sessions), func(i int) { must(0, r.sessions[i].Close(ctx)) })
		cancel()
		fmt.Fprintf(os.Stderr, "%s %s, after %.0f s: %.3g\n", s.name, number(size), time.Since(began).Seconds(), r.of)
		for i, y := range r.of {
			r.of[i] = rounded(y)
		}
		if r.sessions = nil; i > 0 {
			s.points = append(s.points, r)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // there is no such file elsewhere
	block := fmt.Sprintf("![%s](growth-%s.svg)\n\n`make growth ARGS='-only %s'`: %.0f s, %s, %d cores, ZooKeeper %s, load at the end %.4s.\n\n%s",
		s.title, s.name, s.name, time.Since(began).Seconds(), runtime.Version(), runtime.NumCPU(), must(e.Version()), load, s.table())
	fmt.Fprintln(os.Stderr, block)
	if file != "" {
		text, _ := os.ReadFile(file) // it may not exist yet
		begin, end := "<!-- make growth: "+s.name+" -->\n", "<!-- end of "+s.name+" -->\n"
		before, rest, _ := strings.Cut(string(text), begin)
		_, after, _ := strings.Cut(rest, end)
		must(0, os.WriteFile(file, []byte(before+begin+"\n"+block+"\n"+end+after), 0o600))
		must(0, os.WriteFile(file[:strings.LastIndex(file, "/")+1]+"growth-"+s.name+".svg", []byte(s.draw()), 0o600))
	}
}

// rig is a server with the state of one measurement.
type rig struct {
	*ensemble.Ensemble
	ctx      context.Context
	path     string        // below which this measurement works
	x        float64       // the size
	n        int           // the size as a whole number
	second   time.Duration // for so long idle sessions are measured
	sessions []*session.Session

	empty float64    // the memory at the last call of memoryOf
	of    [5]float64 // the figures
}

// open opens sessions, and makes the path.
func (r *rig) open(n int, servers []string) *session.Session {
	for range n {
		r.sessions = append(r.sessions, must(session.Open(r.ctx, servers, session.WithTimeout(time.Minute))))
	}
	must(0, r.sessions[0].EnsurePath(r.ctx, r.path+"0"))
	return r.sessions[0]
}

// cost sets a series: requests and ms of each of n operations, one after another.
func (r *rig) cost(series, n int, do func(i int)) {
	before, began := must(r.Stats(0)), time.Now()
	for i := range n {
		do(i)
	}
	r.of[3*series+1] = float64(time.Since(began)) / 1e6 / float64(n)
	r.of[3*series] = float64(must(r.Stats(0)).Requests-before.Requests) / float64(n)
}

// memoryOf sets the memory of each of n: the growth of live heap and stacks since the last call.
func (r *rig) memoryOf(n float64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	all := float64(m.HeapAlloc+m.StackInuse) / 1024
	r.of[2], r.empty = (all-r.empty)/n, all
}

// queueUp lets locks queue, onPath of them on a path, one after another or all at one time.
func (r *rig) queueUp(sessions, onPath int, together bool) (locks []*lock.Lock) {
	r.open(min(r.n, sessions), r.Servers())
	r.memoryOf(1)
	queued := func(l *lock.Lock) { // waits until it is
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		for at := range l.ObserveStatus(ctx) {
			if at.State == lock.Holding || at.Ahead > 0 {
				return
			}
		}
	}
	r.cost(0, r.n, func(i int) {
		l := must(lock.New(r.sessions[i%len(r.sessions)], fmt.Sprint(r.path, i%max(r.n/onPath, 1)), lock.WithHeldWarning(0)))
		l.Acquire()
		locks = append(locks, l)
		switch {
		case !together:
			queued(l)
		case i == r.n-1: // the last one
			for _, l := range slices.Backward(locks) {
				queued(l)
			}
		}
	})
	r.memoryOf(r.x)
	return locks
}

// contenders join one after another, and then each holds and releases in its turn.
func contenders(r *rig) {
	locks := r.queueUp(10, r.n, false)
	r.cost(1, r.n, func(i int) { <-locks[i].Acquired(); must(0, locks[i].Withdraw(r.ctx)) })
}

// instances are a hundred locks on each path, of which one holds.
func instances(r *rig) { runtime.KeepAlive(r.queueUp(1, 100, true)) }

// sessions are opened one after another, and then left alone for two of their pings.
func sessions(r *rig) {
	r.cost(0, r.n, func(int) {
		r.sessions = append(r.sessions, must(session.Open(r.ctx, r.Servers(), session.WithTimeout(30*r.second))))
	})
	r.memoryOf(r.x)
	r.cost(1, 20, func(int) { <-time.After(r.second) })
	r.of[4] = 0 // its time is known
}

// parties meet three times, after a first round that is not counted.
func parties(r *rig) {
	r.open(min(r.n, 10), r.Servers())
	r.memoryOf(1)
	doubles, passages := make([]*barrier.Double, r.n), make([]*barrier.Passage, r.n)
	for i := range doubles {
		doubles[i] = must(barrier.NewDouble(r.sessions[i%len(r.sessions)], r.path+"0", r.n, barrier.WithName(fmt.Sprint("p", i))))
	}
	round := func(int) {
		each(r.n, func(i int) { passages[i] = must(doubles[i].Enter(r.ctx)) })
		each(r.n, func(i int) { must(0, passages[i].Leave(r.ctx)) })
	}
	round(0)
	r.memoryOf(r.x)
	r.cost(0, 3, round)
	r.of[0], r.of[1] = r.of[0]/r.x, r.of[1]/r.x
}

// length: one after another, a hundred items are put to a queue of that length, and then taken.
func length(r *rig) {
	q := must(queue.New(r.open(1, r.Servers()), r.path+"0"))
	for left := r.n; left > 0; left -= 500 {
		must(q.PutAll(r.ctx, make([][]byte, min(left, 500))))
	}
	take := func(int) { must(0, must(q.Take(r.ctx)).Ack(r.ctx)) }
	r.cost(0, 100, func(int) { must(q.Put(r.ctx, []byte("an item"))) })
	take(0) // makes the first requests of the consumer
	r.cost(1, 100, take)
	r.memoryOf(1) // in all: it is noise, for standard error alone
}

// roundtrip: a lock is acquired and released, behind a network of that round trip.
func roundtrip(r *rig) {
	l := must(lock.New(r.open(1, r.Proxied()), r.path+"0"))
	r.Proxies()[0].Delay(time.Duration(r.x * 1e6 / 2))
	r.cost(0, 50, func(int) { must(0, l.Do(r.ctx, func(context.Context, *lock.Grant) error { return nil })) })
	r.Proxies()[0].Heal()
}

// each calls do for all at one time.
func each(n int, do func(i int)) {
	var working sync.WaitGroup
	for i := range n {
		working.Go(func() { do(i) }) // ends with the rig's context at the latest
	}
	working.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
