// Random schedules: coordinators and sites that crash, die and come back, lose connections and
// sessions, and are refused something, in any order.

package protocol_test

import (
	"errors"
	"fmt"
	"runtime/debug"
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
	seats   []*recipetest.Actor // of the leaders
	voters  map[string]*recipetest.Actor
	peers   bool
	dead    map[*recipetest.Actor]bool
	refused bool            // a coordinator was refused something
	barred  map[string]bool // what a dead coordinator asked for, and did not stand when that was known to be over
	born    int
	begun   int
}

var names = []string{"x", "y", "z"}

func newPlay(choose func(n int) int) *play {
	p := &play{choose: choose, world: recipetest.NewWorld(choose), truth: newTruth(), voters: map[string]*recipetest.Actor{}, dead: map[*recipetest.Actor]bool{}, barred: map[string]bool{}}
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
	l.notes = func() bool { return p.choose(4) > 0 }
	p.leaders = append(p.leaders, l)
	p.seats = append(p.seats, p.world.Add(l.player(fmt.Sprint("leader", p.born), 1000)))
}

func (p *play) seat(name string) {
	p.born++
	v := newVoter(p.truth, name, func(string) (bool, bool) { n := p.choose(8); return n > 0, n < 7 })
	p.voters[name] = p.world.Add(v.player(fmt.Sprint("guid", p.born)))
}

// begin begins one, at some coordinator.
func (p *play) begin() (leader int) {
	i := p.choose(len(p.seats))
	p.begun++
	sites := names[:1+p.choose(len(names))]
	// ids are used again
	p.leaders[i].begin(p.seats[i], fmt.Sprint("t", p.begun%4), guid(p.begun), p.peers, sites...)
	return i
}

// stumble begins something, crashes over it, and perhaps gives it up.
func (p *play) stumble() {
	i := p.begin()
	l, n := p.leaders[i], p.leaders[i].last
	for range 50 {
		if t := l.txs[n]; t == nil || t.sent() {
			break
		}
		p.world.Step()
	}
	for range p.choose(3) {
		p.world.Step()
	}
	p.seats[i].Crash()
	if p.choose(2) == 0 {
		l.abandon(p.seats[i], n)
	}
}

// guid looks like one.
func guid(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

// happen lets one thing happen, mostly a good one.
func (p *play) happen() {
	all := p.world.Actors()
	a := all[p.choose(len(all))]
	switch p.choose(120) {
	case 0:
		a.Disconnect()
	case 1, 2:
		a.Reconnect()
	case 3:
		a.Expire()
	case 4:
		a.Crash()
	case 5:
		if p.dead[a] = true; p.choose(2) == 0 {
			a.Kill()
		} else {
			a.KillMidway()
		}
	case 6:
		p.world.Bury()
	case 7:
		p.revive(names[p.choose(len(names))])
	case 8:
		if len(p.seats) < 4 {
			p.lead()
		}
	case 9:
		p.recover()
	case 10, 20, 21:
		p.world.Reap()
	case 11:
		i := p.choose(len(p.seats))
		p.leaders[i].abort(p.seats[i], uint64(1+p.choose(4)))
	case 18:
		i := p.choose(len(p.seats))
		p.leaders[i].abandon(p.seats[i], p.leaders[i].last)
	case 19:
		i := p.choose(len(p.seats))
		p.leaders[i].settleAll(p.seats[i])
	case 12, 13, 14, 15, 16, 17:
		if p.begun < 12 {
			p.begin()
		}
	case 23, 24, 25, 26:
		p.refuse(a)
	case 22:
		if p.begun < 12 {
			p.stumble()
		}
	default:
		p.world.Step()
	}
}

// revive starts a site's process again, also one that does not know that the other still lives.
func (p *play) revive(name string) {
	if p.born < 30 {
		p.seat(name)
	}
}

// end lets everybody come back, and everything come to its end.
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
	for i, l := range p.leaders { // what they learned, and what they gave up and others committed
		l.notes = nil
		l.settleAll(p.seats[i])
		for _, id := range p.world.Children(root.Transactions()) {
			l.adopt(p.seats[i], id)
		}
	}
	p.settle()
	for _, a := range p.world.Actors() {
		if over, err := a.Stopped(); over && !errors.Is(err, protocol.ErrDuplicate) {
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

// concluded: whoever has died, nothing stays undecided until it is recovered.
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

// refuse has something refused to a coordinator for a moment, of what does not keep its presence
// from being made.
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
			return last.Do == machine.Set && (strings.HasPrefix(last.Path, tx) || strings.HasPrefix(last.Path, root.Inbox("x")[:len(root)+7]))
		}
		return false
	}) || p.refused
}

// recover has the newest coordinator take over what there is.
func (p *play) recover() {
	i := len(p.seats) - 1
	if p.dead[p.seats[i]] {
		return
	}
	var gone []*leader
	for n, seat := range p.seats {
		if p.dead[seat] {
			gone = append(gone, p.leaders[n])
		}
	}
	p.leaders[i].outlive(p.seats[i], p.world.Children(root.Coordinators()), func() {
		p.bar(gone)
		for _, id := range p.world.Children(root.Transactions()) {
			p.leaders[i].adopt(p.seats[i], id)
		}
	})
}

// bar: nothing that dead coordinators have begun comes any more, but what stands.
func (p *play) bar(gone []*leader) {
	standing := p.standing()
	for _, l := range gone {
		for _, guid := range l.asked {
			p.barred[guid] = p.barred[guid] || !strings.Contains(standing, guid)
		}
	}
}

// standing are all records.
func (p *play) standing() string {
	var all strings.Builder
	for _, id := range p.world.Children(root.Transactions()) {
		all.Write(p.world.Data(root.Tx(id)))
	}
	return all.String()
}

// late complains of what came after it was known that nothing does.
func (p *play) late() {
	standing := p.standing()
	for guid, barred := range p.barred {
		if barred && strings.Contains(standing, guid) {
			panic(failure(guid + " comes late"))
		}
	}
}

// TestSchedules: whatever happens in whatever order, nobody learns another outcome than anybody
// else, and everything comes to its end.
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
			p.late()
		}
		p.end()
		p.late()
	})
	t.Logf("%d transactions, commits learned %d times", decided.Load(), commits.Load())
	require.False(t, commits.Load() < played.Load()/2 || decided.Load() < played.Load(), "hardly anything was decided: the schedules prove nothing")
}

// TestWhatIsOverWaitsForNoWatch: transactions come and go while their coordinator and their site
// live, whose presences each of them watches. Nothing is left of those that are over.
func TestWhatIsOverWaitsForNoWatch(t *testing.T) {
	t.Parallel()
	world, all := recipetest.NewWorld(func(int) int { return 0 }), newTruth()
	l := newLeader(all)
	a := world.Add(l.player("c", 1000))
	x := world.Add(newVoter(all, "x", func(string) (bool, bool) { return true, true }).player("x1"))
	for n := range 50 {
		l.begin(a, fmt.Sprint("t", n), guid(n), false, "x")
		require.True(t, world.Settle(5000), "it does not come to rest")
	}
	require.Equal(t, 50, all.decided)
	require.LessOrEqual(t, a.Machine().(*mailbox).Machine.(*protocol.Coordinator).Armed(), 2, "its presence, and who comes")
	require.LessOrEqual(t, x.Machine().(*protocol.Site).Armed(), 2, "its presence, and its inbox")
}
