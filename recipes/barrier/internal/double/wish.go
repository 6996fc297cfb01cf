package double

import "github.com/troupe-go/troupe/machine"

// What the face tells the machine. Claims and passages are numbered together; a number that was
// told before is ignored.
type (
	// Wanted: stand in a round, once. With Once the claim takes a refusal for an answer; without, a
	// refusal ends the instance.
	Wanted struct {
		Claim uint64
		Once  bool
	}
	// Withdrawn: the claim is not wanted any more.
	Withdrawn struct{ Claim uint64 }
	// Departed: the passage that came of the claim is over, given up or lost.
	Departed struct{ Claim uint64 }
	// Deferred: no possession could be made of [Enter] at this moment, and the claim is wanted
	// still.
	Deferred struct {
		Claim uint64
		Once  bool
	}
	// Followed: a passage of an earlier incarnation is over here, but its round perhaps not.
	Followed struct {
		Claim uint64
		Round int64
		Names []string
		Own   string // which of them it is
	}
)

// What the machine gives the application.
type (
	// Enter: the claim's party is in.
	Enter struct {
		Claim uint64
		Epoch uint64
		Round int64
		Path  string // of the party's znode
		Own   string // its name
		Token int64
		Names []string // of the parties' znodes, sorted
	}
	// End: somebody deleted the party's znode.
	End struct{ Claim uint64 }
	// Over: every party of the passage's round has departed or died.
	Over struct{ Claim uint64 }
	// Settle: the claim is refused.
	Settle struct {
		Claim uint64
		Err   error
	}
)

// EventName is what the table of transitions calls an event.
func EventName(ev machine.Event) string {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		return "EpochBegan"
	case machine.EpochEnded:
		return "EpochEnded"
	case machine.Suspended:
		return "Suspended"
	case machine.Resumed:
		return "Resumed"
	case machine.TrustEnded:
		return "TrustEnded"
	case machine.TrustGained:
		return "TrustGained"
	case machine.Listed:
		return "Listed"
	case machine.Seen:
		return "Seen"
	case machine.Transacted:
		return "Transacted"
	case machine.Ensured:
		return "Ensured"
	case machine.Removed:
		return "Removed"
	case machine.Fired:
		if ev.Change == machine.Deleted {
			return "Deleted"
		}
		return "Changed"
	case machine.Closing:
		return "Closing"
	}
	return wishName(ev)
}

func wishName(ev machine.Event) string {
	switch ev.(type) {
	case Wanted:
		return "Wanted"
	case Withdrawn:
		return "Withdrawn"
	case Departed:
		return "Departed"
	case Deferred:
		return "Deferred"
	case Followed:
		return "Followed"
	}
	return "?"
}
