package consume

import "github.com/troupe-go/troupe/machine"

// gate is whether items may be claimed. It is shut while an operator has paused the queue, and as
// long as that is not known: at the beginning of an epoch, and from a change on until it was read.
// A claim checks the version of what was read, so none comes behind a pause.
type gate struct {
	watched bool // the data of claims/ were read, and are watched
	open    bool // and the queue is not paused
	version int32
}

// watchGate reads whether the queue is paused, and arms the watch, unless it is armed.
func (b *base) watchGate() {
	if !b.gate.watched && !b.closing {
		b.once(machine.Read{Path: b.root.Claims(), Watch: true}, key{purpose: watchingGate})
	}
}

func (b *base) onGate(ev machine.Seen) {
	watched := b.ok(ev.Code, ev.Path, ev.Err) && ev.Exists
	b.gate = gate{watched, watched && len(ev.Data) == 0, ev.Stat.Version}
	switch {
	case ev.Code == machine.Done && !watched: // a missing znode is not watched
		b.prepare()
	case watched:
		b.Emit(Pause{On: !b.gate.open})
	}
}
