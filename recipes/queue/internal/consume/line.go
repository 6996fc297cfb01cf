package consume

import (
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// line is the own place among the consumers that have room for items. Only the first of them looks
// for some.
type line struct {
	own   *own
	path  string // of the own znode; "": none
	times int    // how often a place was asked for
	ahead string // the one that is watched; "": not known
	first bool   // nobody is ahead
	slow  bool   // it has had no room for a while, and settled nothing

	abandoned map[string]bool // former tags with a transaction under way that may make a place
}

// leave takes in that the own znode is gone.
func (l *line) leave() { *l = line{own: l.own, times: l.times, abandoned: l.abandoned} }

// stand joins the line if that is wanted, and finds out who is ahead.
func (l *line) stand(wanted bool) {
	o := l.own
	switch {
	case o.busy(joining), o.busy(lining), o.busy(following), l.first:
	case l.path == "" && wanted:
		o.Ask(machine.Transact{Ops: []machine.Op{l.join()}}, key{purpose: joining})
	case l.path != "" && l.ahead == "":
		l.list()
	}
}

// join makes the own znode.
func (l *line) join() machine.Op {
	l.times++
	return machine.Op{Do: machine.Create, Path: l.place(), Ephemeral: true, Sequential: true}
}

// place is what the name of the own znode begins with.
func (l *line) place() string {
	return znode.Join(l.own.root.Line(), l.own.tag+"-"+number(uint64(l.times))+"-")
}

func (l *line) list() {
	l.own.Ask(machine.List{Path: l.own.root.Line()}, key{purpose: lining})
}

// joining tells whether a place may be there that is not known yet.
func (l *line) joining() bool {
	return l.own.busy(joining) || l.own.busy(lining) || len(l.abandoned) > 0
}

// over takes in the answer to a transaction of a former tag, which may have made a place.
func (l *line) over(tag string, ev machine.Transacted) {
	delete(l.abandoned, tag)
	for _, r := range ev.Results {
		if dir, _ := znode.Split(r.Path); dir == l.own.root.Line() {
			l.joined(r.Path)
		}
	}
	if ev.Code == machine.Unknown {
		l.list()
	}
}

func (l *line) onJoined(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		l.joined(ev.Results[0].Path)
	case machine.Unknown:
		l.list()
	case machine.NoNode:
		l.own.prepare()
	default:
		l.own.refused(l.own.root.Line(), ev.Err)
	}
}

func (l *line) joined(path string) {
	if strings.HasPrefix(path, l.place()) {
		l.path = path
	} else {
		l.own.remove(path) // it was for a former tag
	}
}

func (l *line) onLine(ev machine.Listed) {
	if ev.Code != machine.Done && ev.Code != machine.NoNode {
		l.own.refused(ev.Path, ev.Err)
		return
	}
	_, prefix := znode.Split(l.place())
	var mine, ahead string
	var number int32
	for _, name := range ev.Names {
		switch {
		case strings.HasPrefix(name, prefix):
			mine = name
			_, number, _ = znode.Sequence(name)
		case strings.HasPrefix(name, l.own.guid+"-"): // of a former tag: nobody looks as long as it is first
			l.own.remove(znode.Join(ev.Path, name))
		}
	}
	l.leave()
	if mine == "" {
		return // it was deleted by hand, or not made
	}
	l.path = znode.Join(ev.Path, mine)
	var next int32
	for _, name := range ev.Names { // the numbers begin anew after 2³¹ places
		_, n, ok := znode.Sequence(name)
		if ok && !l.own.told[znode.Join(ev.Path, name)] && znode.CompareSeq(n, number) < 0 && (ahead == "" || znode.CompareSeq(n, next) > 0) {
			ahead, next = name, n
		}
	}
	if ahead == "" {
		l.first = true
		return
	}
	l.ahead = znode.Join(ev.Path, ahead)
	l.own.Ask(machine.Read{Path: l.ahead, Watch: true}, key{purpose: following})
}

func (l *line) onFollowed(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		l.ahead = "" // it is not watched
		l.own.refused(ev.Path, ev.Err)
	case !ev.Exists && ev.Path == l.ahead:
		l.ahead = ""
	case ev.Exists && ev.Stat.Owner == 0: // nobody stands there: it was made by hand, or restored
		l.own.foreign(ev.Path)
		l.ahead = ""
	}
}
