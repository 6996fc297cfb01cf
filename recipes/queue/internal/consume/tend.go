package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// tend moves what is due to the end of its lane. It returns when the next item is due; 0: none is.
func (l *later) tend(now int64, v *view) (next int64) {
	t := l.at(now, v.buckets)
	for _, b := range t.need {
		v.scan(b)
	}
	for _, b := range t.empty {
		l.once(machine.Transact{Ops: []machine.Op{
			{Do: machine.Delete, Path: l.root.Bucket(b), Version: machine.Any},
		}}, key{clearing, b.Name()})
	}
	l.take(t.due)
	for _, d := range l.moving {
		if !d.read {
			l.once(machine.Read{Path: d.path}, key{fetching, d.path})
		}
	}
	if !l.tail.Known() {
		v.buckets = nil
		v.list()
	} else if ops := l.move(); ops != nil {
		l.Ask(machine.Transact{Ops: ops}, key{purpose: moving})
	}
	return t.next
}

// onScanned takes a bucket's listing in.
func (l *later) onScanned(b place.Bucket, ev machine.Listed) {
	l.report(ev.Path, ev.Names, isDelayed)
	l.shows(b, ev.Names)
}

// onFired forgets what has changed.
func (l *later) onFired(path string) {
	for b := range l.listings {
		if l.root.Bucket(b) == path {
			delete(l.listings, b)
		}
	}
}

func (l *later) onFetched(ev machine.Seen) {
	for _, d := range l.moving {
		switch {
		case d.path != ev.Path:
			continue
		case ev.Code != machine.Done:
			l.drop(d)
			l.skip(ev.Path, ev.Err)
		case !ev.Exists:
			l.drop(d)
		default:
			d.data, d.version, d.read = ev.Data, ev.Stat.Version, true
		}
		break
	}
	if len(l.moving) == 0 {
		l.moving = nil
	}
}

func (l *later) onMoved(ev machine.Transacted) {
	if l.parts == nil {
		return // it was sent when this consumer was first in line for another time
	}
	l.moved(ev)
	if ev.Code == machine.Refused {
		l.skip(l.root.Work(), ev.Err)
	}
}
