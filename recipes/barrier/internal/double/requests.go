package double

import "github.com/troupe-go/troupe/machine"

// requests are the pending requests. Each has a function that handles the answer.
type requests struct {
	machine.Requests[purpose]
	handlers [purposes]func(machine.Event)
}

// purpose is what a request is for. A new request for the same purpose replaces the one before.
type purpose int

const (
	none      purpose = iota
	step              // the answer that the state waits for
	ownRead           // a read of the own znode
	roundRead         // a read of the round
	purposes
)

// ask asks for the step that the state waits for.
func ask[E machine.Event](m *Machine, r machine.Request, handle func(E)) { askFor(m, step, r, handle) }

func askFor[E machine.Event](m *Machine, p purpose, r machine.Request, handle func(E)) {
	m.Ask(r, p)
	m.handlers[p] = func(ev machine.Event) { handle(ev.(E)) }
}
