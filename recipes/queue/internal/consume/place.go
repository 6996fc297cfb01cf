package consume

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

const headStart = 500 // milliseconds that the second in line leaves a ring to the first

// place is the own place in line. The two places ahead are watched: as they go, the consumer moves
// up; it lists line/ again only if one of the two is no consumer's znode.
//
// The first and the second arm the bell and consumers/ before the listing after which they sleep:
// an item that becomes free behind that listing rings.
type place struct {
	base           *base
	path           string          // of the own place; "": none
	doubt          bool            // the answer to joining was lost: the next listing shows whether there is a place
	known          bool            // a listing has shown the places ahead
	ahead          []string        // paths of the two places ahead, the nearest last
	watched        map[string]bool // those of ahead that are watched
	turn           turn            // of the first and the second
	bellArmed      bool            // the bell is watched, with or without a place
	consumersArmed bool            // the children of consumers/ are watched, likewise
}

// turn is what the first or the second in line does next.
type turn int

const (
	arms   turn = iota // it has come to its place, and arms; then the first lists, and the second lingers
	rung               // the first lists at once, and arms if it has found nothing
	waited             // the second has lingered: it arms what has fired, and lists
	quiet              // it sleeps until a watch fires, or the second has lingered
)

// left forgets the place, after its deletion or because nothing is known about it.
func (p *place) left() {
	for _, path := range p.ahead {
		if p.watched[path] {
			p.base.Requests.Emit(machine.Unwatch{Epoch: p.base.Requests.Epoch(), Path: path})
		}
		p.base.Requests.Forget(key{purpose: watchingAhead, at: path})
	}
	p.base.Requests.Cancel(key{purpose: lingering})
	*p = place{base: p.base, bellArmed: p.bellArmed, consumersArmed: p.consumersArmed}
}

// joined takes in a new place. The next listing shows the places ahead.
func (p *place) joined(path string) {
	p.left()
	p.path = path
}

// join is the operation that makes a place.
func (p *place) join() machine.Op {
	return machine.Op{Do: machine.Create, Path: znode.Join(p.base.root.Line(), p.base.cfg.GUID+"-"), Ephemeral: true, Sequential: true}
}

// listens tells whether the place is one of the first two, which list when the bell rings.
func (p *place) listens() bool { return p.known && len(p.ahead) < 2 }

// take makes a place, at the end of the line. An old one is deleted in the same transaction.
func (p *place) take() {
	ops := []machine.Op{p.join()}
	if p.path != "" {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: p.path, Version: machine.Any})
	}
	p.base.Requests.Ask(machine.Transact{Ops: ops}, key{purpose: joining})
}

func (p *place) onJoined(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Done:
		p.joined(ev.Results[0].Path)
	case ev.Code == machine.Unknown:
		p.doubt = true
	case ev.Failed == 1 && ev.Code == machine.NoNode:
		p.left()
	default:
		p.base.ok(ev.Code, p.base.root.Line(), ev.Err)
	}
}

// listed takes in a listing of the line.
func (p *place) listed(names []string) {
	path, before := "", -1
	if n := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, p.base.cfg.GUID+"-") }); n >= 0 {
		path = znode.Join(p.base.root.Line(), names[n])
	}
	if path != p.path {
		p.left() // another client has deleted it: perhaps the second, which took this consumer for hung
		p.path = path
	}
	if p.known {
		before = len(p.ahead)
	}
	p.known, p.doubt, p.ahead = true, false, nil
	_, own, placed := znode.Sequence(path)
	var numbers []int32
	paths := make(map[int32]string)
	for _, name := range names {
		at := znode.Join(p.base.root.Line(), name)
		if _, n, ok := znode.Sequence(name); ok && placed && znode.CompareSeq(n, own) < 0 && !p.base.avoided[at] {
			numbers, paths[n] = append(numbers, n), at
		}
	}
	slices.SortFunc(numbers, znode.CompareSeq)
	for _, n := range numbers[max(len(numbers)-2, 0):] {
		p.ahead = append(p.ahead, paths[n])
	}
	if len(p.ahead) != before {
		p.advanced()
	}
}

func (p *place) armed() bool { return p.bellArmed && p.consumersArmed }

// arm arms the watches that have fired.
func (p *place) arm() {
	if !p.bellArmed {
		p.base.once(machine.Read{Path: p.base.root.Bell(), Watch: true}, key{purpose: watchingBell})
	}
	if !p.consumersArmed {
		p.base.once(machine.List{Path: p.base.root.Consumers(), Watch: true}, key{purpose: watchingConsumers})
	}
}

func (p *place) onBell(ev machine.Seen) {
	p.bellArmed = p.base.ok(ev.Code, ev.Path, ev.Err) && ev.Exists
	if ev.Code == machine.Done && !ev.Exists { // a missing bell is not watched
		p.base.prepare()
	}
}

// onConsumers takes in the consumers that live. If the own name is missing, the others would not
// hear of the end of this one.
func (p *place) onConsumers(ev machine.Listed) {
	if p.consumersArmed = p.base.ok(ev.Code, ev.Path, ev.Err); p.consumersArmed {
		p.base.registered = slices.Contains(ev.Names, p.base.cfg.GUID)
	}
}

func (p *place) onFired(path string) {
	bell := path == p.base.root.Bell()
	switch {
	case bell:
		p.bellArmed = false
	case path == p.base.root.Consumers():
		p.consumersArmed = false
	default: // a place ahead
		if n := slices.Index(p.ahead, path); n >= 0 {
			p.ahead = slices.Delete(p.ahead, n, n+1)
			delete(p.watched, path)
			p.advanced()
		}
		return
	}
	switch {
	case p.path == "" || !p.listens():
	case len(p.ahead) == 1:
		p.linger()
	case bell:
		p.turn = rung
	default:
		p.turn = arms
	}
}

func (p *place) advanced() {
	p.turn = arms
	p.base.Requests.Cancel(key{purpose: lingering})
}

// follow watches the places ahead, and tells whether all of them are watched.
func (p *place) follow() bool {
	for _, path := range p.ahead {
		if !p.watched[path] {
			p.base.once(machine.Read{Path: path, Watch: true}, key{purpose: watchingAhead, at: path})
		}
	}
	return !slices.ContainsFunc(p.ahead, func(path string) bool { return !p.watched[path] })
}

func (p *place) onAhead(ev machine.Seen) {
	switch {
	case ev.Code == machine.Done && ev.Exists && ev.Stat.Owner != 0:
		if p.watched == nil {
			p.watched = make(map[string]bool)
		}
		p.watched[ev.Path] = true
		return
	case ev.Code != machine.Done: // a place with other ACLs
		p.base.skip(ev.Path, ev.Err)
	case ev.Exists: // made by hand: no consumer's place
		p.base.skip(ev.Path, errForeign)
	}
	p.known = false
}

// asksForListing tells whether the place calls for a listing, and arms what has to be armed before.
func (p *place) asksForListing() bool {
	switch {
	case !p.known:
		return true
	case !p.follow() || len(p.ahead) == 2 || p.turn == quiet: // with two ahead it sleeps
		return false
	case p.turn == rung:
		p.turn = arms
		return true
	}
	p.arm()
	if p.turn == arms && len(p.ahead) == 1 { // the second
		p.turn = quiet
		p.linger()
		return false
	}
	return p.armed()
}

// overtake has the second in line list as after a ring, if the first has had its head start.
func (p *place) overtake(waitedForFirst bool) {
	if waitedForFirst && p.turn == quiet && len(p.ahead) == 1 {
		p.turn = waited
	}
}

func (p *place) linger() { p.base.once(machine.Wake{After: headStart}, key{purpose: lingering}) }
