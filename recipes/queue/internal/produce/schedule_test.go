package produce_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

const queue = layout.Root("/q")

// world is the queue as a judge sees it, with some producers, and others who take and move.
type world struct {
	*recipetest.World
	recipetest.Chance
	judge
	producers []*producer
	others    *recipetest.Actor
	wipes     bool // something is deleted by hand now and then
	refuses   bool
	calm      int
}

// producer is a face that puts.
type producer struct {
	produce.Config
	world *world
	actor *recipetest.Actor
	no    uint64
	fresh bool   // the first machine: it is told everything from the mailbox
	calls []*put // that wait, in order
}

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(m)
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
	w := &world{World: recipetest.NewWorld(c.Pick), Chance: c, judge: judge{items: make(map[string]*put), gone: make(map[string]bool)}}
	w.calm, w.wipes, w.refuses = []int{1, 5, 30}[c.Pick(3)], c.Pick(4) == 0, c.Pick(4) == 0
	bounds := c.Pick(2) == 0
	w.others = w.Add(recipetest.Player{Name: "others", Machine: func() machine.Machine { return others(w.act) }})
	for n := range 1 + c.Pick(3) {
		p := &producer{Config: produce.Config{Root: queue, GUID: fmt.Sprint("p", n), Limit: 2 + c.Pick(4)}, world: w, fresh: true}
		if bounds && c.Pick(2) == 0 {
			p.Capacity = 5 + c.Pick(3)/2*5
		}
		p.actor = w.Add(recipetest.Player{Name: p.GUID, Machine: p.machine, Standing: p.standing, Perform: p.perform})
		w.producers = append(w.producers, p)
	}
	return w
}

func (p *producer) machine() machine.Machine {
	if !p.fresh {
		p.Floor = p.no
	}
	p.fresh = false
	return produce.New(p.Config)
}

func (p *producer) standing() (all []machine.Event) {
	for _, c := range p.calls {
		wish := c.Put
		wish.Stands, wish.Again = true, c.sent
		all = append(all, wish)
	}
	return all
}

// happen lets one thing happen, good or bad.
func (w *world) happen() {
	p := w.producers[w.Pick(len(w.producers))]
	what := w.Pick(50)
	switch putting := p.actor.Machine().(*produce.Machine).Phase() == "Putting"; {
	case putting && w.Pick(5*w.calm) == 0:
		what = []int{0, 0, 1, 1, 3, 4}[w.Pick(6)] // the answer may be lost
	case what < 8 && w.Pick(w.calm) > 0:
		what = 49
	}
	switch what {
	case 0:
		p.actor.Disconnect()
	case 1, 2:
		p.actor.Reconnect()
	case 3:
		p.actor.Expire()
	case 4:
		p.actor.Crash()
	case 5:
		if w.refuses {
			p.actor.Refuse(func(machine.Effect) bool { return w.Pick(2) == 0 })
		}
	case 6:
		w.Reap()
		if w.wipes && w.Pick(3) == 0 {
			w.deleteAll([]string{string(queue), queue.Size(), queue.Claims(), queue.Bell()}[w.Pick(4)])
			w.era++
		}
	case 7:
		if len(p.calls) > 0 {
			c := p.calls[w.Pick(len(p.calls))]
			c.withdrawn = true
			p.actor.Tell(produce.Withdraw{No: c.No})
		}
	case 8, 9, 10:
		for range 1 + w.Pick(6)*(w.Pick(4)/3) {
			p.put()
		}
	case 11, 12, 13, 14, 15:
		w.others.Tell(act{})
	default:
		w.Step()
	}
}

// Failf ends the schedule, and tells its story.
func (w *world) Failf(format string, args ...any) {
	w.Log("%s", w.Story())
	w.Chance.Failf(format, args...)
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
	c := &put{Put: produce.Put{No: p.no, GUID: fmt.Sprintf("%s-%d", p.GUID, p.no)}, by: p, told: w.now, began: w.Now()}
	priority, delay := w.Pick(2), int64(w.Pick(5000)*(w.Pick(8)/7))
	for k := range 1 + w.Pick(5)*(w.Pick(3)/2) {
		i := produce.Item{Data: fmt.Appendf(nil, "%s-%d", c.GUID, k), Priority: priority, Delay: delay}
		if w.Pick(6) == 0 {
			i.ID = fmt.Sprint("id", w.Pick(6))
		}
		c.Items = append(c.Items, i)
		w.items[string(i.Data)] = c
	}
	p.calls, w.puts = append(p.calls, c), append(w.puts, c)
	p.actor.Tell(c.Put)
}

func (p *producer) perform(_ *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case produce.Sending:
		for _, c := range p.calls {
			c.sent = c.sent || slices.Contains(e.Nos, c.No)
		}
	case produce.Settled:
		n := slices.IndexFunc(p.calls, func(c *put) bool { return c.No == e.No })
		if n < 0 {
			p.world.Failf("%s: %d is settled twice", p.GUID, e.No)
		}
		c := p.calls[n]
		p.calls = slices.Delete(p.calls, n, n+1)
		p.world.settled(c, e)
	}
}

// conclude lets everything come to rest without further faults: every put is answered, and others
// after it are as well.
func (w *world) conclude() {
	for range 3 {
		w.Heal()
		for n := 0; n < 20_000 && !w.Settle(1); n++ {
			w.inspect()
		}
		w.inspect()
		for _, p := range w.producers {
			if stopped, _ := p.actor.Stopped(); stopped || len(p.calls) > 0 {
				w.Failf("%s has stopped, or does not answer", p.GUID)
			}
			p.put()
		}
	}
}

// others take what lies in the queue, move it to where it pauses and back, and delete buckets, when
// they are told so.
type others func() []machine.Op

type act struct{}

func (o others) Step(ev machine.Event) []machine.Effect {
	if _, ok := ev.(act); !ok {
		return nil
	}
	return []machine.Effect{machine.Transact{Epoch: 1, Ask: 1, Ops: o()}}
}

func (w *world) act() (ops []machine.Op) {
	remove := func(path string) {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
	}
	bodies, buckets := slices.Sorted(maps.Keys(w.lies)), w.buckets()
	if len(bodies) == 0 {
		return nil
	}
	i, b := w.lies[bodies[w.Pick(len(bodies))]], buckets[w.Pick(len(buckets))]
	data := w.Data(i.Path(queue))
	r, _ := layout.ParseRecord(data)
	switch id, _ := queue.ID(r.ID); w.Pick(4) {
	case 0: // a bucket that is sealed and empty
		if ops = append(ops, machine.Op{Do: machine.Delete, Path: queue.Bucket(b), Version: 1}); !b.Lane.Later {
			remove(queue.ClaimsOf(b))
		}
	case 1: // an item is moved
		remove(i.Path(queue))
		to := queue.Bucket(b) + "/" + layout.Item{Bucket: b, GUID: i.GUID}.Head()
		ops = append(ops, machine.Op{Do: machine.Create, Path: to, Data: data, Sequential: true},
			machine.Op{Do: machine.Set, Path: queue.Later(), Version: machine.Any})
	default: // it is taken
		if remove(i.Path(queue)); r.ID != "" {
			remove(id)
		}
	}
	return ops
}
