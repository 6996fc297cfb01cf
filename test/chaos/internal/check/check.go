package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// Violation is a breach of a promise.
type Violation struct {
	Check string // the check that found it
	Thing string
	Text  string
	At    int64    // by the histories' clock
	More  []string // explanations, a line each
}

func (v Violation) String() string {
	head := fmt.Sprintf("%s: %s at %.3f: %s", v.Check, v.Thing, float64(v.At)/1e9, v.Text)
	return strings.Join(append([]string{head}, v.More...), "\n    ")
}

// Settings are the settings of a run that checks need.
type Settings struct {
	Timeout time.Duration // of the sessions
	Works   []string      // the workloads
	Workers int           // how many workers run at the end
	Settle  time.Duration // after the last fault: by then all workloads must make progress

	// By thing.
	Permits  map[string]int64         // of semaphores
	Capacity map[string]int           // of bounded queues
	Delay    map[string]time.Duration // how long a lock stays free after a holder that died
	Lots     map[string]int           // where the next candidate is drawn by lot: how many others may go before one
}

// Run is a whole run's history.
type Run struct {
	Settings
	Events []history.Event // in the order of their times
}

// Checked returns the events to check: if the servers came to disagree, those before the storm in
// which that happened, without those of items in queues, since the fate of items that were under
// way cannot be known.
func Checked(events []history.Event) []history.Event {
	diverged := slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.Diverged })
	if !diverged {
		return events
	}
	end := 0
	for i, e := range events {
		if e.Kind == history.StormBegan {
			end = i
		}
	}
	return slices.DeleteFunc(slices.Clone(events[:end]), func(e history.Event) bool {
		return e.Kind == history.Put || e.Kind == history.Got || e.Kind == history.Acked
	})
}

// All runs every check.
func All(r Run) []Violation {
	var all []Violation
	for _, check := range []func(Run) []Violation{
		failures, overlaps, tokens, lockHistory, liveness, cells("register"), cells("config"), cells("naming"), queues,
		barriers, rounds, outcomes, delays, levels, instances, twice, lateCommits, decidedTwice,
	} {
		all = append(all, check(r)...)
	}
	slices.SortStableFunc(all, func(a, b Violation) int { return int(min(max(a.At-b.At, -1), 1)) })
	return all
}

// failures finds the errors that are not documented for users.
func failures(r Run) []Violation {
	var all []Violation
	for _, e := range r.Events {
		if e.Kind == history.Failed {
			all = append(all, Violation{Check: "errors", Thing: e.Work + " " + e.Thing, Text: e.Party + ": " + e.Value, At: e.At})
		}
	}
	return all
}
