package machine

// Standing is where an instance stands.
type Standing struct {
	Phase Phase
	Ahead int  // contenders before the own one at the last look; those that conflict
	Stale bool // the connection is down, or trust is: what is said was true when last seen
}

// Phase is the coarse state that the application sees.
type Phase int

// The phases, in the order in which they mostly come.
const (
	Idle        Phase = iota // nothing is wanted
	Offering                 // wanted; the own znode is being made, or there is no epoch to make it in
	Determining              // the znode stands; its place is being looked up
	Waiting                  // somebody is ahead, and watched
	Holding                  // the thing is held
)

var phases = [...]string{Idle: "idle", Offering: "offering", Determining: "determining", Waiting: "waiting", Holding: "holding"}

// String names the phase as the live tree and the golden traces show it.
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phases) {
		return "unknown"
	}
	return phases[p]
}
