package protocol_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// voter is the face of a site with an application behind it, which votes as vote says and
// acknowledges what it knows.
type voter struct {
	truth *truth
	name  string
	vote  func(guid string) (commit, now bool)
	known map[string]bool             // by this process
	open  map[string]protocol.Propose // of them, those that are not acknowledged
	cast  map[string]protocol.Cast
	acks  map[string]bool
}

func newVoter(tr *truth, name string, vote func(string) (bool, bool)) *voter {
	return &voter{truth: tr, name: name, vote: vote, known: map[string]bool{}, open: map[string]protocol.Propose{}, cast: map[string]protocol.Cast{}, acks: map[string]bool{}}
}

func (v *voter) player(guid string) recipetest.Player {
	return recipetest.Player{
		Name:     v.name + " " + guid,
		Machine:  func() machine.Machine { return protocol.NewSite(root, v.name, guid) },
		Standing: v.standing,
		Perform:  v.perform,
	}
}

func (v *voter) standing() []machine.Event {
	var all []machine.Event
	for _, guid := range slices.Sorted(maps.Keys(v.open)) {
		all = append(all, v.open[guid])
		if c, asked := v.cast[guid]; asked {
			all = append(all, c)
		}
		if v.acks[guid] {
			all = append(all, protocol.Ack{GUID: guid})
		}
	}
	return all
}

func (v *voter) perform(a *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case protocol.Propose:
		v.offered(a, e)
	case protocol.CastDone:
		v.castDone(e)
	case protocol.Learned:
		if e.Outcome == protocol.Undecided {
			v.gone(a, e.GUID)
			return
		}
		v.truth.learn(e.GUID, e.Outcome)
		v.acks[e.GUID] = true
		v.truth.left[e.GUID+"/"+v.name] = true
		a.Tell(protocol.Ack{GUID: e.GUID})
	case protocol.Acked:
		if gone := v.truth.lost || v.truth.left[e.GUID+"/"+v.name]; e.Err != nil && !(gone && errors.Is(e.Err, protocol.ErrGone)) {
			panic(failure("acknowledged: " + e.Err.Error()))
		}
		delete(v.acks, e.GUID)
		delete(v.open, e.GUID)
		delete(v.cast, e.GUID)
	}
}

func (v *voter) gone(a *recipetest.Actor, guid string) {
	if !v.truth.lost && !v.truth.left[guid+"/"+v.name] {
		panic(failure(guid + " vanished at " + v.name))
	}
	v.acks[guid] = true
	a.Tell(protocol.Ack{GUID: guid})
}

func (v *voter) offered(a *recipetest.Actor, e protocol.Propose) {
	if string(e.Payload) != "pay "+e.ID && !v.truth.lost && !v.truth.left[e.GUID+"/"+v.name] { // one that was acknowledged may be gone in part
		panic(failure(fmt.Sprintf("payload %q of %s", e.Payload, e.ID)))
	}
	at := e.GUID + "/" + v.name
	if v.truth.refused[at] && e.Voted != protocol.Aborted || e.Voted == protocol.Committed && !v.truth.promised[at] {
		panic(failure(fmt.Sprintf("%s is offered as one it voted %v on", at, e.Voted)))
	}
	if v.known[e.GUID] {
		panic(failure(at + " is offered twice to one process"))
	}
	v.known[e.GUID], v.open[e.GUID] = true, e
	commit, now := v.vote(e.GUID)
	if e.Voted == protocol.Undecided && now {
		if commit {
			v.truth.promised[at] = true // from here on it may be written
		}
		v.cast[e.GUID] = protocol.Cast{GUID: e.GUID, Commit: commit, Reason: "not here"}
		a.Tell(v.cast[e.GUID])
	}
}

func (v *voter) castDone(e protocol.CastDone) {
	c, asked := v.cast[e.GUID]
	delete(v.cast, e.GUID)
	switch {
	case !asked:
	case e.Err == nil && !c.Commit:
		v.truth.refused[e.GUID+"/"+v.name] = true
		v.truth.learn(e.GUID, protocol.Aborted)
	case e.Err == nil, errors.Is(e.Err, protocol.ErrDecided), errors.Is(e.Err, protocol.ErrVoted):
	case errors.Is(e.Err, protocol.ErrGone): // acknowledged before a crash of the machine, which then can't know the vote any more
	default:
		panic(failure("vote: " + e.Err.Error()))
	}
}
