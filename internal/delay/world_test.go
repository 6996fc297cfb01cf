package delay_test

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
)

// world is an in-memory ZooKeeper with one line and its record in it. Everything that happens is drawn from pick.
type world struct {
	pick func(n int) int // one of 0…n−1
	logf func(format string, args ...any)

	nodes   []*node
	deaths  map[int64]death // by Czxid
	record  *record
	erased  map[int64]bool // tokens that somebody else took out of the record
	zxid    int64
	created int
	ids     int64
	all     []*instance
	calm    bool // no faults any more
	last    int64
}

type (
	node struct {
		path         string
		czxid, owner int64
	}
	death struct {
		zxid    int64
		byOther bool
	}
	record struct {
		token   int64
		version int32
	}
)

// violation is how a schedule ends that breaks an invariant.
type violation string

func (w *world) failf(format string, args ...any) { panic(violation(fmt.Sprintf(format, args...))) }

func (w *world) log(format string, args ...any) {
	if w.logf != nil {
		w.logf(format, args...)
	}
}

func (w *world) find(path string) *node {
	for _, n := range w.nodes {
		if n.path == path {
			return n
		}
	}
	return nil
}

func (w *world) create(owner int64) *node {
	w.zxid++
	n := &node{path: fmt.Sprintf("%s/lock-%010d", parent, w.created), czxid: w.zxid, owner: owner}
	w.created++
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) remove(n *node, byOther bool) {
	w.zxid++
	w.deaths[n.czxid] = death{w.zxid, byOther}
	w.nodes = slices.DeleteFunc(w.nodes, func(o *node) bool { return o == n })
	w.fire(n.path, true)
}

func (w *world) fire(path string, deleted bool) {
	for _, i := range w.all {
		if by := i.armed[path]; by != nil {
			delete(i.armed, path)
			i.fires = append(i.fires, fire{ev: machine.Fired{Epoch: i.epoch, Path: path, Deleted: deleted}, by: by, heard: len(i.notices)})
		}
	}
}

// expire ends a session at the server.
func (w *world) expire(id int64) {
	for _, i := range w.all {
		if i.id == id {
			i.gone, i.armed = true, nil
		}
	}
	for _, n := range slices.Clone(w.nodes) {
		if n.owner == id {
			w.remove(n, false)
		}
	}
}

// checkRecord: another's token is replaced only after its holder's end and a whole delay since, by one who was first all the while.
func (w *world) checkRecord(i *instance, e machine.Record) {
	old := w.record.token
	end, dead := w.deaths[old]
	switch {
	case !dead:
		w.failf("#%d replaces the token of %d, which stands", i.no, old)
	case i.rested < end.zxid:
		w.failf("#%d replaces the token of %d, which died at %d, after a delay that began at %d", i.no, old, end.zxid, i.rested)
	}
	for _, n := range w.nodes {
		if n.path < e.Place {
			w.failf("#%d writes the record behind %s", i.no, n.path)
		}
	}
}

// checkGrant: what package contend promises, and the record says so. One whose znode somebody else deleted a moment ago is excused.
func (w *world) checkGrant(i *instance, e machine.Grant) {
	own := w.find(e.Path)
	if own == nil {
		if end, dead := w.deaths[e.Token]; !dead || !end.byOther {
			w.failf("I1: #%d granted %s, which is gone", i.no, e.Path)
		}
		return
	}
	switch {
	case own.owner != i.id || own.czxid != e.Token:
		w.failf("I1: #%d granted %s, which is %+v", i.no, e.Path, own)
	case !w.erased[e.Token] && (w.record == nil || w.record.token != e.Token):
		w.failf("#%d granted %d, but the record is %+v", i.no, e.Token, w.record)
	case e.Token <= w.last:
		w.failf("I3: token %d after %d", e.Token, w.last)
	}
	for _, n := range w.nodes {
		if n.czxid < own.czxid {
			w.failf("I1: #%d granted %s behind %s", i.no, e.Path, n.path)
		}
	}
	for _, o := range w.all {
		if o != i && o.held != nil && o.held.live && !w.deaths[o.held.token].byOther {
			w.failf("I1: #%d granted %d while #%d holds %d", i.no, e.Token, o.no, o.held.token)
		}
	}
	w.last = e.Token
}
