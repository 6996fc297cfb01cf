package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// Recovery is how long a workload needed to make progress after the last fault of a storm, at
// worst.
type Recovery struct {
	Work  string
	Worst float64 // seconds
}

// calm is a time without faults, from the healing of a storm's last one on.
type calm struct{ from, until int64 }

// meets reports whether two times overlap.
func (c calm) meets(o calm) bool { return o.from < c.until && o.until > c.from }

func calms(r Run) []calm {
	var all []calm
	for _, e := range r.Events {
		switch e.Kind {
		case history.CalmBegan:
			all = append(all, calm{from: e.At})
		case history.CalmEnded:
			all[len(all)-1].until = e.At
		}
	}
	return all
}

// Recoveries returns the recovery of each workload, over all storms.
func Recoveries(r Run) []Recovery {
	var all []Recovery
	for _, work := range r.Works {
		rec := Recovery{Work: work}
		for _, c := range calms(r) {
			rec.Worst = max(rec.Worst, seconds(firstMove(r, work, "", c)-c.from))
		}
		all = append(all, rec)
	}
	return all
}

// firstMove returns when a workload first moved in a calm, at one worker or, for "", at any; the
// calm's end if it did not.
func firstMove(r Run, work, worker string, c calm) int64 {
	for _, e := range r.Events {
		if e.Kind == history.Moved && e.Work == work && e.At >= c.from && (worker == "" || e.Party == worker) {
			return min(e.At, c.until)
		}
	}
	return c.until
}

// liveness finds workloads that do not move within Settle after the last fault of a storm.
func liveness(r Run) []Violation {
	var all []Violation
	for _, c := range calms(r) {
		if c.until-c.from < int64(r.Settle) {
			continue // it was cut short
		}
		told := false
		for _, work := range r.Works {
			at := firstMove(r, work, "", c)
			if at-c.from < int64(r.Settle) {
				continue
			}
			v := Violation{
				Check: "liveness", Thing: work, At: c.from,
				Text: fmt.Sprintf("nothing moved for %.1f s after the last fault", seconds(at-c.from)),
				More: standstill(r, work, c),
			}
			if !told {
				told = true
				v.More = append(v.More, workers(r, c)...)
			}
			all = append(all, v)
		}
	}
	return all
}

// instances finds instances of workloads that do not move in a whole calm. Liveness does not find
// them: a workload makes progress even if one of its instances waits in vain. An instance is no
// violation if
//
//   - its process did not live all the time,
//   - a possession of its workload was long, so that the instance may have waited for that, or
//   - the next holder is drawn by lot, and since the instance last moved fewer others have moved than
//     Lots says: it may be unlucky.
func instances(r Run) []Violation {
	var slots []history.Event
	type key struct{ work, party, slot string }
	moves := make(map[key][]int64)
	alive := make(map[string][]int64) // when a process wrote its level
	for _, e := range r.Events {
		switch {
		case e.Kind == history.Slot:
			slots = append(slots, e)
		case e.Kind == history.Moved && e.Thing != "":
			k := key{e.Work, e.Party, e.Thing}
			moves[k] = append(moves[k], e.At)
		case e.Kind == history.Level:
			alive[e.Party] = append(alive[e.Party], e.At)
		}
	}
	slow := holds(r)
	unlucky := func(s history.Event, until int64) bool {
		last, passed := s.At, 0
		for _, e := range r.Events {
			switch {
			case e.Kind != history.Moved || e.Work != s.Work || e.Thing == "" || e.At < s.At || e.At > until:
			case e.Party == s.Party && e.Thing == s.Thing:
				last, passed = e.At, 0
			case e.At > last:
				passed++
			}
		}
		return passed < r.Lots[s.Work]
	}
	within := func(times []int64, from, until int64) bool {
		return slices.ContainsFunc(times, func(at int64) bool { return at >= from && at <= until })
	}
	var all []Violation
	for _, c := range calms(r) {
		if c.until-c.from < int64(r.Settle) {
			continue // it was cut short
		}
		for _, s := range slots {
			lived := s.At < c.from && within(alive[s.Party], c.until-int64(r.Timeout), c.until)
			moved := within(moves[key{s.Work, s.Party, s.Thing}], c.from, c.until)
			excused := slices.ContainsFunc(slow[s.Work], c.meets) || unlucky(s, c.until)
			if lived && !moved && !excused {
				all = append(all, Violation{
					Check: "instance", Thing: s.Work, At: c.from,
					Text: fmt.Sprintf("instance %s of %s did not move in a calm of %.1f s", s.Thing, s.Party, seconds(c.until-c.from)),
				})
			}
		}
	}
	return all
}

// holds returns the times of those possessions of each workload that lasted for half a session's
// timeout, or longer.
func holds(r Run) map[string][]calm {
	type key struct {
		work, party string
		token       int64
	}
	spans := make(map[key]calm)
	for _, e := range r.Events {
		if e.Kind == history.Act && e.Thing == e.Work+"/line" {
			k := key{e.Work, e.Party, e.Token}
			if _, known := spans[k]; !known {
				spans[k] = calm{from: e.From}
			}
			spans[k] = calm{spans[k].from, e.At}
		}
	}
	all := make(map[string][]calm)
	for k, span := range spans {
		if span.until-span.from >= int64(r.Timeout)/2 {
			all[k.work] = append(all[k.work], span)
		}
	}
	return all
}

// workers describes all workers at a calm's end.
func workers(r Run, c calm) []string {
	var lines []string
	for _, e := range r.Events {
		if e.Kind == history.Standstill && e.Work == "" && e.At >= c.from && e.At <= c.until {
			lines = append(lines, e.Thing+" "+e.Value)
		}
	}
	return lines
}

// standstill describes the workers' last steps in a workload before a calm's end, and its znodes
// then.
func standstill(r Run, work string, c calm) []string {
	steps := make(map[string]history.Event) // by worker, over all its incarnations
	var znodes []string
	for _, e := range r.Events {
		switch {
		case e.Work != work || e.At > c.until:
		case e.Kind == history.Step:
			worker, _, _ := strings.Cut(e.Party, ".")
			steps[worker] = e
		case e.Kind == history.Standstill && e.At >= c.from:
			znodes = append(znodes, e.Thing+" "+e.Value)
		}
	}
	var lines []string
	for _, worker := range slices.Sorted(maps.Keys(steps)) {
		e := steps[worker]
		lines = append(lines, fmt.Sprintf("%s since %.3f: %s", e.Party, float64(e.At)/1e9, e.Value))
	}
	return append(lines, znodes...)
}
