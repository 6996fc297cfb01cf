// Random schedules, on the model of model_test.go: what may happen, and what holds in the end.

package consume_test

import (
	"path"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

func TestMain(m *testing.M) { tier.Main(m) }

// All kinds of events and faults happen, in an order that is drawn. No item is had by two
// consumers, or delivered when it was acknowledged; an attempt counts; each item is in one place.
// In the end nothing is left.
func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(80, 20_000), func(c recipetest.Chance) {
		m := &model{World: recipetest.NewWorld(c.Pick), Chance: c, items: make(map[string]*item)}
		defer func() {
			if f := recover(); f != nil {
				c.Log("%s", m.Story())
				panic(f)
			}
		}()
		m.attempts, m.refuses = c.Pick(4), c.Pick(4) == 0
		m.hurries, m.vandals = c.Pick(2) == 0, c.Pick(4) == 0
		calm := []int{1, 8, 50}[c.Pick(3)]
		if c.Pick(3) == 0 {
			m.Sleep(12)
		}
		m.addProducers()
		for n := range 1 + c.Pick(4) {
			m.addConsumer(n, c.Pick(2) == 0)
		}
		for range c.Pick(800) {
			m.happen(calm)
			m.inspect()
		}
		m.conclude()
	})
}

// happen lets one thing happen. Of the faults that are drawn only one in calm happens, and a step
// in the place of the others.
func (m *model) happen(calm int) {
	a := m.Actors()[m.Pick(len(m.Actors()))]
	c := m.consumers[m.Pick(len(m.consumers))]
	step := func() { m.Step() }
	all := []struct {
		odds  int
		fault bool
		do    func()
	}{
		{1, true, a.Disconnect},
		{2, true, a.Reconnect},
		{1, true, a.Distrust},
		{2, true, a.Entrust},
		{1, true, func() { c.dies(c.actor.Expire) }},
		{1, true, func() { c.dies(c.actor.Crash) }},
		{3, false, m.putSome},
		{7, false, c.act},
		{1, false, func() { m.refuse(c.actor) }},
		{1, false, c.mayClose},
		{1, false, m.vandalize},
		{2, false, func() { m.pause(m.Pick(3) == 0) }},
		{1, false, c.mayHang},
		{10, false, step},
	}
	total := 0
	for _, one := range all {
		total += one.odds
	}
	drawn := m.Pick(total)
	for _, one := range all {
		if drawn -= one.odds; drawn >= 0 {
			continue
		}
		if one.fault && m.Pick(calm) > 0 {
			one.do = step
		}
		one.do()
		return
	}
}

// lossSlack bounds the attempts that the loss of a consumer may add to those of an item that were
// received. It is generous: no consumer has more than four items in hand.
const lossSlack = 8

// dies has a consumer lose its session, or its machine.
func (c *consumer) dies(how func()) {
	c.model.slack, c.model.broken = c.model.slack+lossSlack, true
	how()
}

// putSome puts up to four items, one time in five with a delay.
func (m *model) putSome() {
	m.puts.Tell(put{count: 1 + m.Pick(4), priority: m.Pick(3), delay: int64(m.Pick(5) / 4 * m.Pick(5000))})
}

// refuse has a request of the consumer refused, a read or a write.
func (m *model) refuse(a *recipetest.Actor) {
	if m.refuses {
		write := m.Pick(2) == 0
		a.Refuse(func(e machine.Effect) bool {
			_, ok := e.(machine.Transact)
			return ok == write
		})
	}
}

// mayClose closes the first consumer now and then, if there are others.
func (c *consumer) mayClose() {
	if c == c.model.consumers[0] && len(c.model.consumers) > 1 && c.model.Pick(20) == 0 {
		c.close()
	}
}

// mayHang has the first consumer hang now and then, if there are others. Its session lives on.
func (c *consumer) mayHang() {
	if c == c.model.consumers[0] && len(c.model.consumers) > 1 && c.model.Pick(50) == 0 {
		c.model.Log("%s hangs", c.name)
		c.hangs = true
	}
}

// vandalize deletes a place in line, the znode of a consumer, or the bell.
func (m *model) vandalize() {
	if !m.vandals {
		return
	}
	all := []string{root.Bell()}
	for _, dir := range []string{root.Line(), root.Consumers()} {
		for _, name := range m.Children(dir) {
			all = append(all, path.Join(dir, name))
		}
	}
	m.Delete(all[m.Pick(len(all))])
}

// act loses a delivery, as if its time were over, receives an item, or settles one.
func (c *consumer) act() {
	m := c.model
	if nos := c.open(); len(nos) > 0 && m.hurries && m.Pick(8) == 0 {
		c.lose(nos[m.Pick(len(nos))])
		return
	}
	if nos := c.nos(func(d *delivery) bool { return !d.received }); len(nos) > 0 && m.Pick(3) > 0 {
		c.receive(nos[0])
		return
	}
	if nos := c.nos(func(d *delivery) bool { return d.received }); len(nos) > 0 {
		no := nos[m.Pick(len(nos))]
		switch m.Pick(4) {
		case 0:
			c.settle(no, consume.Nack, int64(m.Pick(3)*100))
		case 1:
			c.settle(no, consume.Return, 0)
		default:
			c.settle(no, consume.Ack, 0)
		}
	}
}

func (c *consumer) close() {
	if stopped, _ := c.actor.Stopped(); stopped || c.closed {
		return
	}
	for _, no := range c.nos(func(d *delivery) bool { return !d.received }) {
		c.settle(no, consume.Return, 0)
	}
	c.closed, c.model.broken = true, true
	c.model.slack++
	c.actor.Tell(machine.Closing{})
}

// pause has the operator pause the queue, or resume it.
func (m *model) pause(paused bool) {
	m.paused = paused
	m.operator.Tell(turned{})
}

// stand pauses the queue, and lets everything come to rest. Nothing is left with a consumer then
// but what was received.
func (m *model) stand() {
	m.Heal()
	m.pause(true)
	m.rest()
	for _, c := range m.consumers {
		if nos := c.nos(func(d *delivery) bool { return !d.received }); len(nos) > 0 && !c.hangs {
			m.Failf("%s has %d items of a queue that is paused", c.name, len(nos))
		}
	}
}

// conclude lets everything come to rest without further faults. Nothing is left then.
func (m *model) conclude() {
	if m.Pick(2) == 0 {
		m.stand()
	}
	m.ending = true
	m.pause(false)
	for range 4 {
		m.Heal()
		for _, c := range m.consumers {
			for _, no := range c.open() {
				c.finish(no)
			}
		}
		m.rest()
	}
	lives := false
	for _, c := range m.consumers {
		stopped, err := c.actor.Stopped()
		lives = lives || !stopped && !c.hangs
		switch {
		case err != nil:
			m.Failf("%s: %v", c.name, err)
		case c.closed && !stopped && !c.hangs:
			m.Failf("%s does not end", c.name)
		}
		for _, name := range append(m.Children(root.Line()), m.Children(root.Consumers())...) {
			if stopped && strings.HasPrefix(name, c.name+".") {
				m.Failf("%s is left", name)
			}
		}
	}
	if !lives { // no consumer works the queue off
		return
	}
	for _, dir := range []string{root.Items(), root.Later(), root.Claims()} {
		for _, bucket := range m.Children(dir) {
			for _, name := range m.Children(path.Join(dir, bucket)) {
				if !m.hung(bucket, name) {
					m.Failf("%s/%s/%s is left", dir, bucket, name)
				}
			}
		}
	}
	for _, i := range m.items {
		if i.holder != nil || m.consumers[0].hangs { // the one that hangs may have it
			continue
		}
		// An Ack may be carried out without its answer, and the last attempt makes a dead letter.
		if i.put && !i.acked && !m.broken && m.attempts == 0 {
			m.Failf("%s is lost", i.body)
		}
		if id, _ := root.ID(i.id); i.id != "" && m.Exists(id) {
			m.Failf("the id of %s is not free", i.body)
		}
	}
}

// hung tells whether an item is with the consumer that hangs.
func (m *model) hung(bucket, name string) bool {
	data := m.Data(path.Join(root.Claims(), bucket, name[len(name)-10:]))
	return m.consumers[0].hangs && strings.HasPrefix(string(data), m.consumers[0].name+".")
}

// rest lets everything happen that is under way.
func (m *model) rest() {
	for range 50_000 {
		if m.Settle(1) {
			return
		}
		m.inspect()
	}
	m.Failf("it does not come to rest")
}
