package consume

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// half is how long the second in line leaves a ring to the first, in milliseconds.
const half = 500

// place is the own place among the consumers that have room and found nothing. It decides who looks
// when the bell rings. The first lists at once; the second half a second later, in case that the
// first hangs; the others sleep. Each watches the two ahead: how many of them are left tells its
// place, and a listing is needed only when that is wrong.
//
// The first and the second arm the bell and consumers/ before the listing after which they sleep:
// what comes behind that listing rings.
type place struct {
	base           *base
	path           string          // of the own place; "": none
	doubt          bool            // the answer to joining was lost: the next listing shows whether there is one
	known          bool            // a listing has shown who is ahead
	ahead          []string        // paths of the two ahead, the nearest last
	watched        map[string]bool // those of them that are
	turn           turn            // of the first and the second
	bellArmed      bool            // the bell is watched; that is kept when the place is left
	consumersArmed bool            // so are the children of consumers/
}

// turn is what the first or the second in line does next.
type turn int

const (
	arms   turn = iota // it has come to this place: it arms; then the first lists, and the second lingers
	rung               // the first lists at once: arming comes behind, if there is nothing
	waited             // the second has lingered: it arms what has fired, and lists
	quiet              // it sleeps, until something rings or the second has lingered
)

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

// joined: a place was made. Who is ahead the next listing shows.
func (p *place) joined(path string) {
	p.left()
	p.path = path
}

// join is the operation that makes a place.
func (p *place) join() machine.Op {
	return machine.Op{Do: machine.Create, Path: znode.Join(p.base.root.Line(), p.base.cfg.GUID+"-"), Ephemeral: true, Sequential: true}
}

// stand makes a place. One that stands is made anew, at the end.
func (p *place) stand() {
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

// listed takes in who stands in line.
func (p *place) listed(names []string) {
	path, before := "", -1
	if n := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, p.base.cfg.GUID+"-") }); n >= 0 {
		path = znode.Join(p.base.root.Line(), names[n])
	}
	if path != p.path {
		p.left() // somebody has deleted it: perhaps the second, who took this consumer for hung
		p.path = path
	}
	if p.known {
		before = len(p.ahead)
	}
	p.known, p.doubt, p.ahead = true, false, nil
	_, own, stands := znode.Sequence(path)
	var numbers []int32
	paths := make(map[int32]string)
	for _, name := range names {
		at := znode.Join(p.base.root.Line(), name)
		if _, n, ok := znode.Sequence(name); ok && stands && znode.CompareSeq(n, own) < 0 && !p.base.avoided[at] {
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

// arm arms what has fired.
func (p *place) arm() {
	if !p.bellArmed {
		p.base.once(machine.Read{Path: p.base.root.Bell(), Watch: true}, key{purpose: watchingBell})
	}
	if !p.consumersArmed {
		p.base.once(machine.List{Path: p.base.root.Consumers(), Watch: true}, key{purpose: watchingConsumers})
	}
}

func (p *place) onBell(ev machine.Seen) {
	if p.bellArmed = p.base.ok(ev.Code, ev.Path, ev.Err) && ev.Exists; !p.bellArmed && ev.Code == machine.Done { // then nothing is armed
		p.base.prepare()
	}
}

// onConsumers takes in who lives. The own name tells whether the others would hear of this one's end.
func (p *place) onConsumers(ev machine.Listed) {
	if p.consumersArmed = p.base.ok(ev.Code, ev.Path, ev.Err); p.consumersArmed {
		p.base.registered = slices.Contains(ev.Names, p.base.cfg.GUID)
	}
}

// onFired takes in that a watch has fired.
func (p *place) onFired(path string) {
	bell := path == p.base.root.Bell()
	switch {
	case bell:
		p.bellArmed = false
	case path == p.base.root.Consumers():
		p.consumersArmed = false
	default: // somebody ahead
		if n := slices.Index(p.ahead, path); n >= 0 {
			p.ahead = slices.Delete(p.ahead, n, n+1)
			delete(p.watched, path)
			p.advanced()
		}
		return
	}
	switch {
	case p.path == "" || !p.known || len(p.ahead) == 2:
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

// follow watches those ahead, and tells whether all of them are watched.
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
	case ev.Code != machine.Done: // it stands there with other ACLs
		p.base.skip(ev.Path, ev.Err)
	case ev.Exists: // it was made by hand: nobody stands there
		p.base.skip(ev.Path, errForeign)
	}
	p.known = false
}

// asksForListing tells whether the place asks for a listing. It arms what is to be armed before.
func (p *place) asksForListing() bool {
	switch {
	case !p.known:
		return true
	case !p.follow() || len(p.ahead) == 2 || p.turn == quiet:
		return false
	case p.turn == rung:
		p.turn = arms
		return true
	}
	p.arm()
	if p.turn == arms && len(p.ahead) == 1 {
		p.turn = quiet
		p.linger()
		return false
	}
	return p.armed()
}

func (p *place) linger() { p.base.once(machine.Wake{After: half}, key{purpose: lingering}) }
