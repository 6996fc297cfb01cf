package contend

import "github.com/troupe-go/troupe/internal/machine"

// EventName names an event as the transition table and the golden traces do.
func EventName(ev machine.Event) string {
	switch ev := ev.(type) {
	case machine.Wanted:
		return "Wanted"
	case machine.Withdrawn:
		return "Withdrawn"
	case machine.Released:
		return "Released"
	case machine.HoldEnded:
		return "HoldEnded"
	case machine.Deferred:
		return "Deferred"
	case machine.Downgraded:
		return "Downgraded"
	case machine.EpochBegan:
		return "EpochBegan"
	case machine.EpochEnded:
		return "EpochEnded"
	case machine.TrustEnded:
		return "TrustEnded"
	case machine.TrustGained:
		return "TrustGained"
	case machine.Suspended:
		return "Suspended"
	case machine.Resumed:
		return "Resumed"
	case machine.Joined:
		return "Joined"
	case machine.Listed:
		return "Listed"
	case machine.Seen:
		return "Seen"
	case machine.Left:
		return "Left"
	case machine.Exchanged:
		return "Exchanged"
	case machine.Written:
		return "Written"
	case machine.Fired:
		switch {
		case ev.Deleted:
			return "Deleted"
		case ev.Children:
			return "Crowd"
		}
		return "Changed"
	case machine.Recovered:
		return "Recovered"
	case machine.Woke:
		return "Woke"
	}
	return "unknown"
}
