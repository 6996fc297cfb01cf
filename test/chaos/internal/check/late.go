package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// Writes that a server carries out long after they were sent, and their effects.

// rivalry is the time after a rival has ended a session, or tried to, in which such writes of the
// session's owner are no violation: the rival moves the session to any server, also to one at which
// such writes wait.
const rivalry = 10 * time.Second

// expiredBy reports whether a rival has tried to end a worker's session, or any session if the
// worker is "", between two times.
func expiredBy(r Run, worker string, from, until int64) bool {
	for _, e := range r.Events {
		if e.Kind == history.Expired && (worker == "" || e.Party == worker) && e.From <= until && e.At >= from {
			return true
		}
	}
	return false
}

// twice finds contenders that had two znodes in a queue at one time.
func twice(r Run) []Violation {
	var all []Violation
	found := make(map[[2]string]bool) // by queue and GUID: each server may have shown the contender
	for _, e := range r.Events {
		if key := [2]string{e.Thing, e.Value}; e.Kind == history.Twice && !found[key] && !expiredBy(r, "", e.At-int64(rivalry), e.At) {
			found[key] = true
			all = append(all, Violation{Check: "twice", Thing: e.Thing, At: e.At, Text: "two contenders with the GUID " + e.Value})
		}
	}
	return all
}

// lateCommits finds commits of unknown outcome whose znode one read did not find, and a later read
// did.
func lateCommits(r Run) []Violation {
	missing := make(map[string]history.Event)
	var all []Violation
	for _, e := range r.Events {
		if e.Kind != history.Read || e.Work != "commit" {
			continue
		}
		m, ok := missing[e.Thing]
		worker, _, _ := strings.Cut(e.Party, ".")
		switch {
		case e.Value == history.Missing && !ok:
			missing[e.Thing] = e
		case e.Value == history.There && ok && m.At < e.From && !expiredBy(r, worker, m.From-int64(rivalry), e.At):
			all = append(all, Violation{
				Check: "late", Thing: e.Thing, At: e.At,
				Text: fmt.Sprintf("missing for %s at %.6f, and there at %.6f", e.Party, seconds(m.At), seconds(e.From)),
			})
			delete(missing, e.Thing)
		}
	}
	return all
}

// decidedTwice finds transactions that were delivered to a site again after it had acknowledged the
// outcome.
func decidedTwice(r Run) []Violation {
	acked := make(map[[2]string]history.Event) // by transaction and site
	var all []Violation
	for _, e := range r.Events {
		if e.Kind != history.Outcome {
			continue
		}
		key := [2]string{e.Thing, e.Party}
		a, ok := acked[key]
		switch {
		case e.Mode == history.Confirmed && !ok:
			acked[key] = e
		case e.Mode == "" && ok && e.From > a.At:
			all = append(all, Violation{
				Check: "outcome", Thing: e.Thing, At: e.At,
				Text: fmt.Sprintf("%s acknowledged it at %.6f, and was told of it again at %.6f", e.Party, seconds(a.At), seconds(e.From)),
			})
		}
	}
	return all
}
