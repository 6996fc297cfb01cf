package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/test/chaos/internal/check"
	"github.com/troupe-go/troupe/test/chaos/internal/faults"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// shown is how many violations are shown in full.
const shown = 20

// Report is the result of a run.
type Report struct {
	Settings   Settings            `json:"-"`
	Seed       uint64              `json:"seed"`
	Seconds    float64             `json:"seconds"`
	Faults     map[faults.Kind]int `json:"faults"`
	Skipped    int                 `json:"skipped"`
	Operations map[string]int      `json:"operations"` // by workload: calls that ended
	Calms      int                 `json:"calms"`
	Acts       int                 `json:"acts"`
	Epochs     int                 `json:"epochs"`   // of workers' sessions that have ended, but for each session's last
	Recovery   map[string]float64  `json:"recovery"` // by workload: worst, in seconds
	Deaths     []string            `json:"deaths,omitempty"`
	ByCheck    map[string]int      `json:"violationsByCheck,omitempty"`
	Violations []string            `json:"violations,omitempty"` // the first of them
	Diverged   string              `json:"diverged,omitempty"`   // the run was cut: ZooKeeper's servers disagree, or have forgotten something
	Count      int                 `json:"violationCount"`
}

func (r *Report) fill(run check.Run) {
	r.Seed, r.Seconds = r.Settings.Seed, r.Settings.Duration.Seconds()
	r.Operations, r.Recovery, r.ByCheck = map[string]int{}, map[string]float64{}, map[string]int{}
	for _, e := range run.Events {
		switch e.Kind {
		case history.Moved:
			r.Operations[e.Work]++
		case history.CalmBegan:
			r.Calms++
		case history.Act:
			r.Acts++
		case history.Epoch:
			r.Epochs++
		}
	}
	for _, rec := range check.Recoveries(run) {
		r.Recovery[rec.Work] = rec.Worst
	}
	violations := check.All(run)
	for _, d := range r.Deaths {
		violations = append(violations, check.Violation{Check: "deaths", Thing: "worker", Text: d})
	}
	if only := r.Settings.Only; only != nil {
		violations = slices.DeleteFunc(violations, func(v check.Violation) bool { return !slices.Contains(only, v.Check) })
	}
	r.Count = len(violations)
	for i, v := range violations {
		r.ByCheck[v.Check]++
		if i < shown {
			r.Violations = append(r.Violations, v.String())
		}
	}
}

// Line is the run in one line of a Markdown table.
func (r *Report) Line() string {
	sum, ops := 0, 0
	for _, n := range r.Faults {
		sum += n
	}
	for _, n := range r.Operations {
		ops += n
	}
	worst := 0.0
	for _, s := range r.Recovery {
		worst = max(worst, s)
	}
	return fmt.Sprintf("| %d | %.0f s | %d | %d | %d | %.1f s | %d |", r.Seed, r.Seconds, sum, ops, r.Acts, worst, r.Count)
}

// Head is the table's head.
const Head = "| seed | time | faults | operations | acts of holders | worst recovery | violations |\n|---:|---:|---:|---:|---:|---:|---:|"

// Print shows the run.
func (r *Report) Print(out io.Writer) {
	fmt.Fprintf(out, "seed %d\n", r.Seed)
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(out, "  %-14s %d\n", kind, r.Faults[kind])
	}
	for _, work := range slices.Sorted(maps.Keys(r.Recovery)) {
		fmt.Fprintf(out, "  %-14s %d operations, worst recovery %.1f s\n", work, r.Operations[work], r.Recovery[work])
	}
	for _, v := range r.Violations {
		fmt.Fprintln(out, "VIOLATION", v)
	}
	for _, check := range slices.Sorted(maps.Keys(r.ByCheck)) {
		fmt.Fprintf(out, "  %-14s %d violations\n", check, r.ByCheck[check])
	}
	if r.Diverged != "" {
		fmt.Fprintln(out, "the run is judged up to its last storm:", r.Diverged)
	}
	fmt.Fprintf(out, "  %d calms, %d epochs ended\n", r.Calms, r.Epochs)
	fmt.Fprintf(out, "%s\n%s\n", Head, r.Line())
}

// Append adds the run to a file, as one line of JSON.
func (r *Report) Append(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.TrimSpace(string(text)) + "\n")
	return errors.Join(err, f.Close())
}
