package consume

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// half is how long the second in line leaves a ring to the first, in milliseconds.
const half = 500

// line is the own place among the consumers that have room and found nothing. It decides who looks
// when the bell rings. The first lists at once; the second half a second later, in case that the
// first hangs; the others sleep. Each watches the two ahead: how many of them are left tells its
// place, and a listing is needed only when that is wrong.
//
// The first and the second arm the bell and consumers/ before the listing after which they sleep:
// what comes behind that listing rings.
type line struct {
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
	arms  turn = iota // it has come to this place: it arms; then the first lists, and the second lingers
	rung              // the first lists at once: arming comes behind, if there is nothing
	late              // the second has lingered: it arms what has fired, and lists
	quiet             // it sleeps, until something rings or the second has lingered
)

func (l *line) left() {
	for _, path := range l.ahead {
		if l.watched[path] {
			l.base.Requests.Emit(machine.Unwatch{Epoch: l.base.Requests.Epoch(), Path: path})
		}
		l.base.Requests.Forget(key{purpose: following, at: path})
	}
	l.base.Requests.Cancel(key{purpose: lingering})
	*l = line{base: l.base, bellArmed: l.bellArmed, consumersArmed: l.consumersArmed}
}

// joined: a place was made. Who is ahead the next listing shows.
func (l *line) joined(path string) {
	l.left()
	l.path = path
}

// join is the operation that makes a place.
func (l *line) join() machine.Op {
	return machine.Op{Do: machine.Create, Path: znode.Join(l.base.root.Line(), l.base.cfg.GUID+"-"), Ephemeral: true, Sequential: true}
}

// stand makes a place. One that stands is made anew, at the end.
func (l *line) stand() {
	ops := []machine.Op{l.join()}
	if l.path != "" {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: l.path, Version: machine.Any})
	}
	l.base.Requests.Ask(machine.Transact{Ops: ops}, key{purpose: joining})
}

func (l *line) onStood(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Done:
		l.joined(ev.Results[0].Path)
	case ev.Code == machine.Unknown:
		l.doubt = true
	case ev.Failed == 1 && ev.Code == machine.NoNode:
		l.left()
	default:
		l.base.ok(ev.Code, l.base.root.Line(), ev.Err)
	}
}

// listed takes in who stands in line.
func (l *line) listed(names []string) {
	path, before := "", -1
	if n := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, l.base.cfg.GUID+"-") }); n >= 0 {
		path = znode.Join(l.base.root.Line(), names[n])
	}
	if path != l.path {
		l.left() // somebody has deleted it: perhaps the second, who took this consumer for hung
		l.path = path
	}
	if l.known {
		before = len(l.ahead)
	}
	l.known, l.doubt, l.ahead = true, false, nil
	_, own, stands := znode.Sequence(path)
	var numbers []int32
	paths := make(map[int32]string)
	for _, name := range names {
		at := znode.Join(l.base.root.Line(), name)
		if _, n, ok := znode.Sequence(name); ok && stands && znode.CompareSeq(n, own) < 0 && !l.base.avoided[at] {
			numbers, paths[n] = append(numbers, n), at
		}
	}
	slices.SortFunc(numbers, znode.CompareSeq)
	for _, n := range numbers[max(len(numbers)-2, 0):] {
		l.ahead = append(l.ahead, paths[n])
	}
	if len(l.ahead) != before {
		l.advanced()
	}
}

func (l *line) armed() bool { return l.bellArmed && l.consumersArmed }

// arm arms what has fired.
func (l *line) arm() {
	if !l.bellArmed {
		l.base.once(machine.Read{Path: l.base.root.Bell(), Watch: true}, key{purpose: hearing})
	}
	if !l.consumersArmed {
		l.base.once(machine.List{Path: l.base.root.Consumers(), Watch: true}, key{purpose: counting})
	}
}

func (l *line) onHeard(ev machine.Seen) {
	if l.bellArmed = l.base.ok(ev.Code, ev.Path, ev.Err) && ev.Exists; !l.bellArmed && ev.Code == machine.Done { // then nothing is armed
		l.base.prepare()
	}
}

// onCounted takes in who lives. The own name tells whether the others would hear of this one's end.
func (l *line) onCounted(ev machine.Listed) {
	if l.consumersArmed = l.base.ok(ev.Code, ev.Path, ev.Err); l.consumersArmed {
		l.base.registered = slices.Contains(ev.Names, l.base.cfg.GUID)
	}
}

// onFired takes in that a watch has fired.
func (l *line) onFired(path string) {
	bell := path == l.base.root.Bell()
	switch {
	case bell:
		l.bellArmed = false
	case path == l.base.root.Consumers():
		l.consumersArmed = false
	default: // somebody ahead
		if n := slices.Index(l.ahead, path); n >= 0 {
			l.ahead = slices.Delete(l.ahead, n, n+1)
			delete(l.watched, path)
			l.advanced()
		}
		return
	}
	switch {
	case l.path == "" || !l.known || len(l.ahead) == 2:
	case len(l.ahead) == 1:
		l.linger()
	case bell:
		l.turn = rung
	default:
		l.turn = arms
	}
}

func (l *line) advanced() {
	l.turn = arms
	l.base.Requests.Cancel(key{purpose: lingering})
}

// follow watches those ahead, and tells whether all of them are watched.
func (l *line) follow() bool {
	for _, path := range l.ahead {
		if !l.watched[path] {
			l.base.once(machine.Read{Path: path, Watch: true}, key{purpose: following, at: path})
		}
	}
	return !slices.ContainsFunc(l.ahead, func(path string) bool { return !l.watched[path] })
}

func (l *line) onFollowed(ev machine.Seen) {
	switch {
	case ev.Code == machine.Done && ev.Exists && ev.Stat.Owner != 0:
		if l.watched == nil {
			l.watched = make(map[string]bool)
		}
		l.watched[ev.Path] = true
		return
	case ev.Code != machine.Done: // it stands there with other ACLs
		l.base.skip(ev.Path, ev.Err)
	case ev.Exists: // it was made by hand: nobody stands there
		l.base.skip(ev.Path, errForeign)
	}
	l.known = false
}

// asksForListing tells whether the place asks for a listing. It arms what is to be armed before.
func (l *line) asksForListing() bool {
	switch {
	case !l.known:
		return true
	case !l.follow() || len(l.ahead) == 2 || l.turn == quiet:
		return false
	case l.turn == rung:
		l.turn = arms
		return true
	}
	l.arm()
	if l.turn == arms && len(l.ahead) == 1 {
		l.turn = quiet
		l.linger()
		return false
	}
	return l.armed()
}

func (l *line) linger() { l.base.once(machine.Wake{After: half}, key{purpose: lingering}) }
