package protocol

import "github.com/troupe-go/troupe/machine"

// participant is what the machines of both roles have in common.
type participant struct {
	requests *requests
	root     Root
	presence *presence
	closing  bool
	stopped  bool
	moved    func(from, to Phase) // for tests
}

// move changes a transaction's phase.
func (p *participant) move(phase *Phase, to Phase) {
	if p.moved != nil && *phase != to {
		p.moved(*phase, to)
	}
	*phase = to
}

// windUp stops the machine when nothing is left to do. The presence is deleted first, so that no
// process takes this participant for a live one.
func (p *participant) windUp() {
	switch {
	case p.stopped || p.presence.state == leaving:
	case p.requests.Epoch() == 0 || p.presence.state == absent:
		p.stop(nil)
	default:
		p.presence.leave(func() { p.stop(nil) })
	}
}

func (p *participant) stop(err error) {
	if !p.stopped {
		p.stopped = true
		p.requests.Emit(machine.Stop{Err: err})
	}
}
