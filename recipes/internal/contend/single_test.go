package contend_test

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

const singlePath = "/controller"

func singleSubject([]string) recipetest.Subject {
	m := contend.NewSingle(singlePath)
	return recipetest.Subject{Machine: m, State: func() string { return m.State().String() }}
}

// singles: there is one znode, which is not named.
var singles = recipetest.Dialect{
	Folder: "single",
	New:    singleSubject,
	Path:   func(string) string { return singlePath },
	Show:   singleShow,
}

func singleShow(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Enter:
		return fmt.Sprintf("enter #%d", e.Ask)
	case machine.Read:
		return fmt.Sprintf("read #%d and watch", e.Ask)
	case machine.Unwatch:
		return "unwatch"
	case machine.Remove:
		return "leave"
	case machine.Grant:
		return fmt.Sprintf("grant %d token=%d", e.Claim, e.Token)
	case machine.End:
		causes := map[machine.Cause]string{machine.EndDeleted: "deleted", machine.EndExpired: "expired", machine.EndUnwatched: "unwatched"}
		return strings.TrimRight(fmt.Sprintf("end %d %s %v", e.Claim, causes[e.Cause], orNothing(e.Err)), " ")
	case machine.Settle:
		return strings.TrimRight(fmt.Sprintf("settle %d %v", e.Claim, orNothing(e.Err)), " ")
	}
	return ""
}

func orNothing(err error) any {
	if err == nil {
		return ""
	}
	return err
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
