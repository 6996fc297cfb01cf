//go:build unix

// Program peers measures Troupe beside go-zookeeper's lock, Curator's and kazoo's recipes and the
// bare requests that all of them make, on real servers that it starts: `make bench-peers`. It needs
// a Unix, for the CPU time of its own process. The CPU time of the servers and of processes in
// other languages needs Linux.
//
// The participants take turns, one each in a round, in another order in each round, so that the
// noise of the machine falls on all of them alike. Figures that are compared are of the same round.
// A run fails if the requests of raw differ from those in the source, or if raw or Troupe made a
// fault; faults of the others are only in the table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/tempdir"
)

// patience is the unit of all limits of waiting.
const patience = 15 * time.Second

// mark is a line of docs/performance.md.
const mark = "<!-- What follows is written by make bench-peers. -->"

// options are those of the command line.
type options struct {
	rows, write             string
	servers, rounds, divide int
	huge, telemetry         bool
}

func main() {
	var o options
	flag.StringVar(&o.rows, "rows", "", "names of rows, by commas; all if empty")
	flag.IntVar(&o.servers, "servers", 0, "1 or 3 servers; both if 0")
	flag.StringVar(&o.write, "write", "", "file for the report; standard output if empty")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each row")
	flag.IntVar(&o.divide, "divide", 1, "turns have so many times fewer cycles")
	flag.BoolVar(&o.huge, "huge", false, "also the rows close and waiting, which take minutes")
	flag.BoolVar(&o.telemetry, "telemetry", false, "instead, Troupe beside Troupe with all metrics and spans, as Telemetry, in ten times as many rounds")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func (o *options) wants(row string) bool {
	return o.rows == "" || slices.Contains(strings.Split(o.rows, ","), row)
}

// run measures the chosen rows and writes the report. Its error includes those of decide.
func (o *options) run() error {
	wanted := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !o.wants(r.name) })
	if o.rounds < 1 || o.divide < 1 || !slices.Contains([]int{0, 1, 3}, o.servers) || len(wanted) == 0 && !o.huge {
		return errors.New("-rows, -servers, -rounds, -divide: there is nothing to measure")
	}
	folder, err := tempdir.New("troupe-peers")
	if err != nil {
		return err
	}
	defer folder.Remove()
	curator, kazoo, err := children(folder.Path())
	if err != nil {
		return err
	}
	defer curator.end()
	defer kazoo.end()
	participants := map[string]participant{
		"raw": &fleet{connect: connectTo(true)}, "go-zookeeper": &fleet{connect: connectTo(false)}, "Troupe": &fleet{connect: connectTroupe()},
		"Curator": curator, "kazoo": kazoo,
	}
	if o.telemetry {
		opt, collect := discarded()
		participants["Telemetry"] = &fleet{connect: connectTroupe(opt), collect: collect}
		o.rounds *= 10
		for i := range wanted {
			wanted[i].who = "Troupe Telemetry"
		}
	}
	report, wrong := fmt.Sprintf("%s on %d cores, %d rounds, cycles divided by %d.\n", runtime.Version(), runtime.NumCPU(), o.rounds, o.divide), error(nil)
	for _, servers := range []int{1, 3} {
		if len(wanted) > 0 && (o.servers == 0 || o.servers == servers) {
			t := &table{options: o, rows: wanted, participants: participants, servers: servers, costs: map[string][]cost{}}
			if err := t.measure(); err != nil {
				return err
			}
			report, wrong = report+t.text(), errors.Join(wrong, t.wrong)
		}
	}
	if o.huge {
		report += "\n## Many waiting locks\n\n| | locks | in line | live heap | resident | close |\n|---|---|---|---|---|---|\n"
	}
	for _, name := range slices.Sorted(maps.Keys(crowds)) {
		if o.huge && o.wants(name) {
			line, err := measureCrowd(max(crowds[name]/o.divide, onPath))
			report, wrong = report+fmt.Sprintf("| `-huge -rows %s` | ", name)+line, errors.Join(wrong, err)
		}
	}
	return errors.Join(wrong, o.tell(report))
}

// tell writes the report to standard output, or to a file, in place of the text behind the mark.
func (o *options) tell(report string) error {
	if o.write == "" {
		_, err := fmt.Print(report)
		return err
	}
	text, _ := os.ReadFile(o.write) // it may not exist yet
	before, _, _ := strings.Cut(string(text), mark)
	return os.WriteFile(o.write, []byte(before+mark+"\n\n"+report), 0o600)
}

// row is one comparison: the contenders, their paths, and how many cycles they make.
type row struct {
	name     string
	kind     string // lock, election, crash, shared, barrier, queue, pipeline, tree, treechange, treereconnect
	title    string
	sessions int
	each     int // contenders of a session
	paths    int // over which the contenders are spread
	cycles   int // of each contender in a turn; zero if the first on each path holds, and a cycle is a waiter's

	// The requests of raw in a cycle: a run with others fails. They differ by chance where a
	// contender that is first makes one less, and a writer lists once more for each reader that it
	// has waited for: about 4.2 in the row "shared". There are none for "crash", whose requests are
	// nearly all pings.
	least, most float64

	work time.Duration // for so long a contender holds
	who  string        // the participants
}

// The participants of a row: all; those in this process, whose contenders can be made to wait in an
// order; and those with such a recipe, without kazoo's, which can get stuck.
const (
	all  = "raw go-zookeeper Curator kazoo Troupe"
	here = "raw go-zookeeper Troupe"
	both = "raw Curator Troupe"
	jobs = "raw Curator kazoo Troupe"
)

var rows = []row{ // name, kind, title, sessions, each, paths, cycles, least, most, work, who
	{"uncontended", "lock", "uncontended lock", 1, 1, 1, 800, 3, 3, 0, all},
	{"work", "lock", "uncontended lock, held for 2 ms", 1, 1, 1, 200, 3, 3, 2 * time.Millisecond, all},
	{"many", "lock", "64 locks of one session at once", 1, 64, 64, 50, 3, 3, 0, all},
	{"handover", "lock", "hand-over among 16 sessions", 16, 1, 1, 80, 3, 4, 0, all},
	{"session", "lock", "16 contenders in one session", 1, 16, 1, 80, 3, 4, 0, all},
	{"resign", "election", "takeover after a resignation, time", 16, 1, 1, 6, 3, 4, 5 * time.Millisecond, all},
	{"crash", "crash", "takeover after a crash, time", 16, 1, 8, 0, 0, 0, 0, here},
	{"drain", "lock", "1,000 waiters of one session drain one lock", 1, 1001, 1, 0, 1, 1.001, 0, here},
	{"shared", "shared", "shared lock, 8 readers and 2 writers", 10, 1, 1, 80, 3, 7.4, 0, both},
	{"barrier", "barrier", "double barrier of 16", 16, 1, 1, 50, 5.125, 5.125, 0, both},
	{"queue11", "queue", "queue, 1 producer and 1 consumer", 2, 1, 1, 800, 4, 5, 0, jobs},
	{"pipeline", "pipeline", "1,000 creates without waiting, then their deletions", 1, 1, 1, 10, 2 * piped, 2 * piped, 0, "raw Troupe"},
	{"tree", "tree", "10,000 znodes until the first whole tree, time", 1, 1, 1, 8, 2 * (1 + branches + branches*onEach), 2*(1+branches+branches*onEach) + 3, 0, jobs},
	{"treechange", "treechange", "a change, until the tree has it, time", 1, 1, 1, 200, 2, 2, 0, jobs},
	{"treereconnect", "treereconnect", "10 changes of 10,000 znodes while the connection is down, then until the tree has them, time", 1, 1, 1, 4, 0, 0, 0, jobs},
	{"queue44", "queue", "queue, 4 producers and 4 consumers", 8, 1, 1, 200, 0, 0, 0, jobs},
}

// takeover reports whether a row's time is that from a release or a crash to the next possession.
func (r *row) takeover() bool { return r.kind == "election" || r.kind == "crash" }

// gapped reports whether a row's time is a mean gap: that of a takeover, or that of a lock alone.
func (r *row) gapped() bool { return r.takeover() || r.trees() }

// timeout is that of the sessions: long, so that few pings are counted, unless a session is to
// expire.
func (r *row) timeout() time.Duration {
	if r.kind == "crash" {
		return 800 * time.Millisecond
	}
	return 30 * time.Second
}

func (r *row) contenders() int { return r.sessions * r.each }

// units is how many cycles are measured in a turn.
func (r *row) units() float64 {
	if r.cycles == 0 {
		return float64(r.contenders() - r.paths)
	}
	if r.kind == "queue" { // an item is put and taken
		return float64(r.contenders() / 2 * r.cycles)
	}
	return float64(r.contenders() * r.cycles)
}

// shared reports whether a contender is a reader of a shared lock: all but two are.
func (r *row) shared(i int) bool { return r.kind == "shared" && i >= 2 }

// moment is an act of a contender, with its time by the participant's clock.
type moment struct {
	what byte
	i    int // the contender's index; of a queue, the item's number
	at   time.Duration
}

// The acts of a contender. A child sends these letters.
const (
	cut    = 'x' // the connections of the first on each path are cut
	comes  = 'c' // it asks for the lock, or arrives at the barrier; an item is to be put
	enters = 'e' // it holds, or is past the barrier; an item is taken
	leaves = 'l' // it begins to give back what it held, or to leave the barrier
	gone   = 'g' // it has given it back, or has left the barrier
	lost   = 'o' // it holds no longer, and knows that, at the moment when the next one enters
	failed = '!' // a call of the library ended with an error
)

// stats are derived from the moments. There is a violation if two hold at once and believe it, a
// party passes a barrier without the others, or an item of a queue is not delivered once.
type stats struct {
	gap                time.Duration // the mean, from a release or a crash to the next possession
	errors, violations int
}

// exclusive is a holder's weight; that of a reader is one.
const exclusive = 1000

func (r *row) examine(log []moment) (s stats) {
	if r.kind == "queue" {
		return delivered(log)
	}
	var came, left, gaps int
	var free time.Duration                       // when a holder last began to leave, or was cut off
	holding, right := make([]int, r.paths), true // the weights of the holders, by path
	for _, m := range log {
		path, weight := m.i%r.paths, exclusive
		if r.shared(m.i) {
			weight = 1
		}
		switch m.what {
		case failed:
			s.errors++
		case comes:
			came++
			if r.trees() {
				free = m.at
			}
		case cut:
			free = m.at
		case enters:
			if free != 0 {
				s.gap, gaps = s.gap+m.at-free, gaps+1
			}
			holding[path] += weight
			right = right && (r.kind == "barrier" || holding[path] <= exclusive)
			right = right && (r.kind != "barrier" || came%r.sessions == 0)
		case leaves:
			holding[path] -= weight
			free, left = m.at, left+1
		case gone:
			right = right && (r.kind != "barrier" || left%r.sessions == 0)
		case lost:
			holding[path] -= weight
		}
	}
	s.gap /= time.Duration(max(gaps, 1))
	if !right {
		s.violations = 1
	}
	return s
}
