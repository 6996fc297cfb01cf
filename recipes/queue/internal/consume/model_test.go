// The model of a queue for scenario_test.go and schedule_test.go: consumers as package queue has
// them, and what must hold of each item. Its producers are in producer_test.go.

package consume_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

const (
	root = layout.Root("/q")
	dead = layout.Root("/q/dead")
)

// model is a queue, its producers and consumers, and the state of each item as the test knows it.
type model struct {
	*recipetest.World
	recipetest.Chance
	items      map[string]*item // by body
	consumers  []*consumer
	puts       *recipetest.Actor // the producer of new items
	operator   *recipetest.Actor // pauses the queue
	back, dead *recipetest.Actor // the producers of items that consumers take out
	// Drawn at the beginning.
	attempts int  // after which items are dead letters
	refuses  bool // requests are refused now and then
	hurries  bool // items that are not settled in time are lost
	vandals  bool // consumers' znodes, places in line and the bell are deleted by hand
	// As the schedule goes on.
	paused bool // as the operator wants it
	slack  int  // so many attempts may have been counted of an item beyond those that were received
	broken bool // a session has expired, a machine has crashed, or a consumer closes
	ending bool // each item that is delivered is acknowledged
	// Of the state that was inspected last.
	zxid   int64
	claims map[string]bool // by their paths; nil: the queue was not paused
}

// item is the state of an item, as the test knows it.
type item struct {
	body, id string
	put      bool // it was seen, or its put was answered
	due      int64
	attempts int  // deliveries that were received, and not ended by Return
	acking   bool // an Ack was begun
	acked    bool // an Ack was answered
	holder   *consumer
}

// consumer does what package queue does for a Consumer (stream), or for calls of Take.
type consumer struct {
	model    *model
	actor    *recipetest.Actor
	name     string
	stream   bool
	prefetch int
	lives    uint64 // how many machines it has had
	calls    int    // of Take that wait
	held     map[uint64]*delivery
	closed   bool
	hangs    bool // its machine does nothing any more
	epoch    uint64
	gated    bool // it has seen a pause, or does not know yet that there is none
}

// delivery is an item that was handed out.
type delivery struct {
	item     *item
	received bool
	how      consume.Kind // the command for it; 0: none yet
}

// hanging is a consumer's machine, which does nothing once the consumer hangs.
type hanging struct {
	c *consumer
	machine.Machine
}

func (h hanging) Step(ev machine.Event) []machine.Effect {
	if h.c.hangs {
		return nil
	}
	effects := h.Machine.Step(ev)
	h.c.see(ev, effects)
	return effects
}

// see fails if a consumer asks for a claim, or delivers, after it has seen a pause.
func (c *consumer) see(ev machine.Event, effects []machine.Effect) {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		c.epoch, c.gated = ev.Epoch, true
	case machine.Fired:
		c.gated = c.gated || ev.Path == root.Claims() && ev.Epoch == c.epoch
	case machine.Seen:
		if ev.Path == root.Claims() && ev.Epoch == c.epoch {
			c.gated = !ev.Exists || len(ev.Data) > 0
		}
	}
	for _, e := range effects {
		claims := func(op machine.Op) bool {
			return op.Do == machine.Create && strings.HasPrefix(op.Path, root.Claims()) && op.Ephemeral
		}
		t, _ := e.(machine.Transact)
		if _, delivers := e.(consume.Deliver); c.gated && (delivers || slices.ContainsFunc(t.Ops, claims)) {
			c.model.Failf("%s claims or delivers behind a pause: %+v", c.name, e)
		}
	}
}

func (m *model) newItem() *item {
	i := &item{body: fmt.Sprintf("%04d", len(m.items))}
	if m.Pick(3) == 0 {
		i.id = idOf(i.body)
	}
	m.items[i.body] = i
	return i
}

func (m *model) addConsumer(n int, stream bool) *consumer {
	c := &consumer{model: m, name: fmt.Sprint("c", len(m.consumers)), stream: stream, prefetch: 1 + n, held: make(map[uint64]*delivery)}
	c.actor = m.Add(recipetest.Player{
		Name: c.name,
		Machine: func() machine.Machine {
			c.lives++
			clear(c.held)
			c.calls, c.hangs = 2, false
			return hanging{c, consume.New(consume.Config{
				Root: root, GUID: fmt.Sprintf("%s.%d", c.name, c.lives), First: c.lives << 20,
				Takes: !stream, Prefetch: 1 + n, Attempts: m.attempts, Dead: dead, Seed: uint64(n),
			})}
		},
		Standing: func() []machine.Event {
			if c.closed {
				return []machine.Event{machine.Closing{}}
			}
			return []machine.Event{c.demand()}
		},
		Perform: func(_ *recipetest.Actor, e machine.Effect) { c.perform(e) },
		Lapse:   func(*recipetest.Actor) { c.lapse() },
	})
	m.consumers = append(m.consumers, c)
	c.actor.Tell(c.demand())
	return c
}

func (c *consumer) demand() machine.Event {
	if c.stream {
		return consume.Demand{First: c.lives << 20, Wanted: c.prefetch}
	}
	return consume.Demand{First: c.lives << 20, Wanted: c.calls}
}

func (c *consumer) want(n int) {
	if !c.stream && !c.closed {
		c.calls += n
		c.actor.Tell(c.demand())
	}
}

func (c *consumer) perform(e machine.Effect) {
	m := c.model
	switch e := e.(type) {
	case consume.Deliver:
		c.deliver(e)
	case consume.Settled:
		c.settled(e)
	case consume.Put:
		by := m.back
		if e.Dead {
			by = m.dead
		}
		by.Tell(back{e, c})
	case consume.Pause:
		for _, no := range c.nos(func(d *delivery) bool { return e.On && !d.received }) {
			c.settle(no, consume.Return, 0)
		}
	case consume.Skipped:
		if !m.refuses {
			m.Failf("%s skips %s: %v", c.name, e.Path, e.Err)
		}
	default:
		m.Failf("%s: %T", c.name, e)
	}
}

func (c *consumer) deliver(e consume.Deliver) {
	m, i := c.model, c.model.items[string(e.Record.Body)]
	if !c.actor.Trusted(e.Epoch) { // there is no possession, and another consumer may have the item
		m.slack++ // the attempt counts if the session ends before the item is returned
		c.actor.Tell(consume.Command{No: e.No, Kind: consume.Unheld})
		return
	}
	switch {
	case i == nil:
		m.Failf("%s: nobody put %q", c.name, e.Record.Body)
	case i.due > m.Now():
		m.Failf("%s is delivered %d too early", i.body, i.due-m.Now())
	case i.acked:
		m.Failf("%s is delivered to %s when it was done", i.body, c.name)
	case i.holder != nil:
		m.Failf("%s is had by %s and by %s", i.body, i.holder.name, c.name)
	case m.attempts > 0 && i.attempts >= m.attempts:
		m.Failf("%s is delivered after %d attempts", i.body, i.attempts)
	case e.Attempt <= i.attempts, e.Attempt > i.attempts+1+m.slack:
		m.Failf("%s is delivered as attempt %d, and was received %d times", i.body, e.Attempt, i.attempts)
	}
	if string(m.Data(e.Path)) != fmt.Sprintf("%s.%d", c.name, c.lives) {
		m.Failf("%s has no claim on %s", c.name, i.body)
	}
	i.holder = c
	c.held[e.No] = &delivery{item: i}
	switch {
	case c.closed, !c.stream && c.calls == 0:
		c.settle(e.No, consume.Return, 0)
	case !c.stream:
		c.receive(e.No)
	}
	if m.ending && c.held[e.No].how == 0 {
		c.finish(e.No)
	}
}

func (c *consumer) receive(no uint64) {
	d := c.held[no]
	d.received = true
	d.item.attempts++
	c.want(-1)
	c.actor.Tell(consume.Command{No: no, Kind: consume.Received})
}

func (c *consumer) settle(no uint64, how consume.Kind, after int64) {
	d := c.held[no]
	d.how = how
	switch {
	case how == consume.Ack:
		d.item.acking = true
	case how == consume.Return && d.received:
		d.item.attempts--
		fallthrough
	default:
		c.release(d.item)
	}
	c.actor.Tell(consume.Command{No: no, Kind: how, After: after})
}

func (c *consumer) finish(no uint64) {
	if !c.held[no].received {
		c.receive(no)
	}
	c.settle(no, consume.Ack, 0)
}

func (c *consumer) release(i *item) {
	if i.holder == c {
		i.holder = nil
	}
}

func (c *consumer) settled(e consume.Settled) {
	d := c.held[e.No]
	switch {
	case d == nil:
		return
	case e.Stays:
		d.how = 0
		if c.model.slack++; d.item.holder != c { // it counts as received
			c.actor.Tell(consume.Command{No: e.No, Kind: consume.Ended})
			break
		} else if c.model.ending {
			c.finish(e.No)
		}
		return
	case e.Err == nil && d.how == consume.Ack && d.item.acked:
		c.model.Failf("%s is acknowledged twice", d.item.body)
	case e.Err == nil && d.how == consume.Ack:
		d.item.acked = true
	case e.Err != nil && d.how != 0 && !slices.ContainsFunc(ends, func(err error) bool { return errors.Is(e.Err, err) }):
		c.model.Failf("%s: %v", c.name, e.Err)
	}
	c.release(d.item)
	delete(c.held, e.No)
	c.want(1)
}

var ends = []error{session.ErrLost, session.ErrDeleted, session.ErrClosed}

// lapse ends all possessions.
func (c *consumer) lapse() {
	for _, no := range c.open() {
		c.lose(no)
	}
	for _, d := range c.held {
		c.release(d.item)
	}
}

// lose ends a possession.
func (c *consumer) lose(no uint64) {
	c.release(c.held[no].item)
	delete(c.held, no)
	c.actor.Tell(consume.Command{No: no, Kind: consume.Ended})
	c.want(1)
}

// open are the numbers of the items about which there was no command.
func (c *consumer) open() []uint64 { return c.nos(func(*delivery) bool { return true }) }

func (c *consumer) nos(which func(d *delivery) bool) (nos []uint64) {
	for no, d := range c.held {
		if d.how == 0 && which(d) {
			nos = append(nos, no)
		}
	}
	slices.Sort(nos)
	return nos
}

// inspect fails unless each item is in one place, until it is acknowledged, and each claim is on an
// item, and is no new one while the queue is paused.
func (m *model) inspect() {
	if m.zxid == m.Zxid() {
		return
	}
	m.zxid = m.Zxid()
	at := make(map[string]string)
	for _, dir := range []string{root.Items(), root.Later(), dead.Items()} {
		for _, bucket := range m.Children(dir) {
			for _, name := range m.Children(path.Join(dir, bucket)) {
				m.place(path.Join(dir, bucket, name), at)
			}
		}
	}
	for _, i := range m.items {
		if i.put && !i.acking && at[i.body] == "" {
			m.Failf("%s is nowhere", i.body)
		}
	}
	was, is := m.claims, make(map[string]bool)
	if m.claims = nil; len(m.Data(root.Claims())) > 0 {
		m.claims = is
	}
	for _, bucket := range m.Children(root.Claims()) {
		for _, claim := range m.Children(path.Join(root.Claims(), bucket)) {
			at := path.Join(bucket, claim)
			if is[at] = true; was != nil && m.claims != nil && !was[at] {
				m.Failf("%s is claimed in a pause", at)
			}
			if !slices.ContainsFunc(m.Children(path.Join(root.Items(), bucket)), func(name string) bool { return name[len(name)-10:] == claim }) {
				m.Failf("the claim %s/%s is on nothing", bucket, claim)
			}
		}
	}
}

func (m *model) place(znode string, at map[string]string) {
	r, ok := layout.ParseRecord(m.Data(znode))
	i := m.items[string(r.Body)]
	switch {
	case !ok || i == nil:
		m.Failf("%s makes no sense", znode)
	case at[i.body] != "":
		m.Failf("%s is at %s and at %s", i.body, at[i.body], znode)
	case i.acked:
		m.Failf("%s was done, and is at %s", i.body, znode)
	}
	at[i.body] = znode
	i.put = true
}
