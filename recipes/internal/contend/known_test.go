package contend_test

// What a machine may know in each of its states. Every step of every schedule is checked.

import (
	"strings"

	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// The own znode may be known to exist in any way: it is being read, or nothing depends on it.
const anyProof = "unproven told watched"

// combinations are what may be known of those ahead, with how the own znode may be known to exist.
// One that would have led to the next state is missing.
var combinations = map[contend.State]map[string]string{
	contend.Out:      {"unknown": "unproven"},
	contend.Idle:     {"unknown": "unproven"},
	contend.Entering: {"unknown": "unproven"},
	contend.Reading:  {"unknown": "unproven"},
	contend.Watching: {"unknown": "unproven"},
	contend.Listing:  {"unknown": anyProof},
	contend.Ordering: {"unknown": anyProof},
	contend.Checking: {"unknown": anyProof, "some": anyProof, "only": anyProof, "none": "unproven", "released": "unproven told", "marked": "unproven"},
	contend.Waiting:  {"some": "told watched", "only": "watched"},
	contend.Marking:  {"unknown": anyProof, "some": anyProof},
	contend.Ready:    {"none": "told watched", "released": "watched", "marked": anyProof}, // a mark that was overwritten is made again
	// A holder's watch may have fired: it is being set again.
	contend.Holding:     {"none": anyProof, "released": anyProof, "marked": anyProof},
	contend.Downgrading: {"none": anyProof, "released": anyProof},
	// Nothing is decided any more.
	contend.Leaving: {"unknown": anyProof, "some": anyProof, "only": anyProof, "none": anyProof, "released": anyProof, "marked": anyProof},
}

// ofSingle are further ones of a machine with a single znode: no contender is ahead of the one that
// made it, and it is read before a grant, since it may be another client's by then.
var ofSingle = map[contend.State]map[string]string{
	contend.Checking: {"none": anyProof},
	contend.Ready:    {"none": anyProof},
}

func (i *instance) checkKnown() {
	state := i.m.State()
	ahead, proof := i.m.Known()
	if strings.Contains(combinations[state][ahead], proof) || i.sim.rule == single && strings.Contains(ofSingle[state][ahead], proof) {
		return
	}
	i.sim.Failf("#%d is %v, and what is known is: ahead %s, own znode %s", i.id, state, ahead, proof)
}
