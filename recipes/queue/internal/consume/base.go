package consume

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// key tells what a request was for.
type key struct {
	purpose purpose
	at      string // a path
	token   int64  // of a claim
}

type purpose int

const (
	preparing   purpose = iota + 1 // a znode that a queue always has
	registering                    // consumers/<guid>
	listing
	reading
	claiming
	mending // claims/<bucket>
	settling
	releasing // the claim on what is gone
	resolving // whether a claim was carried out
	askingTime
	fetching // what is to be moved
	tidying
	joining
	leaving
	watchingAhead // a consumer ahead in line
	watchingBell
	watchingConsumers
	lingering // half a second, as second
	waiting   // for something to be due
	avoiding  // for a minute
	pausing
)

// avoids is how long something is passed over that was refused or makes no sense, in milliseconds.
const avoids = 60_000

var errForeign = errors.New("no queue has written this")

// base is what the parts of a machine share: its requests, and what is done about those that fail.
type base struct {
	machine.Requests[key]
	cfg        Config
	root       layout.Root
	registered bool // consumers/<guid> stands
	closing    bool
	avoided    map[string]bool // paths that are passed over
	yields     bool            // something was passed over: it goes to the end of the line, since the next may be allowed to take that
	relist     bool            // another listing is wanted
	ensuring   int             // how many znodes are being made
	tries      int             // of what was refused
}

// once asks unless that is being asked.
func (b *base) once(r machine.Request, k key) {
	if !b.Pending(k) {
		b.Ask(r, k)
	}
}

func (b *base) busy(all ...purpose) bool {
	for _, p := range all {
		if b.Pending(key{purpose: p}) {
			return true
		}
	}
	return false
}

// skip reports what is passed over for a minute.
func (b *base) skip(path string, err error) {
	if b.avoided[path] {
		return
	}
	b.avoided[path], b.yields = true, true
	b.Emit(Skipped{Path: path, Err: err})
	b.once(machine.Wake{After: avoids}, key{purpose: avoiding})
}

// refused reports what is in the way of everything, and waits before it is tried again: a right
// that was taken away may come back.
func (b *base) refused(path string, err error) {
	b.Emit(Skipped{Path: path, Err: err, Blocks: true})
	b.yields = true
	b.pause()
}

// tidy deletes what is empty for good, a bucket at a time.
func (b *base) tidy(ops ...machine.Op) {
	b.once(machine.Transact{Ops: ops}, key{purpose: tidying})
}

// ok tells whether a request for something that a queue always has was carried out. One of unknown
// outcome is sent again.
func (b *base) ok(code machine.Code, path string, err error) bool {
	switch code {
	case machine.Done, machine.Unknown:
	case machine.NoNode:
		b.prepare()
	default:
		b.refused(path, err)
	}
	return code == machine.Done
}

// pause waits a while before anything else is asked.
func (b *base) pause() {
	b.tries++
	b.Ask(machine.Wake{Try: b.tries}, key{purpose: pausing})
}

// prepare makes what is missing of the znodes that a queue always has.
func (b *base) prepare() {
	r := b.root
	for _, path := range []string{r.Items(), r.Claims(), r.Later(), r.Line(), r.Bell(), r.Consumers()} {
		if k := (key{purpose: preparing, at: path}); !b.Pending(k) {
			b.ensuring++
			b.Ask(machine.Ensure{Path: path}, k)
		}
	}
}

func (b *base) onPrepared(path string, ev machine.Ensured) {
	if b.ensuring--; ev.Code != machine.Done {
		b.refused(path, ev.Err)
	}
}

// register makes the znode whose end tells the others that this consumer's claims have ended, too.
func (b *base) register() {
	op := machine.Op{Do: machine.Create, Path: b.root.Consumer(b.cfg.GUID), Data: b.cfg.Identity, Ephemeral: true}
	b.once(machine.Transact{Ops: []machine.Op{op}}, key{purpose: registering})
}

func (b *base) onRegistered(ev machine.Transacted) {
	// Nobody else makes it. While it closes an unknown one counts as made: finish deletes it.
	there := ev.Code == machine.NodeExists || b.closing && ev.Code == machine.Unknown
	if there || b.ok(ev.Code, b.root.Consumers(), ev.Err) {
		b.registered, b.tries = true, 0
	}
}
