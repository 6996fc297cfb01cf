package produce_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

const (
	queue = layout.Root("/q")
	guard = "/guard"
)

// world is the queue as a judge sees it, with some producers and one who takes.
type world struct {
	*recipetest.World
	recipetest.Chance
	producers []*producer
	taker     *recipetest.Actor
	keeper    *recipetest.Actor
	judge     judge
	wipes     bool // the queue is deleted now and then
	refuses   bool
	bounds    bool // somebody sets a capacity
	calm      int
}

// producer is a face that puts.
type producer struct {
	world *world
	name  string
	actor *recipetest.Actor
	cfg   produce.Config
	no    uint64
	fresh bool   // the first machine: it is told everything from the mailbox
	calls []*put // that wait, in order
}

// put is what the judge knows of one.
type put struct {
	by        *producer
	wish      produce.Put
	told      int // the instant
	began     int64
	sent      bool
	withdrawn bool
	swept     bool   // it may have been put, and gone at once
	seen      []spot // where its items were seen
	guarded   bool   // the guard was there when they were seen first
	gap       bool   // there was an instant without the guard
	full      bool   // there was one without room
	taken     bool   // there was one with an item of one of its ids
	bounded   bool   // there was one with a capacity, or with what lets none be set
	settled   bool
	at        int
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(60, 300), func(c recipetest.Chance) {
		w := newWorld(c)
		for range c.Pick(600) {
			w.happen()
			w.inspect()
		}
		w.conclude()
	})
}

func newWorld(c recipetest.Chance) *world {
	w := &world{World: recipetest.NewWorld(c.Pick), Chance: c, judge: newJudge()}
	w.calm = []int{1, 5, 30}[c.Pick(3)]
	w.wipes, w.refuses, w.bounds = c.Pick(4) == 0, c.Pick(4) == 0, c.Pick(2) == 0
	w.addTaker()
	w.addKeeper()
	for n := range 1 + c.Pick(3) {
		p := &producer{world: w, name: fmt.Sprint("p", n), fresh: true}
		p.cfg = produce.Config{Root: queue, GUID: p.name, Home: n, Limit: 2 + c.Pick(4)}
		if w.bounds && c.Pick(2) == 0 {
			p.cfg.Capacity = 5 + c.Pick(2)/2*20
		}
		p.actor = w.Add(recipetest.Player{Name: p.name, Machine: p.machine, Standing: p.standing, Perform: p.perform})
		w.producers = append(w.producers, p)
	}
	return w
}

func (p *producer) machine() machine.Machine {
	cfg := p.cfg
	if !p.fresh {
		cfg.Floor = p.no
	}
	p.fresh = false
	return produce.New(cfg)
}

func (p *producer) standing() (all []machine.Event) {
	for _, c := range p.calls {
		wish := c.wish
		wish.Stands, wish.Again = true, c.sent
		all = append(all, wish)
	}
	return all
}

// happen lets one thing happen, good or bad.
func (w *world) happen() {
	p := w.producers[w.Pick(len(w.producers))]
	what := w.Pick(30)
	if what < 9 && w.Pick(w.calm) > 0 {
		what = 29
	}
	switch what {
	case 0:
		p.actor.Disconnect()
	case 1, 2:
		p.actor.Reconnect()
	case 3:
		p.sweeps()
		p.actor.Expire()
	case 4:
		p.sweeps()
		p.actor.Crash()
	case 5:
		if w.refuses {
			p.actor.Refuse(func(machine.Effect) bool { return w.Pick(2) == 0 })
		}
	case 6:
		w.Reap()
	case 7:
		if w.wipes && w.Pick(3) == 0 {
			w.deleteAll(string(queue))
			w.judge.era++
		}
	case 8:
		if len(p.calls) > 0 {
			c := p.calls[w.Pick(len(p.calls))]
			c.withdrawn = true
			p.actor.Tell(produce.Withdraw{No: c.wish.No})
		}
	case 10, 11, 12:
		p.put()
	case 13:
		for range 1 + w.Pick(9) {
			p.put()
		}
	case 14, 15, 16:
		w.taker.Tell(take{})
	case 17:
		w.keeper.Tell(keep{})
	default:
		w.Step()
	}
}

// Failf ends the schedule, and tells its story.
func (w *world) Failf(format string, args ...any) {
	w.Log("%s", w.Story())
	w.Chance.Failf(format, args...)
}

// sweeps: what is ephemeral among what is under way may be put and gone in the same instant.
func (p *producer) sweeps() {
	for _, c := range p.calls {
		if c.swept = c.wish.Items[0].Ephemeral; c.swept {
			for _, o := range p.world.judge.puts {
				o.taken = true
			}
		}
	}
}

func (w *world) deleteAll(path string) {
	for _, child := range w.Children(path) {
		w.deleteAll(path + "/" + child)
	}
	w.Delete(path)
}

// put puts one item or several.
func (p *producer) put() {
	w := p.world
	p.no++
	n := 1
	if w.Pick(3) == 0 {
		n += w.Pick(5)
	}
	c := &put{by: p, told: w.judge.now, began: w.Now()}
	c.wish = produce.Put{No: p.no, GUID: fmt.Sprintf("%08x-0000-4000-8000-%08xabcd", p.no, p.cfg.Home)}
	if n == 1 && w.Pick(5) > 0 { // it counts on
		c.wish.GUID = place.Member(fmt.Sprintf("00000000-0000-4000-8000-%08xabcd", p.cfg.Home), int(p.no))
	}
	first := produce.Item{Priority: w.Pick(2), Ephemeral: w.Pick(12) == 0}
	if !first.Ephemeral && w.Pick(8) == 0 {
		first.Delay = int64(1 + w.Pick(5000))
	}
	for k := range n {
		i := first
		i.Data = fmt.Appendf(nil, "%s-%d-%d", p.name, p.no, k)
		if w.Pick(3) == 0 {
			i.ID = fmt.Sprint("id", w.Pick(6))
		}
		c.wish.Items = append(c.wish.Items, i)
	}
	if w.Pick(6) == 0 {
		c.wish.Under = []machine.Op{{Do: machine.Check, Path: guard, Version: machine.Any}}
	}
	p.calls = append(p.calls, c)
	w.judge.puts = append(w.judge.puts, c)
	for _, i := range c.wish.Items {
		w.judge.items[string(i.Data)] = c
	}
	p.actor.Tell(c.wish)
}

func (p *producer) perform(_ *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case produce.Sending:
		for _, c := range p.calls {
			c.sent = c.sent || slices.Contains(e.Nos, c.wish.No)
		}
	case produce.Late:
	case produce.Settled:
		n := slices.IndexFunc(p.calls, func(c *put) bool { return c.wish.No == e.No })
		if n < 0 {
			p.world.Failf("%s: %d is settled twice", p.name, e.No)
		}
		c := p.calls[n]
		p.calls = slices.Delete(p.calls, n, n+1)
		p.world.settled(c, e)
	default:
		p.world.Failf("%s: %T", p.name, e)
	}
}

// conclude lets everything come to rest without further faults: every put is answered, and others
// after it are as well.
func (w *world) conclude() {
	for range 3 {
		w.Heal()
		for range 20_000 {
			if w.Settle(1) {
				break
			}
			w.inspect()
		}
		w.inspect()
		for _, p := range w.producers {
			if len(p.calls) > 0 {
				w.Failf("%s: %d is not answered", p.name, p.calls[0].wish.No)
			}
			if stopped, err := p.actor.Stopped(); stopped {
				w.Failf("%s has stopped: %v", p.name, err)
			}
			p.put()
		}
		w.judge.now++
	}
}

// take is the wish that the taker take something, and that it give back the room.
type take struct{}

// keep is the wish that the guard come or go.
type keep struct{}

type taker struct {
	world    *world
	requests machine.Requests[string]
	path     string
	ids      []string
	count    int
}

func (w *world) addTaker() {
	w.taker = w.Add(recipetest.Player{Name: "taker", Machine: func() machine.Machine { return &taker{world: w} }})
}

func (t *taker) Step(ev machine.Event) []machine.Effect {
	stripe := place.Root(queue).Stripe(0)
	if _, ok := t.requests.Accept(ev); !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		t.requests.Begin(ev.Epoch)
	case take:
		paths := slices.Sorted(maps.Keys(t.world.judge.here))
		if t.path != "" || len(paths) == 0 {
			break
		}
		t.path, t.ids = paths[t.world.Pick(len(paths))], nil
		here := t.world.judge.here[t.path]
		for _, r := range here.records {
			if r.ID != "" {
				t.ids = append(t.ids, queue.ID(r.ID))
			}
		}
		if t.count = 0; here.room {
			t.count = len(here.records)
			t.requests.Ask(machine.Read{Path: stripe}, "")
			break
		}
		t.take(nil)
	case machine.Seen:
		left := 0
		_, _ = fmt.Sscan(string(ev.Data), &left)
		t.take([]machine.Op{{Do: machine.Set, Path: stripe, Data: fmt.Append(nil, left+t.count), Version: ev.Stat.Version}})
	case machine.Transacted:
		t.path = ""
	}
	return t.requests.Flush()
}

func (t *taker) take(ops []machine.Op) {
	for _, id := range t.ids {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: id, Version: machine.Any})
	}
	t.requests.Ask(machine.Transact{Ops: append(ops, machine.Op{Do: machine.Delete, Path: t.path, Version: machine.Any})}, "")
}

// keeper has the guard come and go, and with it a consumer.
type keeper struct {
	world    *world
	requests machine.Requests[string]
}

func (w *world) addKeeper() {
	w.keeper = w.Add(recipetest.Player{Name: "keeper", Machine: func() machine.Machine { return &keeper{world: w} }})
}

func (k *keeper) Step(ev machine.Event) []machine.Effect {
	if _, ok := k.requests.Accept(ev); !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		k.requests.Begin(ev.Epoch)
	case keep:
		if k.world.Exists(guard) {
			k.requests.Ask(machine.Transact{Ops: []machine.Op{{Do: machine.Delete, Path: guard, Version: machine.Any}}}, "guard")
		} else {
			k.requests.Ask(machine.Ensure{Path: guard}, "guard")
		}
		if k.world.Exists(queue.Work()) {
			k.requests.Ask(machine.Ensure{Path: queue.Alive(fmt.Sprint(k.world.Pick(3)))}, "consumer")
		}
	}
	return k.requests.Flush()
}
