// Random schedules: coordinators and sites that crash, die and come back, lose connections and
// sessions, and are refused something, in any order.

package protocol_test

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// play is one random schedule. It panics with a failure if a promise is broken.
type play struct {
	choose  func(n int) int
	world   *recipetest.World
	truth   *truth
	leaders []*leader
	peers   bool // the sites decide
	dead    map[*recipetest.Actor]bool
	refused bool            // ZooKeeper has refused a coordinator's request
	barred  map[string]bool // the GUIDs of a dead coordinator's transactions without a record, when none could come any more
	born    int             // processes
	begun   int             // transactions
}

// Bounds of what happens in a schedule before its end.
const (
	maxBegun   = 12 // transactions
	maxLeaders = 4
	maxBorn    = 30 // processes
)

var names = []string{"x", "y", "z"} // the sites

func newPlay(choose func(n int) int) *play {
	p := &play{choose: choose, world: recipetest.NewWorld(choose), truth: newTruth(), dead: map[*recipetest.Actor]bool{}, barred: map[string]bool{}}
	p.peers = choose(2) == 1
	p.lead()
	for _, name := range names {
		p.seat(name)
	}
	return p
}

func (p *play) lead() {
	p.born++
	l := newLeader(p.truth)
	l.acksAtOnce = func() bool { return p.choose(4) > 0 }
	p.leaders = append(p.leaders, l)
	l.join(p.world, fmt.Sprint("leader", p.born))
}

func (p *play) seat(name string) {
	p.born++
	v := newVoter(p.truth, name, func(string) (bool, bool) { n := p.choose(8); return n > 0, n < 7 })
	v.join(p.world, fmt.Sprint("guid", p.born))
}

// begin begins a transaction, at some coordinator. Ids are used again.
func (p *play) begin() *leader {
	l := p.leader()
	p.begun++
	l.begin(fmt.Sprint("t", p.begun%4), guid(p.begun), p.peers, names[:1+p.choose(len(names))]...)
	return l
}

// stumble begins a transaction. The actor crashes over it, and the application perhaps gives it up.
func (p *play) stumble() {
	l := p.begin()
	n := l.last
	for range 50 {
		if t := l.txs[n]; t == nil || t.sent() {
			break
		}
		p.world.Step()
	}
	for range p.choose(3) {
		p.world.Step()
	}
	l.actor.Crash()
	if p.choose(2) == 0 {
		l.abandon(n)
	}
}

// guid is the GUID of the nth transaction.
func guid(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

// chances are the things that may happen to an actor or to all, with their odds. Where that is not
// possible at the moment, nothing happens.
var chances = []struct {
	odds   int
	happen func(p *play, a *recipetest.Actor)
}{
	{93, func(p *play, _ *recipetest.Actor) { p.world.Step() }},
	{1, func(_ *play, a *recipetest.Actor) { a.Disconnect() }},
	{2, func(_ *play, a *recipetest.Actor) { a.Reconnect() }},
	{1, func(_ *play, a *recipetest.Actor) { a.Expire() }},
	{1, func(_ *play, a *recipetest.Actor) { a.Crash() }},
	{1, (*play).kill},
	{1, func(p *play, _ *recipetest.Actor) { p.world.Bury() }},
	{3, func(p *play, _ *recipetest.Actor) { p.world.Reap() }},
	{4, (*play).refuse},
	{6, func(p *play, _ *recipetest.Actor) {
		if p.begun < maxBegun {
			p.begin()
		}
	}},
	{1, func(p *play, _ *recipetest.Actor) {
		if p.begun < maxBegun {
			p.stumble()
		}
	}},
	{1, func(p *play, _ *recipetest.Actor) { p.recover() }},
	{1, func(p *play, _ *recipetest.Actor) { p.revive() }},
	{1, func(p *play, _ *recipetest.Actor) {
		if len(p.leaders) < maxLeaders {
			p.lead()
		}
	}},
	{1, func(p *play, _ *recipetest.Actor) { p.leader().abort(uint64(1 + p.choose(4))) }},
	{1, func(p *play, _ *recipetest.Actor) { l := p.leader(); l.abandon(l.last) }},
	{1, func(p *play, _ *recipetest.Actor) { p.leader().settleAll() }},
}

// happen lets one thing happen.
func (p *play) happen() {
	actors := p.world.Actors()
	a, n := actors[p.choose(len(actors))], p.choose(120) // the sum of the odds
	for _, c := range chances {
		if n -= c.odds; n < 0 {
			c.happen(p, a)
			return
		}
	}
}

func (p *play) leader() *leader { return p.leaders[p.choose(len(p.leaders))] }

func (p *play) kill(a *recipetest.Actor) {
	if p.dead[a] = true; p.choose(2) == 0 {
		a.Kill()
	} else {
		a.KillMidway()
	}
}

// revive starts a process of a site. The one before may live still.
func (p *play) revive() {
	if p.born < maxBorn {
		p.seat(names[p.choose(len(names))])
	}
}

// end starts all processes again, and has every transaction come to its end.
func (p *play) end() {
	if p.choose(2) == 0 {
		for _, a := range p.world.Actors() {
			a.Kill()
		}
	}
	p.world.Bury()
	p.lead()
	for _, name := range names {
		p.seat(name)
	}
	p.world.Heal()
	if p.choose(2) == 0 {
		p.settle()
		if !p.refused { // else a live coordinator may have had to leave one alone
			p.concluded()
		}
	}
	p.recover()
	p.settle()
	for _, l := range p.leaders { // each acknowledges what it has learned, and takes over what it gave up and another has committed
		l.acksAtOnce = nil
		l.settleAll()
		for _, id := range p.world.Children(root.Transactions()) {
			l.adopt(id)
		}
	}
	p.settle()
	for _, a := range p.world.Actors() {
		if stopped, err := a.Stopped(); stopped && !errors.Is(err, protocol.ErrDuplicate) {
			panic(failure(fmt.Sprintf("%v stopped: %v", a, err)))
		}
	}
	if left := p.world.Children(root.Transactions()); len(left) > 0 {
		panic(failure(fmt.Sprintf("left behind: %v", left)))
	}
	for _, name := range names {
		if left := p.world.Children(root.Inbox(name)); len(left) > 0 {
			panic(failure(fmt.Sprintf("left in the inbox of %s: %v", name, left)))
		}
	}
}

// concluded: no transaction stays undecided until it is recovered, whichever processes have died.
func (p *play) concluded() {
	for _, id := range p.world.Children(root.Transactions()) {
		if data := p.world.Data(root.Tx(id)); strings.Contains(string(data), `"state":"undecided"`) {
			panic(failure(fmt.Sprintf("nobody decides %s: %s", id, data)))
		}
	}
}

func (p *play) settle() {
	if !p.world.Settle(20_000) {
		panic(failure("it does not come to rest"))
	}
}

// refuse has ZooKeeper refuse some requests of a coordinator for a moment, but none that creates
// its presence.
func (p *play) refuse(a *recipetest.Actor) {
	tx := root.Transactions() + "/"
	if !strings.HasPrefix(a.Name, "leader") {
		return
	}
	p.refused = a.Refuse(func(e machine.Effect) bool {
		switch e := e.(type) {
		case machine.Read:
			return e.Path != root.Coordinator(a.Name)
		case machine.List:
			return e.Path == root.Presences()
		case machine.Transact: // a begin, a decision, or a takeover
			last := e.Ops[len(e.Ops)-1]
			return last.Do == machine.Set && (strings.HasPrefix(last.Path, tx) || strings.HasPrefix(last.Path, string(root)+"/inbox/"))
		}
		return false
	}) || p.refused
}

// recover has the newest coordinator take over the transactions.
func (p *play) recover() {
	newest := p.leaders[len(p.leaders)-1]
	if p.dead[newest.actor] {
		return
	}
	dead := slices.DeleteFunc(slices.Clone(p.leaders), func(l *leader) bool { return !p.dead[l.actor] })
	newest.outlive(p.world.Children(root.Coordinators()), func() {
		p.bar(dead)
		for _, id := range p.world.Children(root.Transactions()) {
			newest.adopt(id)
		}
	})
}

// bar: from now on no transaction of a dead coordinator appears that has no record yet.
func (p *play) bar(dead []*leader) {
	records := p.records()
	for _, l := range dead {
		for _, guid := range l.asked {
			p.barred[guid] = p.barred[guid] || !strings.Contains(records, guid)
		}
	}
}

// records are the data of all records, one behind the other.
func (p *play) records() string {
	var all strings.Builder
	for _, id := range p.world.Children(root.Transactions()) {
		all.Write(p.world.Data(root.Tx(id)))
	}
	return all.String()
}

// checkBarred fails if a barred transaction has appeared.
func (p *play) checkBarred() {
	records := p.records()
	for guid, barred := range p.barred {
		if barred && strings.Contains(records, guid) {
			panic(failure(guid + " appears after it was barred"))
		}
	}
}

// TestSchedules: in every order of events all processes learn one outcome of a transaction, and
// every transaction comes to its end.
func TestSchedules(t *testing.T) {
	t.Parallel()
	var played, commits, decided atomic.Int64
	recipetest.Schedules(t, tier.Count(400, 4000), func(c recipetest.Chance) {
		p := newPlay(c.Pick)
		defer func() {
			if broken := recover(); broken != nil {
				c.Failf("%v\n%s\n%s", broken, debug.Stack(), p.world.Story())
			}
			played.Add(1)
			commits.Add(int64(p.truth.commits))
			decided.Add(int64(p.truth.decided))
		}()
		for range 50 + c.Pick(800) {
			p.happen()
			p.checkBarred()
		}
		p.end()
		p.checkBarred()
	})
	t.Logf("%d transactions, commits learned %d times", decided.Load(), commits.Load())
	require.False(t, commits.Load() < played.Load()/2 || decided.Load() < played.Load(), "hardly anything was decided: the schedules prove nothing")
}

// TestAnEndedTransactionWaitsForNoWatch: transactions come and go while their coordinator and their
// site live, whose presences each transaction watches. The subscriptions end with the transactions.
func TestAnEndedTransactionWaitsForNoWatch(t *testing.T) {
	t.Parallel()
	world, all := recipetest.NewWorld(func(int) int { return 0 }), newTruth()
	l := newLeader(all)
	x := newVoter(all, "x", func(string) (bool, bool) { return true, true })
	l.join(world, "c")
	x.join(world, "x1")
	for n := range 50 {
		l.begin(fmt.Sprint("t", n), guid(n), false, "x")
		require.True(t, world.Settle(5000), "it does not come to rest")
	}
	require.Equal(t, 50, all.decided)
	require.LessOrEqual(t, l.actor.Machine().(*mailbox).Machine.(*protocol.Coordinator).Armed(), 2, "its presence, and who comes")
	require.LessOrEqual(t, x.actor.Machine().(*protocol.Site).Armed(), 2, "its presence, and its inbox")
}
