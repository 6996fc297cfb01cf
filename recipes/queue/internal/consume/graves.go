package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// graves is the queue of the dead letters.
type graves struct {
	*wire
	at      layout.Root
	most    int // attempts; 0: any number
	tail    *tail.Tail
	refused bool // for a while: they cannot be written
	times   int  // how often one after the other
}

func newGraves(w *wire, cfg Config) graves {
	return graves{wire: w, at: cfg.Dead, most: cfg.Attempts, tail: tail.New(cfg.Dead, tail.Usual)}
}

// spent tells whether an item is a dead letter after so many attempts.
func (g *graves) spent(attempts int) bool { return g.most > 0 && attempts >= g.most }

// fate is what becomes of an item in the next transaction.
type fate int

const (
	stays   fate = iota
	timed        // it goes back once the time is known
	ends         // it is done with
	dies         // it becomes a dead letter
	returns      // it goes back
)

func (g *graves) fate(i *item) fate {
	attempts := i.attempts()
	if i.how == Nack {
		attempts++
	}
	switch {
	case i.how == Ack:
		return ends
	case i.how != Return && g.spent(attempts) && !g.refused:
		if !g.tail.Known() {
			return stays
		}
		return dies
	case i.how == 0:
		return stays
	case i.after > 0 && i.due == 0:
		return timed
	}
	return returns
}

// letter is an item as a dead letter.
func letter(i *item) tail.Addition {
	return tail.Addition{
		Lane:  place.Lane{Priority: i.claim.Bucket.Lane.Priority},
		Head:  layout.Znode{GUID: i.claim.znode.Item(i.index), Count: 1}.Head(),
		Data:  layout.Pack([]layout.Record{i.record}),
		Items: 1,
	}
}

// dig asks for what has to be known of the dead letters, if there are any to write.
func (g *graves) dig(claims []*claim) {
	if g.most == 0 || g.refused || g.tail.Known() || g.Pending(key{preparing, g.at.Work()}) {
		return
	}
	for _, c := range claims {
		for _, i := range c.items {
			if i.how == Nack && g.spent(i.attempts()+1) || i.how == 0 && g.spent(i.attempts()) {
				g.once(machine.List{Path: g.at.Work()}, key{purpose: digging})
				return
			}
		}
	}
}

func (g *graves) onDug(ev machine.Listed) {
	switch ev.Code {
	case machine.Done:
		g.tail.Listed(ev.Names)
	case machine.NoNode:
		g.make()
	default:
		g.grieve(ev.Err)
	}
}

func (g *graves) make() {
	g.once(machine.Ensure{Path: g.at.Work()}, key{preparing, g.at.Work()})
}

// grieve: dead letters cannot be written for a while. What should become one stays, and others go
// on.
func (g *graves) grieve(err error) {
	g.refused = true
	g.times++
	g.tail.Forget()
	g.Emit(Skipped{Path: string(g.at), Err: err})
	g.Ask(machine.Wake{Try: g.times}, key{purpose: grieving})
}

// buried takes in that a part of a transaction was carried out.
func (g *graves) buried(p tail.Part, r machine.Result) {
	g.tail.Done(p, r)
	g.times = 0
}

// failed: a transaction failed for an operation on the dead letters.
func (g *graves) failed(p tail.Part, ev machine.Transacted) {
	switch {
	case ev.Code == machine.Refused:
		g.grieve(ev.Err)
	case g.tail.Failed(p, ev.Code):
		g.tail.Forget()
		g.make()
	}
}
