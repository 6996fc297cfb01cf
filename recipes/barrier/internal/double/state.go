package double

import "fmt"

// State is the progress of a party.
type State int

// The states of a party.
const (
	NoEpoch            State = iota
	Idle                     // nothing is wanted
	Looking                  // looks for the newest round
	Creating                 // creates a round
	Cleaning                 // looks at older rounds: deletes those without parties, and waits for one that its id is in
	Arriving                 // creates its znode
	Resolving                // reads whether it has arrived, because the reply was lost
	Waiting                  // has arrived, or reads whether it has
	Counting                 // lists the parties
	Deciding                 // writes a verdict
	Ready                    // a member of the round; but the session is not trusted
	Member                   // a member of the round, with a passage
	Withdrawing              // deletes its znode, unless the verdict is first
	Removing                 // deletes its znode, and the round if it was the last party
	Departing                // records a departure
	CountingDepartures       // reads how many have departed
	Watching                 // reads its neighbour in the ring
	Leaving                  // waits for its neighbour's end
	Deleting                 // deletes the round
)

var states = [...]string{
	"NoEpoch", "Idle", "Looking", "Creating", "Cleaning", "Arriving", "Resolving", "Waiting", "Counting", "Deciding", "Ready", "Inside",
	"Withdrawing", "Removing", "Departing", "CountingDepartures", "Watching", "Leaving", "Deleting",
}

// String is the state's name.
func (s State) String() string {
	if s < 0 || int(s) >= len(states) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return states[s]
}
