package consume_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

func TestMain(m *testing.M) { tier.Main(m) }

// Everything that may happen happens, in an order that is drawn. Nobody has what somebody else has,
// nothing is delivered when it was acknowledged, an attempt counts, each item is in one place. In
// the end nothing is left.
func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(80, 20_000), func(c recipetest.Chance) {
		w := &world{World: recipetest.NewWorld(c.Pick), Chance: c, items: make(map[string]*item)}
		defer func() {
			if f := recover(); f != nil {
				c.Log("%s", w.Story())
				panic(f)
			}
		}()
		w.limit, w.attempts, w.refuses = 3, c.Pick(4), c.Pick(4) == 0
		w.hurries, w.vandals = c.Pick(2) == 0, c.Pick(4) == 0
		calm := []int{1, 8, 50}[c.Pick(3)]
		if c.Pick(3) == 0 {
			w.Sleep(12)
		}
		w.addProducer(0)
		for n := range 1 + c.Pick(4) {
			w.addConsumer(n, c.Pick(2) == 0)
		}
		for range c.Pick(800) {
			w.happen(calm)
			w.inspect()
		}
		w.conclude()
	})
}

// happen lets one thing happen, good or bad.
func (w *world) happen(calm int) {
	a := w.Actors()[w.Pick(len(w.Actors()))]
	c := w.consumers[w.Pick(len(w.consumers))]
	what := w.Pick(32)
	if what < 8 && w.Pick(calm) > 0 {
		what = 31
	}
	switch what {
	case 0:
		a.Disconnect()
	case 1, 2:
		a.Reconnect()
	case 3:
		a.Distrust()
	case 4, 5:
		a.Entrust()
	case 6:
		w.deaths, w.broken = w.deaths+8, true
		c.actor.Expire()
	case 7:
		w.deaths, w.broken = w.deaths+8, true
		c.actor.Crash()
	case 8, 9, 10:
		w.producers[0].Tell(put{1 + w.Pick(4), w.Pick(3), int64(w.Pick(5) / 4 * w.Pick(5000))})
	case 11, 12, 13, 14, 15, 16, 17:
		c.act()
	case 18:
		if w.refuses {
			write := w.Pick(2) == 0
			c.actor.Refuse(func(e machine.Effect) bool {
				_, ok := e.(machine.Transact)
				return ok == write
			})
		}
	case 19:
		if c == w.consumers[0] && len(w.consumers) > 1 && w.Pick(20) == 0 {
			c.close()
		}
	case 20:
		if w.vandals {
			w.vandalize()
		}
	case 21:
		if c == w.consumers[0] && len(w.consumers) > 1 && w.Pick(50) == 0 { // its session lives on
			w.Log("%s hangs", c.name)
			c.meter.hangs = true
		}
	default:
		w.Step()
	}
}

// vandalize deletes a place in line, what says that a consumer lives, or the bell.
func (w *world) vandalize() {
	all := []string{root.Bell()}
	for _, dir := range []string{root.Line(), root.Consumers()} {
		for _, name := range w.Children(dir) {
			all = append(all, path.Join(dir, name))
		}
	}
	w.Delete(all[w.Pick(len(all))])
}

// act receives an item, or settles one.
func (c *consumer) act() {
	w := c.world
	if nos := c.nos(func(*grip) bool { return true }); len(nos) > 0 && w.hurries && w.Pick(8) == 0 {
		c.lose(nos[w.Pick(len(nos))])
		return
	}
	if nos := c.nos(func(g *grip) bool { return !g.received }); len(nos) > 0 && w.Pick(3) > 0 {
		c.receive(nos[0])
		return
	}
	if nos := c.nos(func(g *grip) bool { return g.received }); len(nos) > 0 {
		no := nos[w.Pick(len(nos))]
		switch w.Pick(3) {
		case 0:
			c.settle(no, consume.Nack, int64(w.Pick(3)*100))
		default:
			c.settle(no, consume.Ack, 0)
		}
	}
}

func (c *consumer) close() {
	if stopped, _ := c.actor.Stopped(); stopped || c.closed {
		return
	}
	for _, no := range c.nos(func(g *grip) bool { return !g.received }) {
		c.settle(no, consume.Return, 0)
	}
	c.closed, c.world.broken = true, true
	c.world.deaths++
	c.actor.Tell(machine.Closing{})
}

// conclude lets everything come to rest without further faults. Nothing is left then.
func (w *world) conclude() {
	w.ending = true
	for range 4 {
		w.Heal()
		for _, c := range w.consumers {
			for _, no := range c.nos(func(*grip) bool { return true }) {
				c.finish(no)
			}
		}
		w.rest()
	}
	lives := false
	for _, c := range w.consumers {
		stopped, err := c.actor.Stopped()
		lives = lives || !stopped && !c.meter.hangs
		switch {
		case err != nil:
			w.Failf("%s: %v", c.name, err)
		case c.closed && !stopped && !c.meter.hangs:
			w.Failf("%s does not end", c.name)
		}
		for _, name := range append(w.Children(root.Line()), w.Children(root.Consumers())...) {
			if stopped && strings.HasPrefix(name, c.name+".") {
				w.Failf("%s is left", name)
			}
		}
	}
	if !lives {
		return
	}
	for _, dir := range []string{root.Items(), root.Later(), root.Claims()} {
		for _, bucket := range w.Children(dir) {
			for _, name := range w.Children(path.Join(dir, bucket)) {
				if !w.hung(bucket, name) {
					w.Failf("%s/%s/%s is left", dir, bucket, name)
				}
			}
		}
	}
	for _, i := range w.items {
		if i.holder != nil || w.consumers[0].meter.hangs {
			continue
		}
		if i.put && !i.acked && !w.broken && w.attempts == 0 {
			w.Failf("%s is lost", i.body)
		}
		if id, _ := root.ID(i.id); i.id != "" && w.Exists(id) {
			w.Failf("the id of %s is not free", i.body)
		}
	}
}

// hung tells whether an item is with the consumer that hangs.
func (w *world) hung(bucket, name string) bool {
	data := w.Data(path.Join(root.Claims(), bucket, name[len(name)-10:]))
	return w.consumers[0].meter.hangs && strings.HasPrefix(string(data), w.consumers[0].name+".")
}

// rest lets everything happen that is under way.
func (w *world) rest() {
	for range 50_000 {
		if w.Settle(1) {
			return
		}
		w.inspect()
	}
	w.Failf("it does not come to rest")
}

// meter counts what a consumer asks for, and which watches' events it gets; one that hangs does
// nothing any more.
type meter struct {
	machine.Machine
	requests, events int
	hangs            bool
}

func (m *meter) Step(ev machine.Event) (effects []machine.Effect) {
	if m.hangs {
		return nil
	}
	if _, ok := ev.(machine.Fired); ok {
		m.events++
	}
	effects = m.Machine.Step(ev)
	for _, e := range effects {
		switch e.(type) {
		case machine.List, machine.Read, machine.MultiRead, machine.Transact, machine.Ensure, machine.Remove:
			m.requests++
		}
	}
	return effects
}

// quiet is a world without faults, in which what may happen happens in an order of its own.
func quiet() *world {
	pick := rand.New(rand.NewPCG(1, 1)).IntN
	return &world{
		World: recipetest.NewWorld(pick), Chance: recipetest.Chance{Pick: pick}, items: make(map[string]*item), limit: tail.Usual, deaths: 8,
	}
}

func (w *world) cost() (requests, events int) {
	for _, c := range w.consumers {
		requests += c.meter.requests
		events += c.meter.events
	}
	return requests, events
}

// BenchmarkClaim claims and acknowledges an item of a long queue, beside 64 that others have.
func BenchmarkClaim(b *testing.B) {
	h := newHand(1)
	for n := range 40 {
		h.names[root.Items()] = append(h.names[root.Items()], fmt.Sprintf("0-%010d", n))
	}
	for n := range 500 {
		h.names[root.Items()+"/0-0000000000"] = append(h.names[root.Items()+"/0-0000000000"], fmt.Sprintf("01234567-89ab-cdef-queue-%010d", (n*337)%500))
	}
	for n := range 64 {
		h.names[root.Claims()+"/0-0000000000"] = append(h.names[root.Claims()+"/0-0000000000"], fmt.Sprintf("%010d", n))
	}
	h.run(machine.EpochBegan{Epoch: 1, Trusted: true}, nil)
	b.ReportAllocs()
	for no := uint64(1); b.Loop(); no++ {
		h.asked = nil
		h.run(consume.Command{No: no, What: consume.Ack}, nil)
	}
}
