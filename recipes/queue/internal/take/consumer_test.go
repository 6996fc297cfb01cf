package take_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

// consumer is a face that takes.
type consumer struct {
	world       *world
	actor       *recipetest.Actor
	name        string
	prefetch    int
	incarnation uint64
	seen        int64
	held        map[uint64]*grip
	waiting     map[uint64]bool // delivered, and not to be had yet
}

// grip is a possession.
type grip struct {
	item *item
	how  take.How
	over bool // it is lost, and its settlement not answered
}

func (w *world) addConsumer(n int, auto bool) {
	c := &consumer{world: w, name: fmt.Sprint("c", n), prefetch: 1 + n%3, held: make(map[uint64]*grip), waiting: make(map[uint64]bool)}
	c.actor = w.Add(recipetest.Player{
		Name: c.name,
		Machine: func() machine.Machine {
			c.incarnation++
			w.crashed = w.crashed || auto && c.incarnation > 1
			c.seen = 0
			c.forget()
			id := fmt.Sprintf("%08x-%04x-4000-8000-000000000000", n+1, c.incarnation)
			return watched{take.New(take.Config{
				Site: give.Site{Root: root}, Dead: root + "/dead", GUID: id, Producer: id, Incarnation: c.incarnation, First: c.incarnation << 20,
				AutoAck: auto, Shards: 1, Home: n, MaxAttempts: w.attempts,
				Visibility: w.visibility,
			}), takingDeclared}
		},
		Standing: func() []machine.Event { return []machine.Event{c.demand()} },
		Perform:  func(_ *recipetest.Actor, e machine.Effect) { c.perform(e) },
		Lapse:    func(*recipetest.Actor) { c.lapse() },
	})
	w.consumers = append(w.consumers, c)
	c.actor.Tell(c.demand())
}

func (c *consumer) demand() take.Demand {
	return take.Demand{Incarnation: c.incarnation, Total: c.seen + int64(max(c.prefetch-len(c.held)-len(c.waiting), 0))}
}

func (c *consumer) nos() []uint64 {
	var nos []uint64
	for no, g := range c.held {
		if g.how == 0 && !g.over {
			nos = append(nos, no)
		}
	}
	slices.Sort(nos)
	return nos
}

// forget drops what a crashed machine had: acknowledgements under way are of unknown outcome.
func (c *consumer) forget() {
	for no, g := range c.held {
		g.item.maybe = g.item.maybe || g.how == take.Ack
		c.drop(no)
	}
	clear(c.waiting)
}

func (c *consumer) drop(no uint64) {
	if g := c.held[no]; g != nil && g.item.holder == c {
		g.item.holder = nil
	}
	delete(c.held, no)
}

// lapse is the end of all possessions.
func (c *consumer) lapse() {
	for no, g := range c.held {
		if g.item.holder == c {
			g.item.holder = nil
		}
		g.over = true
		if g.how == 0 {
			delete(c.held, no)
			c.actor.Tell(take.Over{No: no})
		}
	}
	c.actor.Tell(c.demand())
}

func (c *consumer) settle(no uint64, how take.How) {
	g := c.held[no]
	g.how = how
	if how != take.Ack && g.item.holder == c { // its possession ends first
		g.item.holder = nil
	}
	c.actor.Tell(take.Settle{No: no, How: how})
}

func (c *consumer) perform(e machine.Effect) {
	switch e := e.(type) {
	case take.Deliver:
		c.deliver(e)
	case take.Settled:
		g := c.held[e.No]
		if g == nil {
			return
		}
		if g.how == take.Ack {
			switch {
			case e.Err == nil:
				if g.item.acked++; g.item.acked > 1 {
					fail("%s is acknowledged twice", g.item.data)
				}
			case errors.Is(e.Err, take.ErrUnknown):
				g.item.maybe = true
			case !errors.Is(e.Err, take.ErrLost):
				fail("%s: %v", c.name, e.Err)
			}
		}
		c.drop(e.No)
		c.actor.Tell(c.demand())
	case take.Drop:
		delete(c.waiting, e.No)
		if g := c.held[e.No]; g != nil && g.how != 0 { // the settlement is on its way to the machine, which has to answer it
			g.over = true
			if g.item.holder == c {
				g.item.holder = nil
			}
			return
		}
		c.drop(e.No)
		c.actor.Tell(c.demand())
	case take.Lost:
		delete(c.waiting, e.No)
		c.actor.Tell(c.demand())
	}
}

func (c *consumer) deliver(e take.Deliver) {
	i := c.world.items[string(e.Data)]
	switch {
	case i == nil:
		fail("%s: nobody put %q", c.name, e.Data)
	case i.acked > 0:
		fail("%s is delivered to %s after it was acknowledged", i.data, c.name)
	case i.refused:
		fail("%s is delivered, and was refused", i.data)
	case c.world.attempts > 0 && e.Attempt > c.world.attempts:
		fail("%s is delivered for the %dth time", i.data, e.Attempt)
	}
	if !c.waiting[e.No] {
		c.seen++
	}
	if e.Claim == "" { // with AutoAck: once and for all, unless nobody receives it
		if e.No%3 == 0 && !c.world.ending {
			c.actor.Tell(take.Settle{No: e.No, How: take.Return})
			c.actor.Tell(c.demand())
			return
		}
		i.acked++
		c.actor.Tell(take.Settle{No: e.No, How: take.Ack})
		c.actor.Tell(c.demand())
		return
	}
	if !c.actor.Trusted(e.Epoch) {
		c.waiting[e.No] = true
		c.actor.Tell(take.Unheld{No: e.No, Turn: e.Turn})
		return
	}
	delete(c.waiting, e.No)
	if i.holder != nil {
		fail("%s is had by %s and by %s", i.data, i.holder.name, c.name)
	}
	if e.Attempt == 1 {
		c.checkOrder(i, e.Token)
	}
	i.holder = c
	c.held[e.No] = &grip{item: i}
	if c.world.ending {
		c.settle(e.No, take.Ack)
	}
}

// checkOrder: of what one producer has put, one after the other, nothing is claimed for the first
// time before what came before it.
func (c *consumer) checkOrder(i *item, token int64) {
	i.first = token
	for _, j := range c.world.items {
		if j.producer != i.producer || j.first == 0 {
			continue
		}
		if j.nth < i.nth && j.first > token || j.nth > i.nth && j.first < token {
			fail("%s was claimed at %d, and %s at %d", i.data, i.first, j.data, j.first)
		}
	}
}
