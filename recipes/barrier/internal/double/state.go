package double

import "fmt"

// State is how far a party has come.
type State int

// The states of a party.
const (
	Out         State = iota // no epoch
	Idle                     // nothing is wanted
	Looking                  // looks which round is the newest
	Founding                 // makes the first one
	Sweeping                 // looks at an older one, and deletes what nobody is in
	Standing                 // its arrival is under way
	Finding                  // looks whether it has arrived
	Waiting                  // stands in the round, or reads whether it does
	Counting                 // lists the parties
	Deciding                 // the verdict that it wants is under way
	Ready                    // in; but for a possession the session is not trusted
	Inside                   // in
	Withdrawing              // gives its place up, unless the verdict is first
	Clearing                 // deletes its znode, and the round if it was the last
	Marking                  // says that somebody is out
	Tallying                 // reads how many are out
	Following                // reads its neighbour in the ring
	Leaving                  // waits for its neighbour's end
	Closing                  // deletes the round
)

var states = [...]string{
	"Out", "Idle", "Looking", "Founding", "Sweeping", "Standing", "Finding", "Waiting", "Counting", "Deciding", "Ready", "Inside",
	"Withdrawing", "Clearing", "Marking", "Tallying", "Following", "Leaving", "Closing",
}

// String is the state's name.
func (s State) String() string {
	if s < 0 || int(s) >= len(states) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return states[s]
}
