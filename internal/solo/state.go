package solo

// State is where the machine stands.
type State int

// The states of a machine.
const (
	Out       State = iota // no epoch: nothing can be asked of ZooKeeper
	Idle                   // no claim and no znode
	Creating               // the znode is being created
	Looking                // somebody's znode is there; it is being read and watched
	Waiting                // it is watched
	Verifying              // an own znode stands, as far as is known; it is being read
	Ready                  // the own znode stands, but the session is not trusted
	Holding                // a possession was granted
	Leaving                // the own znode is being deleted
)

var states = [...]string{
	Out: "Out", Idle: "Idle", Creating: "Creating", Looking: "Looking", Waiting: "Waiting",
	Verifying: "Verifying", Ready: "Ready", Holding: "Holding", Leaving: "Leaving",
}

// String names the state.
func (s State) String() string {
	if s < 0 || int(s) >= len(states) {
		return "unknown"
	}
	return states[s]
}

// placed: an own znode stands and is not being deleted.
func (s State) placed() bool { return s >= Verifying && s <= Holding }
