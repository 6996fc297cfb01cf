package protocol_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

const root = protocol.Root("/pay")

// truth is what everybody together has seen of the transactions, by GUID. It complains of what must
// not be.
type truth struct {
	outcomes map[string]protocol.Outcome
	begun    map[string][]string // the sites
	promised map[string]bool     // guid/site: a vote to commit was confirmed, or asked for
	refused  map[string]bool     // guid/site: a vote to abort was confirmed
	adopted  map[string]bool     // somebody took it over
	unbegun  map[string]bool     // its Begin was answered: it has not begun, and never will
	left     map[string]bool     // guid/site: a process of this site has asked for its acknowledgement; another one may find nothing of it
	lost     bool                // somebody deletes transactions
	swept    bool                // few outcomes are kept that nobody acknowledges
	weeks    func() bool         // some were swept, since they were old
	decided  int
	commits  int
}

func newTruth() *truth {
	return &truth{
		outcomes: map[string]protocol.Outcome{}, begun: map[string][]string{}, promised: map[string]bool{}, refused: map[string]bool{},
		adopted: map[string]bool{}, left: map[string]bool{}, unbegun: map[string]bool{},
	}
}

// forgotten tells whether outcomes may be gone that nobody has acknowledged.
func (tr *truth) forgotten() bool { return tr.swept || tr.weeks != nil && tr.weeks() }

// failure is a broken promise.
type failure string

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
	tr.keepsOut(guid)
	for _, site := range tr.begun[guid] {
		if !tr.promised[guid+"/"+site] || tr.refused[guid+"/"+site] {
			panic(failure(fmt.Sprintf("%s is committed, and %s did not agree", guid, site)))
		}
	}
}

// keepsOut: what a Begin was told not to have begun is never committed, whichever of the two comes
// first.
func (tr *truth) keepsOut(guid string) {
	if tr.unbegun[guid] && tr.outcomes[guid] == protocol.Committed {
		panic(failure(guid + " is committed, and its Begin was told that it has not begun"))
	}
}

// refuse answers a Begin: it has not begun, and never will.
func (tr *truth) refuse(guid string) {
	tr.unbegun[guid] = true
	tr.keepsOut(guid)
}

// leader is the face of a coordinator, as far as the machine can tell: it keeps the wishes that
// stand.
type leader struct {
	truth *truth
	last  uint64
	txs   map[uint64]*led
	begun []uint64
	asked []string        // the GUIDs of all that it ever wanted to begin
	waits map[uint64]bool // for other coordinators
	then  func()          // when it has waited
	notes func() bool     // whether it acknowledges at once what it learns; nil: always
	noted []*led          // learned, and not acknowledged yet
	most  int             // how many outcomes are kept that nobody acknowledges, if not 0
}

type led struct {
	wish    machine.Event
	guid    string
	outcome protocol.Outcome
	abort   *protocol.Abort
	shared  protocol.Shared
	adopted bool
	czxid   int64
	alone   bool // nobody has it, who could acknowledge it
	lost    bool // the application had it, and was told that it has not
}

// sent tells whether its beginning was sent.
func (t *led) sent() bool {
	b, beginning := t.wish.(protocol.Begin)
	return !beginning || b.Floor != 0
}

func newLeader(tr *truth) *leader { return &leader{truth: tr, txs: map[uint64]*led{}} }

func (l *leader) player(name string, timeout int64, moved func(from, to protocol.Phase)) recipetest.Player {
	return recipetest.Player{
		Name: name,
		Machine: func() machine.Machine {
			c := protocol.NewCoordinator(root, name, timeout).Moved(moved)
			if l.most > 0 {
				c.Retain(l.most, protocol.DefaultAge)
			}
			return &prompt{c, l}
		},
		Standing: l.standing,
		Perform:  l.perform,
	}
}

// prompt is the machine behind a mailbox in which wishes keep their order with answers, which the
// world's does not: one that was told to a machine made anew, and is over, does not come again.
type prompt struct {
	machine.Machine
	l *leader
}

func (p *prompt) Step(ev machine.Event) []machine.Effect {
	switch e := ev.(type) {
	case protocol.Begin:
		if p.l.txs[e.N] == nil {
			return nil
		}
	case protocol.Recover:
		if p.l.txs[e.N] == nil {
			return nil
		}
	case protocol.AckOutcome:
		if p.l.txs[e.N] == nil {
			return nil
		}
	case protocol.Abort:
		answer := p.Machine.Step(ev)
		p.l.answered(e.N, answer)
		return answer
	}
	return p.Machine.Step(ev)
}

// answered: who gives up a Begin is told at once whether it may have begun.
func (l *leader) answered(n uint64, effects []machine.Effect) {
	t := l.txs[n]
	if t == nil {
		return
	}
	if _, begins := t.wish.(protocol.Begin); begins && !slices.ContainsFunc(effects, func(e machine.Effect) bool {
		refused, is := e.(protocol.Refused)
		return e == protocol.Doubtful{N: n} || is && refused.N == n
	}) {
		panic(failure(t.guid + " is given up, and nobody says whether it may have begun"))
	}
}

func (l *leader) begin(a *recipetest.Actor, id, guid string, peers bool, sites ...string) uint64 {
	l.last++
	wish := protocol.Begin{N: l.last, ID: id, GUID: guid, Payload: []byte("pay " + id), Sites: sites, Peers: peers}
	l.txs[l.last] = &led{wish: wish, guid: guid}
	l.truth.begun[guid] = sites
	l.asked = append(l.asked, guid)
	a.Tell(wish)
	return l.last
}

// outlive waits until each of the others has answered, or its session is over.
func (l *leader) outlive(a *recipetest.Actor, others []string, then func()) {
	l.waits, l.then = map[uint64]bool{}, then
	for _, other := range others {
		if other != a.Name {
			l.last++
			l.txs[l.last] = &led{wish: protocol.Recover{N: l.last, Coordinator: other}}
			l.waits[l.last] = true
			a.Tell(l.txs[l.last].wish)
		}
	}
	l.outlived(0, nil)
}

func (l *leader) outlived(n uint64, err error) {
	delete(l.waits, n)
	if !errors.Is(err, protocol.ErrNotRecoverable) && err != nil {
		l.then = nil // it can't be known
	}
	if then := l.then; then != nil && len(l.waits) == 0 {
		l.then = nil
		then()
	}
}

func (l *leader) adopt(a *recipetest.Actor, id string) {
	l.last++
	wish := protocol.Recover{N: l.last, ID: id}
	l.txs[l.last] = &led{wish: wish}
	a.Tell(wish)
}

func (l *leader) abort(a *recipetest.Actor, n uint64) {
	if t := l.txs[n]; t != nil && t.abort == nil {
		t.abort = &protocol.Abort{N: n, Reason: "no more"}
		a.Tell(*t.abort)
	}
}

// abandon gives up what has not begun, as far as is known.
func (l *leader) abandon(a *recipetest.Actor, n uint64) {
	t := l.txs[n]
	if t == nil || t.abort != nil {
		return
	}
	if _, begun := t.wish.(protocol.Resume); !begun {
		t.alone, t.abort = true, &protocol.Abort{N: n, Reason: "given up"}
		a.Tell(*t.abort)
	}
}

func (l *leader) standing() []machine.Event {
	var all []machine.Event
	for _, t := range l.noted {
		all = append(all, protocol.Keep{ID: t.wish.(protocol.Resume).ID, GUID: t.guid, Czxid: t.czxid})
	}
	for n := range l.last + 1 {
		t := l.txs[n]
		if t == nil {
			continue
		}
		if b, ok := t.wish.(protocol.Recover); ok {
			b.Again = true
			t.wish = b
		}
		all = append(all, t.wish)
		if t.abort != nil {
			all = append(all, *t.abort)
		}
	}
	return all
}

func (l *leader) perform(a *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case protocol.Sent:
		b := l.txs[e.N].wish.(protocol.Begin)
		b.Floor = e.Floor
		l.txs[e.N].wish = b
	case protocol.Begun:
		b, ok := l.txs[e.N].wish.(protocol.Begin)
		if !ok {
			return // told already, before a crash
		}
		l.begun = append(l.begun, e.N)
		l.txs[e.N].wish = protocol.Resume{N: e.N, ID: b.ID, GUID: b.GUID, Sites: b.Sites}
	case protocol.Recovered:
		if l.most == 0 && slices.ContainsFunc(l.noted, func(t *led) bool { return t.guid == e.GUID }) {
			panic(failure(e.GUID + " is recovered, and the application has it"))
		}
		if a, ok := l.txs[e.N].wish.(protocol.Recover); ok {
			l.txs[e.N].guid = e.GUID
			l.truth.adopted[e.GUID] = true
			l.txs[e.N].adopted = true
			l.txs[e.N].wish = protocol.Resume{N: e.N, ID: a.ID, GUID: e.GUID, Sites: e.Sites}
		}
	case protocol.Refused:
		if l.waits[e.N] {
			defer l.outlived(e.N, e.Err)
		}
		if l.truth.forgotten() && errors.Is(e.Err, protocol.ErrGone) {
			delete(l.txs, e.N)
			return
		}
		if !errors.Is(e.Err, protocol.ErrInUse) && !errors.Is(e.Err, protocol.ErrFinished) && !errors.Is(e.Err, protocol.ErrNotRecoverable) && !errors.Is(e.Err, protocol.ErrWithdrew) &&
			!errors.Is(e.Err, recipetest.ErrRefused) {
			panic(failure("refused: " + e.Err.Error()))
		}
		if t := l.txs[e.N]; t != nil {
			if _, begins := t.wish.(protocol.Begin); begins {
				l.truth.refuse(t.guid)
			}
		}
		delete(l.txs, e.N)
	case protocol.Decided:
		l.truth.learn(l.txs[e.N].guid, e.Outcome)
		l.txs[e.N].outcome, l.txs[e.N].shared = e.Outcome, e.Shared
	case protocol.Denied:
		t := l.txs[e.N]
		_, t.lost = t.wish.(protocol.Resume)
		t.alone = true
		if t.abort == nil {
			t.abort = &protocol.Abort{N: e.N, Reason: "refused"}
		}
	case protocol.Failed:
		if (l.truth.forgotten() || l.truth.lost) && errors.Is(e.Err, protocol.ErrGone) {
			delete(l.txs, e.N)
			return
		}
		if errors.Is(e.Err, recipetest.ErrRefused) {
			delete(l.txs, e.N)
			return
		}
		panic(failure(fmt.Sprintf("%s failed: %v", l.txs[e.N].guid, e.Err)))
	case protocol.Over:
		t := l.txs[e.N]
		delete(l.txs, e.N)
		t.czxid = e.Czxid
		switch {
		case t.alone && (t.adopted || t.lost || t.outcome == protocol.Committed):
			a.Tell(protocol.Release{GUID: t.guid})
		case t.alone:
			l.settle(a, t)
		case l.notes == nil || l.notes():
			l.settle(a, t)
		default:
			l.noted = append(l.noted, t)
		}
	case protocol.OutcomeAcked:
		if e.Err != nil {
			panic(failure("acknowledged: " + e.Err.Error()))
		}
		delete(l.txs, e.N)
	}
}

// settleAll acknowledges what is learned.
func (l *leader) settleAll(a *recipetest.Actor) {
	for _, t := range l.noted {
		l.settle(a, t)
	}
	l.noted = nil
}

func (l *leader) settle(a *recipetest.Actor, t *led) {
	r := t.wish.(protocol.Resume)
	l.last++
	wish := protocol.AckOutcome{N: l.last, ID: r.ID, GUID: r.GUID, Sites: r.Sites, Outcome: t.outcome, Shared: t.shared}
	l.txs[l.last] = &led{wish: wish, guid: r.GUID}
	a.Tell(wish)
}
