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
// when the bell rings. The first looks at once; the second half a second later, in case that the
// first hangs; the others sleep. Each watches the two ahead: how many of them are left tells its
// place, and a listing is needed only when that is wrong.
//
// The first and the second arm the bell and consumers/ before the look after which they sleep: what
// comes behind that look rings.
type line struct {
	*base
	path      string          // of the own place; "": none
	doubt     bool            // whether there is one the next look shows: an answer was lost
	known     bool            // a look has shown who is ahead
	ahead     []string        // paths of the two ahead, the nearest last
	watched   map[string]bool // those of them that are
	bell      bool            // it is watched; that is kept when the place is left
	consumers bool            // so are the children of consumers/
	rung      bool            // the bell has, for the first
	rest      bool            // the first has looked behind armed watches, and found nothing
	second    bool            // it has armed, and lingers before it looks
	late      bool            // of the second: it has lingered
}

func (l *line) left() {
	for _, path := range l.ahead {
		if l.watched[path] {
			l.Emit(machine.Unwatch{Epoch: l.Epoch(), Path: path})
		}
		l.Forget(key{following, path})
	}
	l.Cancel(key{purpose: lingering})
	*l = line{base: l.base, bell: l.bell, consumers: l.consumers}
}

// joined: a place was made. Who is ahead the next look shows.
func (l *line) joined(path string) {
	l.left()
	l.path = path
}

func (l *line) head() string { return znode.Join(l.root.Line(), l.cfg.GUID+"-") }

// join is the operation that makes a place.
func (l *line) join() machine.Op {
	return machine.Op{Do: machine.Create, Path: l.head(), Ephemeral: true, Sequential: true}
}

// stand makes a place. One that stands is made anew, at the end.
func (l *line) stand() {
	ops := []machine.Op{l.join()}
	if l.path != "" {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: l.path, Version: machine.Any})
	}
	l.Ask(machine.Transact{Ops: ops}, key{purpose: joining})
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
		l.ok(ev.Code, l.root.Line(), ev.Err)
	}
}

// take takes in who stands in line.
func (l *line) take(names []string) {
	own, number := "", int32(0)
	type place struct {
		path   string
		number int32
	}
	var all []place
	for _, name := range names {
		path := znode.Join(l.root.Line(), name)
		_, n, ok := znode.Sequence(name)
		switch {
		case !ok || l.avoided[path]:
		case strings.HasPrefix(path, l.head()):
			own, number = path, n
		default:
			all = append(all, place{path, n})
		}
	}
	if own != l.path {
		l.left() // somebody has deleted it: perhaps the second, who took this consumer for hung
		l.path = own
	}
	all = slices.DeleteFunc(all, func(p place) bool { return znode.CompareSeq(p.number, number) > 0 })
	slices.SortFunc(all, func(a, b place) int { return znode.CompareSeq(a.number, b.number) })
	l.ahead = nil
	for _, p := range all[max(len(all)-2, 0):] {
		l.ahead = append(l.ahead, p.path)
	}
	l.known, l.doubt = true, false
	if len(l.ahead) != 1 {
		l.moved()
	}
}

func (l *line) armed() bool { return l.bell && l.consumers }

// arm arms what has fired.
func (l *line) arm() {
	if !l.bell {
		l.once(machine.Read{Path: l.root.Bell(), Watch: true}, key{purpose: hearing})
	}
	if !l.consumers {
		l.once(machine.List{Path: l.root.Consumers(), Watch: true}, key{purpose: counting})
	}
}

func (l *line) onHeard(ev machine.Seen) {
	if l.bell = l.ok(ev.Code, ev.Path, ev.Err) && ev.Exists; !l.bell && ev.Code == machine.Done { // then nothing is armed
		l.prepare(l.root)
	}
}

// onCounted takes in who lives. The own name tells whether the others would hear of this one's end.
func (l *line) onCounted(ev machine.Listed) {
	if l.consumers = l.ok(ev.Code, ev.Path, ev.Err); l.consumers {
		l.signed = slices.Contains(ev.Names, l.cfg.GUID)
	}
}

// onFired takes in that a watch has fired.
func (l *line) onFired(path string) {
	switch path {
	case l.root.Bell():
		l.bell, l.rest = false, false
		l.rung = l.path != "" && l.known && len(l.ahead) == 0
	case l.root.Consumers():
		l.consumers, l.rest = false, false
	default:
		l.gone(path)
	}
}

// gone: nobody stands there any more. Who is second then arms and lingers, who is first arms and
// looks.
func (l *line) gone(path string) {
	if n := slices.Index(l.ahead, path); n >= 0 {
		l.ahead = slices.Delete(l.ahead, n, n+1)
		delete(l.watched, path)
		l.moved()
	}
}

// moved: it is not known yet what the place asks for.
func (l *line) moved() {
	l.second, l.late = false, false
	l.Cancel(key{purpose: lingering})
}

// follow watches those ahead, and tells whether all of them are watched.
func (l *line) follow() bool {
	for _, path := range l.ahead {
		if !l.watched[path] {
			l.once(machine.Read{Path: path, Watch: true}, key{following, path})
		}
	}
	return !slices.ContainsFunc(l.ahead, func(path string) bool { return !l.watched[path] })
}

func (l *line) onFollowed(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		l.skip(ev.Path, ev.Err)
		l.known = false
	case ev.Exists && ev.Stat.Owner == 0: // nobody stands there: it was made by hand
		l.skip(ev.Path, errForeign)
		l.known = false
	case ev.Exists:
		if l.watched == nil {
			l.watched = make(map[string]bool)
		}
		l.watched[ev.Path] = true
	default:
		l.known = false
	}
}

// looks tells whether the place asks for a look.
func (l *line) looks() bool {
	switch {
	case !l.known:
		return true
	case !l.follow(), len(l.ahead) == 2, len(l.ahead) == 0 && l.rest:
		return false
	case len(l.ahead) == 0 && l.rung: // at once: arming comes behind, if there is nothing
		l.rung = false
		return true
	case len(l.ahead) == 0:
		l.arm()
		return l.armed()
	}
	return l.looksAsSecond()
}

// looksAsSecond lingers after it became second, and after each ring.
func (l *line) looksAsSecond() bool {
	switch {
	case !l.second:
		l.second = true
		l.arm()
		l.linger()
	case l.late:
		l.arm()
		return l.armed()
	case !l.armed() && !l.busy(hearing, counting):
		l.linger()
	}
	return false
}

func (l *line) linger() { l.once(machine.Wake{After: half}, key{purpose: lingering}) }
