package contend_test

// Contenders with a delay, and those for a single znode. Their stories are in testdata, in the
// words of a recipetest.Dialect; the rest is their part of the simulation.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// delaySubject has the states of its delay; stories have the state of the machine too.
func delaySubject([]string) recipetest.Subject {
	m := contend.New(contend.Config{Parent: parent, Delay: 1})
	return recipetest.Subject{
		Machine: m,
		State:   func() string { return m.Delay().String() },
		At:      func() string { return m.Delay().String() + ", " + m.State().String() },
	}
}

// delays: in a story "lock-5" is the contender lock-0000000005.
var delays = recipetest.Dialect{
	Folder: "delay",
	New:    delaySubject,
	Path: func(short string) string {
		head, n, _ := strings.Cut(short, "-")
		i, _ := strconv.Atoi(n)
		return fmt.Sprintf("%s/%s-%010d", parent, head, i)
	},
	Short: delayShort,
	Event: delayEvent,
	Show:  delayShow,
}

func delayShort(path string) string {
	_, full := znode.Split(path)
	c, _ := znode.ParseContender(full)
	return fmt.Sprintf("%s%d", c.Prefix, c.Seq)
}

func delayEvent(p *recipetest.Teller, verb string, w recipetest.Words) machine.Event {
	if verb != "recorded" {
		return nil
	}
	return machine.Recorded{Epoch: p.Epoch(w), Ask: w.Ask, Token: w.Number("token", 0), Version: int32(w.Number("version", 0)), Err: w.Err()}
}

func delayShow(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Enter:
		if e.Replace != "" {
			return "enter in place of " + delayShort(e.Replace)
		}
		return "enter"
	case machine.List:
		return "list"
	case machine.Read:
		return "read " + delayShort(e.Path)
	case machine.Wake:
		if e.After > 0 {
			return "delay"
		}
		return "wake"
	case machine.Record:
		return fmt.Sprintf("record token=%d while %s stands, version=%d", e.Token, delayShort(e.Path), e.Version)
	case machine.Release:
		return "release " + delayShort(e.Path) + " with the record"
	case machine.End:
		return fmt.Sprintf("end %d cause=%d", e.Claim, e.Cause)
	}
	return ""
}

// record has the token of the holder, or of a former one that did not release.
type record struct {
	token   int64
	version int32
}

// writeRecord carries out a Record as the host does: a transaction, and a read if it fails. The
// read may be refused, so an error does not tell whether the record was written.
func (s *session) writeRecord(e machine.Record) machine.Event {
	sim := s.sim
	exists := sim.find(e.Path) != nil
	switch {
	case exists && e.Version < 0 && sim.record == nil:
		sim.zxid++
		sim.record = &record{token: e.Token}
	case exists && sim.record != nil && sim.record.version == e.Version:
		sim.checkRecord(s.of, e)
		sim.zxid++
		sim.record = &record{e.Token, e.Version + 1}
	}
	ev := machine.Recorded{Epoch: s.epoch, Ask: e.Ask, Version: -1}
	if sim.oneIn(50) {
		ev.Err = errRefused
		return ev
	}
	if r := sim.record; r != nil {
		ev.Token, ev.Version = r.token, r.version
	}
	return ev
}

// checkRecord: another token is replaced only after the end of its holder and a whole delay since,
// by a contender that is first.
func (sim *simulation) checkRecord(i *instance, e machine.Record) {
	old := sim.record.token
	end := sim.death(old)
	switch {
	case end == nil:
		sim.Failf("#%d replaces the token of %d, which exists", i.id, old)
	case i.restedSince < end.dzxid:
		sim.Failf("#%d replaces the token of %d, which died at %d, after a delay that began at %d", i.id, old, end.dzxid, i.restedSince)
	}
	mine := sim.find(e.Path)
	for _, n := range sim.nodes {
		if n.order < mine.order && !n.foreign {
			sim.Failf("#%d writes the record behind %s", i.id, n.path)
		}
	}
}

// checkRelease: the record is deleted with a possession that was released, and with no other.
func (sim *simulation) checkRelease(i *instance, e machine.Release) {
	n := sim.find(e.Path)
	if n == nil {
		return
	}
	if sim.record != nil && sim.record.token != n.czxid {
		sim.Failf("#%d takes another's record with it", i.id)
	}
	if i.lost[n.czxid] {
		sim.Failf("#%d lost %d, and takes the record with it", i.id, n.czxid)
	}
	sim.record = nil
}

// checkRecordDeleted: after a release the record does not have the token of that possession.
func (sim *simulation) checkRecordDeleted(i *instance, h *hold) {
	if sim.record != nil && sim.record.token == h.token && !sim.takenAway(h) {
		sim.Failf("#%d gave %d up, and the record says that it died", i.id, h.token)
	}
}

// death is the end of the znode with that Czxid, nil if there was none.
func (sim *simulation) death(czxid int64) *node {
	for _, n := range sim.deaths {
		if n.czxid == czxid {
			return n
		}
	}
	return nil
}

// meddleWithRecord lets another client delete the record or a contender, or write to a contender.
func (sim *simulation) meddleWithRecord() {
	switch {
	case sim.record != nil && sim.Pick(5) == 0:
		sim.zxid++
		sim.erased[sim.record.token] = true
		sim.record = nil
	case len(sim.nodes) > 0 && sim.Pick(2) == 0:
		sim.remove(sim.nodes[sim.Pick(len(sim.nodes))], true)
	case len(sim.nodes) > 0:
		n := sim.nodes[sim.Pick(len(sim.nodes))]
		sim.set(n, n.data)
	}
}

const singlePath = "/controller"

func singleSubject([]string) recipetest.Subject {
	m := contend.NewSingle(singlePath)
	return recipetest.Subject{Machine: m, State: func() string { return m.State().String() }}
}

// singles: there is one znode, called "it".
var singles = recipetest.Dialect{
	Folder: "single",
	New:    singleSubject,
	Path:   func(string) string { return singlePath },
	Short:  func(string) string { return "it" },
}

// createSingle makes the znode, if there is none.
func (s *session) createSingle() machine.Event {
	sim, ev := s.sim, machine.Entered{Epoch: s.epoch, Path: singlePath}
	if sim.find(singlePath) != nil {
		ev.Err = machine.ErrHeld
		return ev
	}
	n := sim.addSingle(s.id)
	if !sim.oneIn(3) { // or the answer was lost
		ev.Czxid, ev.Owner = n.czxid, n.owner
	}
	return ev
}

func (sim *simulation) addSingle(owner int64) *node {
	sim.zxid++
	return sim.add(&node{path: singlePath, order: sim.zxid, owner: owner})
}

// meddleWithSingle lets another client create, write or delete.
func (sim *simulation) meddleWithSingle() {
	n := sim.find(singlePath)
	switch k := sim.Pick(4); {
	case n == nil:
		sim.addSingle(0)
	case k == 0:
		sim.set(n, []byte("unlock\nold"))
	case k == 1:
		sim.set(n, []byte("new"))
	default:
		sim.remove(n, n.owner != 0)
	}
}
