package consume

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// key says for what a request was made. It comes back with the answer.
type key struct {
	purpose purpose
	at      string // a path
	token   int64  // of a claim
}

type purpose int

const (
	preparing   purpose = iota + 1 // a znode that a queue always has
	registering                    // consumers/<guid> is made: see register
	listing
	reading
	claiming
	mending // claims/<bucket> is made again
	settling
	releasing // a claim whose item is gone
	resolving // whether a claim was carried out
	askingTime
	fetching // items that are to be moved
	tidying
	joining
	leaving
	watchingAhead // a consumer ahead in line
	watchingBell
	watchingConsumers
	watchingGate
	lingering // for half a second, as the second in line
	waiting   // for an item to be due
	avoiding  // of paths, for a minute
	pausing
)

// avoidedFor is how long a path is passed over that was refused, or has data that no queue has
// written, in milliseconds.
const avoidedFor = 60_000

var errForeign = errors.New("no queue has written this")

// base is what the parts of a machine share: its requests, and what is done about those that fail.
type base struct {
	machine.Requests[key]
	cfg        Config
	root       layout.Root
	registered bool // consumers/<guid> exists
	gate       gate
	closing    bool
	avoided    map[string]bool // paths that are passed over
	yields     bool            // a path was passed over: this consumer goes to the end of the line, since the next may have the right to it
	relist     bool            // another listing is wanted
	ensuring   int             // how many znodes are being made
	tries      int             // pauses in a row, after refusals
}

// once makes a request, unless the same one is under way.
func (b *base) once(r machine.Request, k key) {
	if !b.Pending(k) {
		b.Ask(r, k)
	}
}

// busy tells whether a request for one of these purposes is under way.
func (b *base) busy(all ...purpose) bool {
	return slices.ContainsFunc(all, func(p purpose) bool { return b.Pending(key{purpose: p}) })
}

// skip passes a path over for a minute, and reports that.
func (b *base) skip(path string, err error) {
	if b.avoided[path] {
		return
	}
	b.avoided[path], b.yields = true, true
	b.Emit(Skipped{Path: path, Err: err})
	b.once(machine.Wake{After: avoidedFor}, key{purpose: avoiding})
}

// refused reports a refusal that is in the way of every claim. Behind a pause everything is tried
// again: a right that was taken away may come back.
func (b *base) refused(path string, err error) {
	b.Emit(Skipped{Path: path, Err: err, Blocks: true})
	b.yields = true
	b.pause()
}

// tidy deletes what is empty for good. One such transaction is under way at a time.
func (b *base) tidy(ops ...machine.Op) {
	b.once(machine.Transact{Ops: ops}, key{purpose: tidying})
}

// ok tells whether a request was carried out for a znode that a queue always has. A request of
// unknown outcome is made again.
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

// pause has everything else wait a while.
func (b *base) pause() {
	b.tries++
	b.Ask(machine.Wake{Try: b.tries}, key{purpose: pausing})
}

// prepare makes the znodes that a queue always has, where they are missing.
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

// register makes the consumer's own znode. Its end tells the other consumers that the claims of
// this one have ended, too.
func (b *base) register() {
	op := machine.Op{Do: machine.Create, Path: b.root.Consumer(b.cfg.GUID), Data: b.cfg.Identity, Ephemeral: true}
	b.once(machine.Transact{Ops: []machine.Op{op}}, key{purpose: registering})
}

func (b *base) onRegistered(ev machine.Transacted) {
	// No other process makes this znode. While the machine closes, one of unknown outcome counts as
	// made: finish deletes it.
	there := ev.Code == machine.NodeExists || b.closing && ev.Code == machine.Unknown
	if there || b.ok(ev.Code, b.root.Consumers(), ev.Err) {
		b.registered, b.tries = true, 0
	}
}
