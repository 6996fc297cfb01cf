package contend_test

// Contenders that keep a delay, and those for one znode: their stories, and what is theirs in the
// world of schedules.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// delaySubject stands where its delay does; stories tell where the machine stands, too.
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

// record is who holds, or held and did not give it up.
type record struct {
	token   int64
	version int32
}

// putDown does what the host does for a Record: the transaction, and a look if it fails. Its answer
// may have been lost.
func (s *session) putDown(e machine.Record) machine.Event {
	w := s.w
	stands := w.find(e.Path) != nil
	switch {
	case stands && e.Version < 0 && w.record == nil:
		w.zxid++
		w.record = &record{token: e.Token}
	case stands && w.record != nil && w.record.version == e.Version:
		w.checkRecord(s.of, e)
		w.zxid++
		w.record = &record{e.Token, e.Version + 1}
	}
	ev := machine.Recorded{Epoch: s.epoch, Ask: e.Ask, Version: -1}
	if w.chance(50) {
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
func (w *world) checkRecord(i *instance, e machine.Record) {
	old := w.record.token
	end := w.death(old)
	switch {
	case end == nil:
		w.Failf("#%d replaces the token of %d, which stands", i.id, old)
	case i.rested < end.dzxid:
		w.Failf("#%d replaces the token of %d, which died at %d, after a delay that began at %d", i.id, old, end.dzxid, i.rested)
	}
	mine := w.find(e.Path)
	for _, n := range w.nodes {
		if n.order < mine.order && !n.foreign {
			w.Failf("#%d writes the record behind %s", i.id, n.path)
		}
	}
}

// checkRelease: the record goes with a possession that was given up, and with no other.
func (w *world) checkRelease(i *instance, e machine.Release) {
	n := w.find(e.Path)
	if n == nil {
		return
	}
	if w.record != nil && w.record.token != n.czxid {
		w.Failf("#%d takes another's record with it", i.id)
	}
	if i.lost[n.czxid] {
		w.Failf("#%d lost %d, and takes the record with it", i.id, n.czxid)
	}
	w.record = nil
}

// checkErased: what was given up is in the record no more.
func (w *world) checkErased(i *instance, h *hold) {
	if w.record != nil && w.record.token == h.token && !w.struck(h) {
		w.Failf("#%d gave %d up, and the record says that it died", i.id, h.token)
	}
}

// death is the end of the znode with that Czxid, nil if there was none.
func (w *world) death(czxid int64) *node {
	for _, n := range w.deaths {
		if n.czxid == czxid {
			return n
		}
	}
	return nil
}

// meddleWithRecord: somebody else deletes the record, or a contender, or writes.
func (w *world) meddleWithRecord() {
	switch {
	case w.record != nil && w.Pick(5) == 0:
		w.zxid++
		w.erased[w.record.token] = true
		w.record = nil
	case len(w.nodes) > 0 && w.Pick(2) == 0:
		w.remove(w.nodes[w.Pick(len(w.nodes))], true)
	case len(w.nodes) > 0:
		n := w.nodes[w.Pick(len(w.nodes))]
		w.set(n, n.data)
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

// take makes the znode, if there is none.
func (s *session) take() machine.Event {
	w, ev := s.w, machine.Entered{Epoch: s.epoch, Path: singlePath}
	if w.find(singlePath) != nil {
		ev.Err = machine.ErrHeld
		return ev
	}
	n := w.put(s.id)
	if !w.chance(3) { // or the answer was lost
		ev.Czxid, ev.Owner = n.czxid, n.owner
	}
	return ev
}

func (w *world) put(owner int64) *node {
	w.zxid++
	return w.add(&node{path: singlePath, order: w.zxid, owner: owner})
}

// meddleWithSingle: somebody else creates, writes or deletes.
func (w *world) meddleWithSingle() {
	n := w.find(singlePath)
	switch k := w.Pick(4); {
	case n == nil:
		w.put(0)
	case k == 0:
		w.set(n, []byte("unlock\nold"))
	case k == 1:
		w.set(n, []byte("new"))
	default:
		w.remove(n, n.owner != 0)
	}
}
