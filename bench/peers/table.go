//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	troupe "github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// table has the rows for a number of servers.
type table struct {
	*options
	rows         []row
	participants map[string]participant // by name

	// The ensemble.
	servers int
	e       *ensemble.Ensemble
	version string
	pids    []string        // of its processes; none without pgrep
	first   int             // the index of the server of each row's first session
	writer  *troupe.Session // of the rows about trees
	cycle   int             // of a turn in treereconnect

	// The results.
	costs map[string][]cost // by row and participant, of each round
	wrong error             // why the run fails
	load  []byte            // of the machine, at the end; on Linux
}

func (t *table) measure() (err error) {
	if t.e, err = ensemble.New(t.servers, ensemble.WithJVM("-Xmx1g")); err != nil {
		return err
	}
	defer t.e.Close()
	t.version, _ = t.e.Version()
	t.first = t.e.Leader() + 1
	// Without pgrep the CPU of the servers is not known.
	pids, _ := exec.Command("pgrep", "-P", strconv.Itoa(os.Getpid()), "-f", "QuorumPeerMain").Output()
	t.pids = strings.Fields(string(pids))
	if _, err := t.turn(&rows[0], t.participants["raw"], "/warm"); err != nil { // servers that have just started are slow
		return err
	}
	if slices.ContainsFunc(t.rows, func(r row) bool { return r.trees() }) {
		if t.writer, err = grow(context.Background(), t.e.Servers()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ours{t.writer}.close()) }()
	}
	for _, r := range t.rows {
		r.cycles = max(r.cycles/t.divide, min(r.cycles, 1))
		if r.name == "drain" {
			r.each = max(r.each/t.divide, 2)
		}
		for round := range t.rounds {
			t.round(&r, round)
		}
	}
	t.load, _ = os.ReadFile("/proc/loadavg")
	return nil
}

// round lets each participant have its turn, and compares them.
func (t *table) round(r *row, round int) {
	names, of := strings.Fields(r.who), map[string]cost{}
	for i := range names {
		name := names[(i+round)%len(names)]
		path := fmt.Sprintf("/%s-%s-%d", r.name, name, round)
		if r.trees() {
			path = forest
		}
		c, err := t.turn(r, t.participants[name], path)
		if err != nil {
			c.errors++
		}
		fmt.Fprintf(os.Stderr, "%d servers, %s, round %d, %s: %+v %v\n", t.servers, r.name, round+1, name, c, err)
		if wrong := r.decide(name, c); wrong != nil {
			t.wrong = errors.Join(t.wrong, fmt.Errorf("%d servers, %s, round %d, %s: %w: %+v", t.servers, r.name, round+1, name, errors.Join(wrong, err), c))
		}
		of[name] = c
	}
	for name, c := range of {
		c.of[speed] = of[strings.Fields(r.who)[0]].of[micros] / c.of[micros]
		t.costs[r.name+name] = append(t.costs[r.name+name], c)
	}
}

// decide returns the reason for which the run fails: a fault of raw or Troupe, or other requests of
// raw than the row has, without the pings of its sessions, one in ten seconds.
func (r *row) decide(name string, c cost) error {
	if (name == "raw" || name == "Troupe") && c.errors+c.violations > 0 {
		return errors.New("errors or violations")
	}
	pings := float64(r.sessions) * (1 + c.took.Seconds()/10) / r.units()
	if n := c.of[requests]; name == "raw" && r.most > 0 && (n < r.least || n > r.most+pings) {
		return fmt.Errorf("not %v to %v requests", r.least, r.most)
	}
	return nil
}

// addresses are those that the sessions of a row connect to, beginning with a follower.
func (t *table) addresses(r *row) (addresses []string) {
	for i := range r.sessions {
		from := t.e.Servers()
		if r.kind == "crash" && i < r.paths || r.kind == "treereconnect" {
			from = t.e.Proxied()
		}
		addresses = append(addresses, from[(t.first+i)%t.servers])
	}
	return addresses
}

const head = `
## Servers: %d, ZooKeeper %s

Load of the machine at the end, the benchmark's own included: %.4s.

| | beside raw | µs | requests | writes | events | client CPU | server CPU | allocations | started | woken | waiter | errors | violations |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// text is the table, with a line for each row and participant.
func (t *table) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, head, t.servers, t.version, t.load)
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| **%s** `-rows %s`%s |\n", r.title, r.name, strings.Repeat(" |", int(figures)+2))
		for name := range strings.FieldsSeq(r.who) {
			fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(cells(t.costs[r.name+name]), " | "))
		}
	}
	for _, r := range t.rows {
		if t.telemetry {
			fmt.Fprintf(&b, "\nClient CPU of `%s` with telemetry: %s times that without.\n", r.name, overhead(t.costs[r.name+"Telemetry"], t.costs[r.name+"Troupe"]))
		}
	}
	return b.String()
}

// overhead is the client CPU with something divided by that without, in the same round: the median
// and the quartiles of the rounds without errors.
func overhead(with, without []cost) string {
	var ratios []float64
	for i, c := range with {
		if c.errors+without[i].errors == 0 {
			ratios = append(ratios, c.of[client]/without[i].of[client])
		}
	}
	slices.Sort(ratios)
	n := len(ratios)
	if n == 0 {
		return "?"
	}
	return fmt.Sprintf("%.3f (%.3f–%.3f)", (ratios[(n-1)/2]+ratios[n/2])/2, ratios[n/4], ratios[n-1-n/4])
}

// cells are one participant's figures in one row: the medians of the rounds without errors.
func cells(costs []cost) (cells []string) {
	sum := cost{}
	for _, c := range costs {
		sum.errors, sum.violations = sum.errors+c.errors, sum.violations+c.violations
	}
	costs = slices.DeleteFunc(slices.Clone(costs), func(c cost) bool { return c.errors > 0 })
	if len(costs) == 0 {
		return append(make([]string, figures), fmt.Sprint(sum.errors), fmt.Sprint(sum.violations))
	}
	for i, format := range []string{"%.2f", "%.0f", "%.2f", "%.2f", "%.2f", "%.0f", "%.0f", "%.0f", "%.1f", "%.0f", "%.1f"} {
		slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(a.of[i], b.of[i]) })
		median := (costs[(len(costs)-1)/2].of[i] + costs[len(costs)/2].of[i]) / 2
		cell := strings.ReplaceAll(fmt.Sprintf(format, median), "NaN", "")
		if i == speed {
			cell += fmt.Sprintf(" (%.2f–%.2f)", costs[0].of[i], costs[len(costs)-1].of[i])
		}
		cells = append(cells, cell)
	}
	return append(cells, fmt.Sprint(sum.errors), fmt.Sprint(sum.violations))
}

// The figures of a cycle, in the order of the report's columns.
const (
	speed       = iota // the time of the row's first participant, raw, in the same round, divided by this one's
	micros             // time
	requests           // as the servers count them
	writes             //
	events             //
	client             // CPU µs
	server             //
	allocations        // of this process; NaN for another, as the next two
	started            // goroutines
	woken              // goroutines, the new ones included: see own
	waiter             // KiB of memory
	figures            // the number of figures
)

// cost is the cost of a cycle.
type cost struct {
	of   [figures]float64
	took time.Duration // the turn
	stats
}

// turn lets a participant make its cycles, and returns the cost of one.
func (t *table) turn(r *row, p participant, path string) (c cost, err error) {
	t.cycle = 0
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(r, t.addresses(r), path); err != nil {
		return c, err
	}
	defer time.AfterFunc(4*patience, p.kill).Stop()
	empty := memory()
	if err := t.prepare(r, p); err != nil {
		return c, err
	}
	var before, after [figures]float64
	before[waiter], after[waiter] = empty, memory()
	unread := t.read(&before)
	if r.kind == "crash" {
		for _, x := range t.e.Proxies() {
			x.Cut()
			defer x.Heal() // before the sessions are closed
		}
		p.(*fleet).record(cut, 0)
	}
	own(&before, p)
	began := time.Now()
	c.stats, err = t.cycles(r, p, r.cycles)
	c.took = time.Since(began)
	if f, mine := p.(*fleet); mine && f.collect != nil {
		f.collect() // which costs CPU, and the time is not counted
	}
	own(&after, p)
	err = errors.Join(unread, err, t.read(&after))
	after[micros] = float64(c.took) / 1e3
	for i := range c.of {
		c.of[i] = (after[i] - before[i]) / r.units()
	}
	if r.gapped() {
		c.of[micros] = float64(c.gap) / 1e3
	}
	if _, mine := p.(*fleet); !mine {
		c.of[allocations], c.of[started], c.of[woken] = math.NaN(), math.NaN(), math.NaN()
	}
	if r.name != "drain" {
		c.of[waiter] = math.NaN()
	}
	return c, err
}

// prepare makes parents and buffers by some cycles, or lets the contenders wait in an order.
func (t *table) prepare(r *row, p participant) error {
	if r.cycles > 0 {
		s, err := t.cycles(r, p, r.cycles/4+1)
		if s.errors+s.violations > 0 {
			err = errors.Join(err, fmt.Errorf("first cycles: %+v", s))
		}
		return err
	}
	f := p.(*fleet)
	f.begin(0, r.paths, 1)
	if err := settle(t.e, r.paths, r.sessions, patience); err != nil {
		return err
	}
	f.begin(r.paths, r.contenders(), 1)
	return settle(t.e, r.contenders(), r.sessions, 3*patience)
}

// cycles lets all contenders make n cycles, or those that wait in an order one. Parties of a
// barrier meet before each round, so that no recipe has to tell rounds apart. Trees are cut off
// before each.
func (t *table) cycles(r *row, p participant, n int) (sum stats, err error) {
	if r.cycles == 0 {
		return r.examine(p.(*fleet).wait()), nil
	}
	rounds := 1
	if r.kind == "barrier" || r.kind == "treereconnect" {
		rounds, n = n, 1
	}
	for k := 0; k < rounds && err == nil && sum.errors == 0; k++ {
		if r.kind == "treereconnect" {
			if err := t.apart(); err != nil {
				return sum, err
			}
		}
		var log []moment
		log, err = p.run(n)
		s := r.examine(log)
		sum.gap, sum.errors, sum.violations = sum.gap+s.gap/time.Duration(rounds), sum.errors+s.errors, sum.violations+s.violations
	}
	return sum, err
}

// settle waits until there are so many ephemeral znodes and the sessions make almost no requests.
func settle(e *ensemble.Ensemble, ephemerals, sessions int, limit time.Duration) error {
	var last int64
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		sum, err := total(e)
		if err != nil || sum.Ephemerals >= ephemerals*len(e.Servers()) && sum.Requests-last <= int64(6*sessions) {
			return err
		}
		last = sum.Requests
	}
	return fmt.Errorf("not %d ephemeral znodes within %v", ephemerals, limit)
}

// total is the sum of all servers' counters.
func total(e *ensemble.Ensemble) (sum ensemble.Stats, err error) {
	for i := range e.Servers() {
		s, unread := e.Stats(i)
		err = errors.Join(err, unread)
		sum.Requests += s.Requests
		sum.Writes += s.Writes
		sum.WatchEvents += s.WatchEvents
		sum.Ephemerals += s.Ephemerals
	}
	return sum, err
}

// read sets the figures of the servers: their counters, and the CPU of their processes.
func (t *table) read(of *[figures]float64) error {
	sum, err := total(t.e)
	of[requests], of[writes], of[events] = float64(sum.Requests), float64(sum.Writes), float64(sum.WatchEvents)
	for _, pid := range t.pids {
		of[server] += used(pid)
	}
	return err
}

// own sets the figures of this process: allocations, and goroutines started and woken; and the CPU
// of the participant's process. The runtime counts every eighth wake-up, and the end of a time
// slice as one.
func own(of *[figures]float64, p participant) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	of[allocations], of[client] = float64(m.Mallocs), p.cpu()
	goroutines := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(goroutines)
	of[started], of[woken] = float64(goroutines[0].Value.Uint64()), 0
	for _, n := range goroutines[1].Value.Float64Histogram().Counts {
		of[woken] += 8 * float64(n)
	}
}

// memory is the live heap with the stacks of goroutines, in KiB.
func memory() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc+m.StackInuse) / 1024
}

// cpu is the CPU time of this process, in µs.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for bad arguments only
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

// used is the CPU time of another process in µs, with the kernel's resolution of 10 ms.
func used(pid string) float64 { return (status(pid, 14) + status(pid, 15)) * 1e4 }

// status is a field of /proc/PID/stat, counted as in its manual from 1 on; zero if there is none.
func status(pid string, field int) (n float64) {
	text, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name
	if fields := strings.Fields(rest); len(fields) > field {
		n, _ = strconv.ParseFloat(fields[field-3], 64)
	}
	return n
}
