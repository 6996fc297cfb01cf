package contend_test

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/machinetest"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// delayWorld is an in-memory ZooKeeper with one line and its record in it.
type delayWorld struct {
	*machinetest.World
	nodes   []*delayNode
	deaths  map[int64]death // by Czxid
	record  *record
	erased  map[int64]bool // tokens that somebody else took out of the record
	created int
	last    int64
}

func delaySchedule(c recipetest.Chance) {
	w := &delayWorld{World: &machinetest.World{Chance: c, Table: delayTable, Rest: "Open, Idle"}, deaths: map[int64]death{}, erased: map[int64]bool{}}
	w.Tree = w
	w.Play(delaySubject)
}

type (
	delayNode struct {
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

func (w *delayWorld) find(path string) *delayNode {
	for _, n := range w.nodes {
		if n.path == path {
			return n
		}
	}
	return nil
}

func (w *delayWorld) create(owner int64) *delayNode {
	w.Zxid++
	n := &delayNode{path: fmt.Sprintf("%s/lock-%010d", parent, w.created), czxid: w.Zxid, owner: owner}
	w.created++
	w.nodes = append(w.nodes, n)
	return n
}

func (w *delayWorld) remove(n *delayNode, byOther bool) {
	w.Zxid++
	w.deaths[n.czxid] = death{w.Zxid, byOther}
	w.nodes = slices.DeleteFunc(w.nodes, func(o *delayNode) bool { return o == n })
	w.Fire(n.path, true)
}

// Expire ends a session.
func (w *delayWorld) Expire(session int64) {
	for _, n := range slices.Clone(w.nodes) {
		if n.owner == session {
			w.remove(n, false)
		}
	}
}

// Own are the contenders of i.
func (w *delayWorld) Own(i *machinetest.Instance) []machinetest.Znode {
	var own []machinetest.Znode
	for _, n := range w.nodes {
		if n.owner == i.Session {
			own = append(own, machinetest.Znode{Path: n.path, Token: n.czxid})
		}
	}
	return own
}

// Remove deletes a contender.
func (w *delayWorld) Remove(path string) {
	if n := w.find(path); n != nil {
		w.remove(n, false)
	}
}

// Meddle: somebody else deletes a contender, or the record, or writes.
func (w *delayWorld) Meddle() {
	switch {
	case w.record != nil && w.Pick(5) == 0:
		w.Zxid++
		w.erased[w.record.token] = true
		w.record = nil
	case len(w.nodes) > 0 && w.Pick(2) == 0:
		w.remove(w.nodes[w.Pick(len(w.nodes))], true)
	case len(w.nodes) > 0:
		w.Fire(w.nodes[w.Pick(len(w.nodes))].path, false)
	}
}

// Heal does nothing: of the others nothing stands.
func (w *delayWorld) Heal() {}

// Serve carries out a request.
func (w *delayWorld) Serve(i *machinetest.Instance, r *machinetest.Request) []machine.Event {
	switch e := r.Effect.(type) {
	case machine.Enter:
		return []machine.Event{w.join(i, e), machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Names: w.names()}}
	case machine.List:
		return []machine.Event{machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Names: w.names()}}
	case machine.Read:
		return []machine.Event{w.read(i, e, r)}
	case machine.Remove:
		w.Remove(e.Path)
		return []machine.Event{machine.Removed{Epoch: e.Epoch, Path: e.Path}}
	case machine.Release:
		w.release(i, e)
		return []machine.Event{machine.Removed{Epoch: e.Epoch, Path: e.Path}}
	case machine.Record:
		return []machine.Event{w.write(i, e)}
	}
	panic("an unknown request")
}

func (w *delayWorld) names() []string {
	var names []string
	for _, n := range w.nodes {
		names = append(names, n.path[len(parent)+1:])
	}
	return names
}

func (w *delayWorld) join(i *machinetest.Instance, e machine.Enter) machine.Event {
	w.Remove(e.Replace)
	n := w.create(i.Session)
	ev := machine.Entered{Epoch: e.Epoch, Path: n.path}
	if w.Pick(3) > 0 { // otherwise the answer was lost
		ev.Czxid, ev.Owner = n.czxid, n.owner
	}
	return ev
}

func (w *delayWorld) read(i *machinetest.Instance, e machine.Read, r *machinetest.Request) machine.Event {
	ev := machine.Seen{Epoch: e.Epoch, Path: e.Path, Ask: e.Ask}
	if w.Rarely(50) {
		ev.Err = errRefused
		return ev
	}
	if n := w.find(e.Path); n != nil {
		ev.Exists, ev.Stat.Czxid, ev.Stat.Owner = true, n.czxid, n.owner
		if e.Watch {
			i.Arm(e.Path, r)
		}
	}
	return ev
}

// release deletes both, or the znode alone.
func (w *delayWorld) release(i *machinetest.Instance, e machine.Release) {
	if n := w.find(e.Path); n != nil {
		if w.record != nil && w.record.token != n.czxid {
			w.Failf("#%d takes another's record with it", i.No)
		}
		switch {
		case i.Lost[n.czxid]:
			w.Failf("#%d lost %d, and takes the record with it", i.No, n.czxid)
		case i.Holds(n.czxid):
			w.Failf("#%d holds %d, and deletes it", i.No, n.czxid)
		}
		w.record = nil
		w.remove(n, false)
	}
}

// write does what the host does: the transaction, and a look if it fails. Its answer may have been
// lost.
func (w *delayWorld) write(i *machinetest.Instance, e machine.Record) machine.Event {
	stands := w.find(e.Own) != nil
	switch {
	case stands && e.Version < 0 && w.record == nil:
		w.Zxid++
		w.record = &record{token: e.Token}
	case stands && w.record != nil && w.record.version == e.Version:
		w.checkRecord(i, e)
		w.Zxid++
		w.record = &record{e.Token, e.Version + 1}
	}
	ev := machine.Recorded{Epoch: e.Epoch, Ask: e.Ask, Version: -1}
	if w.Rarely(50) {
		ev.Err = errRefused
		return ev
	}
	if r := w.record; r != nil {
		ev.Token, ev.Version = r.token, r.version
	}
	return ev
}

// checkRecord: another's token is replaced only after its holder's end and a whole delay since, by
// one who was first all the while.
func (w *delayWorld) checkRecord(i *machinetest.Instance, e machine.Record) {
	old := w.record.token
	end, dead := w.deaths[old]
	switch {
	case !dead:
		w.Failf("#%d replaces the token of %d, which stands", i.No, old)
	case i.Rested < end.zxid:
		w.Failf("#%d replaces the token of %d, which died at %d, after a delay that began at %d", i.No, old, end.zxid, i.Rested)
	}
	for _, n := range w.nodes {
		if n.path < e.Own {
			w.Failf("#%d writes the record behind %s", i.No, n.path)
		}
	}
}

// CheckGrant: what package contend promises, and the record says so. One whose znode somebody else
// deleted a moment ago is excused.
func (w *delayWorld) CheckGrant(i *machinetest.Instance, e machine.Grant) {
	own := w.find(e.Path)
	if own == nil {
		if end, dead := w.deaths[e.Token]; !dead || !end.byOther {
			w.Failf("I1: #%d granted %s, which is gone", i.No, e.Path)
		}
		return
	}
	switch {
	case own.owner != i.Session || own.czxid != e.Token:
		w.Failf("I1: #%d granted %s, which is %+v", i.No, e.Path, own)
	case !w.erased[e.Token] && (w.record == nil || w.record.token != e.Token):
		w.Failf("#%d granted %d, but the record is %+v", i.No, e.Token, w.record)
	case e.Token <= w.last:
		w.Failf("I3: token %d after %d", e.Token, w.last)
	}
	for _, n := range w.nodes {
		if n.czxid < own.czxid {
			w.Failf("I1: #%d granted %s behind %s", i.No, e.Path, n.path)
		}
	}
	if o := w.Holder(i, func(h *machinetest.Hold) bool { return !w.deaths[h.Token].byOther }); o != nil {
		w.Failf("I1: #%d granted %d while #%d holds %d", i.No, e.Token, o.No, o.Held.Token)
	}
	w.last = e.Token
}

// CheckFreed: what is given up is gone, and the record with it.
func (w *delayWorld) CheckFreed(i *machinetest.Instance) {
	token := i.Held.Token
	end, dead := w.deaths[token]
	if !dead {
		w.Failf("I9: #%d freed %d, which stands", i.No, token)
	}
	if w.record != nil && w.record.token == token && !end.byOther {
		w.Failf("#%d gave %d up, and the record says that it died", i.No, token)
	}
}

// CheckQuiet has nothing to say beyond progress, which the world sees to.
func (w *delayWorld) CheckQuiet() {}

// CheckEnd: no contender is left.
func (w *delayWorld) CheckEnd() {
	if len(w.nodes) > 0 {
		w.Failf("I2: %s is left", w.nodes[0].path)
	}
}
