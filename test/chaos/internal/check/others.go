package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// barriers finds waits that passed a barrier which was up, for certain, from before their call
// until after their return.
func barriers(r Run) []Violation {
	type raised struct{ from, until int64 }
	var up []raised
	var passed []history.Event
	lowering := false // a call may still be under way
	for _, e := range r.Events {
		if e.Work == "barrier" && e.Kind == history.Wrote && e.Value == history.Down {
			lowering = !e.Done
		}
		switch {
		case e.Work != "barrier":
		case e.Kind == history.Read:
			passed = append(passed, e)
		case e.Kind == history.Wrote && e.Value == history.Down && len(up) > 0 && up[len(up)-1].until == 0:
			up[len(up)-1].until = e.From // the first that may have lowered it
		case e.Kind == history.Wrote && e.Value == history.Up && e.Done && !lowering && (len(up) == 0 || up[len(up)-1].until != 0):
			up = append(up, raised{from: e.At})
		}
	}
	var all []Violation
	for _, p := range passed {
		for _, u := range up {
			if u.from < p.From && (u.until == 0 || p.At < u.until) {
				all = append(all, Violation{
					Check: "barrier", Thing: p.Thing, At: p.At,
					Text: fmt.Sprintf("%s waited from %.6f, and passed while it was up since %.6f", p.Party, seconds(p.From), seconds(u.from)),
				})
			}
		}
	}
	return all
}

// rounds finds members of a round that got different results, and those that left it while another
// one acted inside.
func rounds(r Run) []Violation {
	verdicts := make(map[string]history.Event)
	acts := make(map[string][]history.Event) // by round
	others := outside(r)
	for _, e := range r.Events {
		if e.Kind != history.Act || e.Work != "double" {
			continue
		}
		if counts, known := others.decide(e); counts && known == 0 {
			acts[e.Thing] = append(acts[e.Thing], e)
		}
	}
	var all []Violation
	for _, e := range r.Events {
		found := func(format string, args ...any) {
			all = append(all, Violation{Check: "round", Thing: e.Thing, At: e.At, Text: fmt.Sprintf(format, args...)})
		}
		switch e.Kind {
		case history.Round:
			members := strings.Fields(e.Value)
			if v, ok := verdicts[e.Thing]; ok && v.Value != e.Value {
				found("%s was told of %q, and %s of %q", v.Party, v.Value, e.Party, e.Value)
			}
			if !slices.Contains(members, e.Party) {
				found("%s is in it, and was told of %q", e.Party, e.Value)
			}
			if int64(len(members)) != e.Weight {
				found("%s entered with %d parties of %d", e.Party, len(members), e.Weight)
			}
			verdicts[e.Thing] = e
		case history.Left:
			for _, a := range acts[e.Thing] {
				if a.From > e.At {
					found("%s was told at %.6f that it is over, and %s was inside at %.6f", e.Party, seconds(e.At), a.Party, seconds(a.From))
					break
				}
			}
		}
	}
	return all
}

// outcomes finds transactions with different outcomes, and those that were committed against a
// vote.
func outcomes(r Run) []Violation {
	told := make(map[string]history.Event)
	against := make(map[string]history.Event)
	var all []Violation
	for _, e := range r.Events {
		switch {
		case e.Kind != history.Outcome || e.Mode == history.Confirmed:
		case e.Mode == history.Vote:
			if e.Value == "abort" {
				against[e.Thing] = e
			}
		default:
			if t, ok := told[e.Thing]; ok && t.Value != e.Value {
				all = append(all, Violation{
					Check: "outcome", Thing: e.Thing, At: e.At,
					Text: fmt.Sprintf("%s at %s at %.6f, and %s at %s at %.6f", t.Value, t.Party, seconds(t.At), e.Value, e.Party, seconds(e.At)),
				})
			}
			told[e.Thing] = e
		}
	}
	for id, vote := range against {
		if told[id].Value == "committed" {
			all = append(all, Violation{Check: "outcome", Thing: id, At: vote.At, Text: "committed, and " + vote.Party + " had voted against it"})
		}
	}
	return all
}

// delays finds possessions that came too soon after one that its holder had not given up.
func delays(r Run) []Violation {
	given := make(map[string]bool) // by thing, party and token
	key := func(thing, party string, token int64) string { return fmt.Sprint(thing, party, token) }
	for _, e := range r.Events {
		if e.Kind == history.Over && e.Value == history.GivenUp {
			given[key(e.Thing, e.Party, e.Token)] = true
		}
	}
	var all []Violation
	things := possessions(r)
	for thing, rest := range r.Delay {
		var before *possession
		for _, p := range things[thing] {
			if before != nil && !given[key(thing, before.party, before.token)] && p.first.At-before.last.From < int64(rest) {
				all = append(all, Violation{
					Check: "delay", Thing: thing, At: p.first.At,
					Text: fmt.Sprintf("%v, and %v after %.3f s", before, p, seconds(p.first.At-before.last.From)),
				})
			}
			before = p
		}
	}
	return all
}

// A process's level may differ by so much from one calm to a later one, and so many goroutines may
// be left when its session is closed.
const (
	moreGoroutines = 100
	moreBytes      = 64 << 20
	leftGoroutines = 12
)

// levels finds processes whose goroutines or memory grow from calm to calm, and those that leave
// goroutines.
func levels(r Run) []Violation {
	var all []Violation
	first := make(map[string]history.Event)
	quiet := calms(r)
	for _, e := range r.Events {
		if e.Kind != history.Level {
			continue
		}
		found := func(what string, n, before int64) {
			all = append(all, Violation{Check: "level", Thing: e.Party, At: e.At, Text: fmt.Sprintf("%d %s, after %d", n, what, before)})
		}
		if e.Value == "end" {
			if e.Token > leftGoroutines {
				found("goroutines are left", e.Token, first[e.Party].Token)
			}
			continue
		}
		if !slices.ContainsFunc(quiet, func(c calm) bool { return e.At > c.from+(c.until-c.from)/2 && e.At < c.until }) {
			continue
		}
		f, ok := first[e.Party]
		switch {
		case !ok:
			first[e.Party] = e
		case e.Token > f.Token*3/2+moreGoroutines:
			found("goroutines", e.Token, f.Token)
		case e.Weight > 2*f.Weight+moreBytes:
			found("bytes in use", e.Weight, f.Weight)
		}
	}
	return all
}
