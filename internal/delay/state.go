package delay

// State is where the gate stands.
type State int

// The states.
const (
	Open      State = iota // the contender is not first, or is not trusted
	Recording              // the token is being written into the record
	Lingering              // another's was found there; the delay runs
	Recorded               // the token is there: grants pass
)

var states = [...]string{Open: "Open", Recording: "Recording", Lingering: "Lingering", Recorded: "Recorded"}

// String names the state.
func (s State) String() string {
	if s < 0 || int(s) >= len(states) {
		return "unknown"
	}
	return states[s]
}

// Transition is a declared change of state. What is not declared leaves the state as it is.
type Transition struct {
	From State
	To   State
	Why  string
}

// Transitions lists every change of state that the gate may make in one step.
func Transitions() []Transition { return append([]Transition(nil), table...) }

var table = []Transition{
	{Open, Recording, "the contender is first"},
	{Recording, Lingering, "another's token is there: it has died"},
	{Recording, Recorded, "written"},
	{Lingering, Recording, "the delay is over: the other's token is replaced"},
	{Recording, Open, "the place is lost, given up, or of an epoch that is over"},
	{Lingering, Open, "the same, or a try is refused"},
	{Recorded, Open, "the possession is over, or the place is lost before there was one"},
}
