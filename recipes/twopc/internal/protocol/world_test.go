// The applications of coordinators and sites, and the guarantees that hold for all of them
// together.

package protocol_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

func TestMain(m *testing.M) { tier.Main(m) }

const root = protocol.Root("/pay")

// truth has the votes and outcomes that all processes together have seen, by the GUID of the
// transaction. It panics with a failure if a guarantee is broken.
type truth struct {
	outcomes map[string]protocol.Outcome
	begun    map[string][]string // the sites
	promised map[string]bool     // guid/site: a vote to commit was confirmed, or asked for
	refused  map[string]bool     // guid/site: a vote to abort was confirmed
	adopted  map[string]bool     // some coordinator took it over
	unbegun  map[string]bool     // its Begin was answered: it has not begun, and never will
	left     map[string]bool     // guid/site: a process of this site has asked for its acknowledgement; another one may find nothing of it
	decided  int
	commits  int
}

func newTruth() *truth {
	return &truth{
		outcomes: map[string]protocol.Outcome{}, begun: map[string][]string{}, promised: map[string]bool{}, refused: map[string]bool{},
		adopted: map[string]bool{}, left: map[string]bool{}, unbegun: map[string]bool{},
	}
}

type failure = recipetest.Failure

func (tr *truth) learn(guid string, o protocol.Outcome) {
	switch known := tr.outcomes[guid]; {
	case o == protocol.Undecided:
		panic(failure("an outcome that is none"))
	case known == protocol.Undecided:
		tr.outcomes[guid] = o
		tr.decided++
	case known != o:
		panic(failure(fmt.Sprintf("%s is %v for one and %v for another", guid, known, o)))
	}
	if o != protocol.Committed {
		return
	}
	tr.commits++
	if tr.unbegun[guid] {
		panic(failure(guid + " is committed, and its Begin was told that it has not begun"))
	}
	for _, site := range tr.begun[guid] {
		if !tr.promised[guid+"/"+site] || tr.refused[guid+"/"+site] {
			panic(failure(fmt.Sprintf("%s is committed, and %s did not agree", guid, site)))
		}
	}
}

// refuse answers a Begin: it has not begun, and never will.
func (tr *truth) refuse(guid string) {
	if tr.unbegun[guid] = true; tr.outcomes[guid] == protocol.Committed {
		panic(failure(guid + " is committed, and its Begin is told that it has not begun"))
	}
}

// leader is the application of a coordinator: it keeps the requests that are not answered.
type leader struct {
	actor      *recipetest.Actor
	truth      *truth
	last       uint64
	txs        map[uint64]*transaction
	asked      []string        // the GUIDs of all transactions that it has begun
	waits      map[uint64]bool // the requests about other coordinators
	then       func()          // called when these have ended
	acksAtOnce func() bool     // whether it acknowledges an outcome at once; nil: always
	learned    []*transaction  // the outcomes that are not acknowledged yet
}

type transaction struct {
	request protocol.Request
	id      string
	guid    string
	outcome protocol.Outcome
}

func (t *transaction) sent() bool {
	return t.request.Stage > protocol.Recovering || t.request.Presence != 0
}

func newLeader(tr *truth) *leader { return &leader{truth: tr, txs: map[uint64]*transaction{}} }

// join makes it an actor of the world.
func (l *leader) join(world *recipetest.World, name string) {
	l.actor = world.Add(recipetest.Player{
		Name:     name,
		Machine:  func() machine.Machine { return &mailbox{protocol.NewCoordinator(root, name, 1000), l} },
		Standing: l.standing,
		Perform:  l.perform,
	})
}

// mailbox drops a request that was told to a restarted machine and has ended. The world does not
// keep requests in order with answers, as a real mailbox does.
type mailbox struct {
	machine.Machine
	l *leader
}

func (m *mailbox) Step(ev machine.Event) []machine.Effect {
	if r, is := ev.(protocol.Request); is && m.l.txs[r.N] == nil {
		return nil
	}
	return m.Machine.Step(ev)
}

// ask enters a request, which is numbered, and tells the machine.
func (l *leader) ask(t *transaction, request protocol.Request) uint64 {
	l.last++
	t.request = request
	t.request.N, l.txs[l.last] = l.last, t
	l.actor.Tell(t.request)
	return l.last
}

func (l *leader) begin(id, guid string, peers bool, sites ...string) uint64 {
	l.truth.begun[guid] = sites
	l.asked = append(l.asked, guid)
	return l.ask(&transaction{id: id, guid: guid}, protocol.Request{ID: id, GUID: guid, Payload: []byte("pay " + id), Sites: sites, Peers: peers})
}

// outlive waits until each of the others has answered, or its session has ended.
func (l *leader) outlive(others []string, then func()) {
	l.waits, l.then = map[uint64]bool{}, then
	for _, other := range others {
		if other != l.actor.Name {
			l.waits[l.ask(&transaction{}, protocol.Request{Stage: protocol.Asking, Asked: other})] = true
		}
	}
	l.outlived(0, nil)
}

func (l *leader) outlived(n uint64, err error) {
	delete(l.waits, n)
	if err != nil {
		l.then = nil // it is not known whether the other one is alive
	}
	if then := l.then; then != nil && len(l.waits) == 0 {
		l.then = nil
		then()
	}
}

func (l *leader) adopt(id string) {
	l.ask(&transaction{id: id}, protocol.Request{Stage: protocol.Recovering, ID: id})
}

func (l *leader) abort(n uint64) { l.giveUp(n, false) }

// abandon gives up a Begin or Recover that is not answered.
func (l *leader) abandon(n uint64) {
	if t := l.txs[n]; t != nil && t.request.Stage <= protocol.Recovering {
		l.giveUp(n, t.request.Stage == protocol.Beginning)
	}
}

func (l *leader) giveUp(n uint64, withdrawn bool) {
	if t := l.txs[n]; t != nil && !t.request.Aborts {
		t.request.Abort = protocol.Abort{Aborts: true, Reason: "no more", Withdrawn: withdrawn}
		l.actor.Tell(t.request)
	}
}

func (l *leader) standing() []machine.Event {
	var all []machine.Event
	for n := range l.last + 1 {
		if t := l.txs[n]; t != nil {
			all = append(all, t.request)
		}
	}
	return all
}

func (l *leader) perform(_ *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case protocol.Progressed:
		t := l.txs[e.Request.N]
		if t.guid == "" {
			t.guid, l.truth.adopted[e.Request.GUID] = e.Request.GUID, true
		}
		e.Request.Abort = t.request.Abort
		t.request = e.Request
	case protocol.Decided:
		l.truth.learn(l.txs[e.N].guid, e.Outcome)
		l.txs[e.N].outcome = e.Outcome
	case protocol.Ended:
		t := l.txs[e.N]
		delete(l.txs, e.N)
		l.ended(t, e)
	}
}

func (l *leader) ended(t *transaction, e protocol.Ended) {
	refused := errors.Is(e.Err, recipetest.ErrRefused)
	fine := refused
	switch t.request.Stage {
	case protocol.Beginning:
		if !e.InDoubt {
			l.truth.refuse(t.guid)
		}
		fine = fine || errors.Is(e.Err, protocol.ErrDuplicate) || errors.Is(e.Err, protocol.ErrFinished) || errors.Is(e.Err, protocol.ErrWithdrew) ||
			errors.Is(e.Err, protocol.ErrGone) && e.InDoubt
	case protocol.Asking, protocol.Recovering:
		asked := t.request.Stage == protocol.Asking && e.Err == nil
		fine = fine || asked || errors.Is(e.Err, protocol.ErrNotRecoverable) || errors.Is(e.Err, protocol.ErrWithdrew)
		if l.waits[e.N] {
			l.outlived(e.N, e.Err)
		}
	case protocol.Acknowledging:
		fine = e.Err == nil
	case protocol.Preparing:
		fine = fine || e.Err == nil || errors.Is(e.Err, protocol.ErrGone) && l.truth.adopted[t.guid]
		switch {
		case e.Err != nil, t.request.Withdrawn && t.outcome == protocol.Aborted:
		case l.acksAtOnce == nil || l.acksAtOnce():
			l.settle(t)
		default:
			l.learned = append(l.learned, t)
		}
	}
	if !fine {
		panic(failure(fmt.Sprintf("%v ends: %v", t.request, e.Err)))
	}
}

// settleAll acknowledges all outcomes that were learned.
func (l *leader) settleAll() {
	for _, t := range l.learned {
		l.settle(t)
	}
	l.learned = nil
}

func (l *leader) settle(t *transaction) {
	l.ask(&transaction{guid: t.guid}, protocol.Request{Stage: protocol.Acknowledging, ID: t.id, GUID: t.guid})
}

// voter is the application of a site: it votes as vote says, and acknowledges the outcomes.
type voter struct {
	actor *recipetest.Actor
	truth *truth
	name  string
	vote  func(guid string) (commit, now bool)
	known map[string]bool             // by this process
	open  map[string]protocol.Propose // the transactions that it has not acknowledged
	cast  map[string]protocol.Cast
	acks  map[string]bool
}

func newVoter(tr *truth, name string, vote func(string) (bool, bool)) *voter {
	return &voter{truth: tr, name: name, vote: vote, known: map[string]bool{}, open: map[string]protocol.Propose{}, cast: map[string]protocol.Cast{}, acks: map[string]bool{}}
}

// join makes it an actor of the world.
func (v *voter) join(world *recipetest.World, guid string) {
	v.actor = world.Add(recipetest.Player{
		Name:     v.name + " " + guid,
		Machine:  func() machine.Machine { return protocol.NewSite(root, v.name, guid) },
		Standing: v.standing,
		Perform:  v.perform,
	})
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

func (v *voter) perform(_ *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case protocol.Propose:
		v.offered(e)
	case protocol.CastDone:
		v.castDone(e)
	case protocol.Learned:
		switch at := e.GUID + "/" + v.name; {
		case e.Outcome != protocol.Undecided:
			v.truth.learn(e.GUID, e.Outcome)
			v.truth.left[at] = true
		case !v.truth.left[at]:
			panic(failure(at + " has vanished"))
		}
		v.acks[e.GUID] = true
		v.actor.Tell(protocol.Ack{GUID: e.GUID})
	case protocol.Acked:
		if gone := v.truth.left[e.GUID+"/"+v.name]; e.Err != nil && !(gone && errors.Is(e.Err, protocol.ErrGone)) {
			panic(failure("acknowledged: " + e.Err.Error()))
		}
		delete(v.acks, e.GUID)
		delete(v.open, e.GUID)
		delete(v.cast, e.GUID)
	}
}

func (v *voter) offered(e protocol.Propose) {
	if string(e.Payload) != "pay "+e.ID && !v.truth.left[e.GUID+"/"+v.name] { // one that was acknowledged may be gone in part
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
		v.actor.Tell(v.cast[e.GUID])
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
