package take_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

var (
	schedules = flag.Int("schedules", 1000, "random schedules to run")
	seed      = flag.Uint64("schedule", 0, "run this schedule alone, with its story")
)

const root = "/q"

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		if story, err := runSeed(*seed); err != nil {
			t.Fatalf("%v\n%s", err, story)
		}
		return
	}
	base := rand.Uint64() >> 8
	for n := range uint64(*schedules) {
		if story, err := runSeed(base + n); err != nil {
			if lines := strings.Split(story, "\n"); len(lines) > 300 {
				story = strings.Join(lines[len(lines)-300:], "\n")
			}
			t.Fatalf("%v\nagain: go test -run TestSchedules -schedule=%d\n%s", err, base+n, story)
		}
	}
}

func runSeed(n uint64) (story string, err error) {
	rng := rand.New(rand.NewPCG(n, 5))
	return schedule(rng.IntN, 400)
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		story, err := schedule(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, 120)
		if err != nil {
			rt.Fatalf("%v\n%s", err, story)
		}
	})
}

type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// world is the queue as a judge sees it.
type world struct {
	*recipetest.World
	capacity  int
	attempts  int              // after which an item is buried; 0: never
	items     map[string]*item // by data
	producers []*producer
	consumers []*consumer
	crashed   bool // a consumer with AutoAck has
	ending    bool // no more faults: everything is taken and acknowledged
}

// item is what the judge knows of one.
type item struct {
	data     string
	producer *producer
	nth      int
	put      bool  // for certain
	refused  bool  // for certain
	acked    int   // for certain
	maybe    bool  // an acknowledgement is of unknown outcome
	first    int64 // the transaction of its first claim
	holder   *consumer
}

func schedule(draw func(n int) int, most int) (story string, err error) {
	w := &world{items: make(map[string]*item)}
	last := rand.New(rand.NewPCG(1, 1))
	choose := func(n int) int {
		if w.ending { // from here on the order is as good as any
			return last.IntN(n)
		}
		return draw(n)
	}
	w.World = recipetest.NewWorld(choose)
	defer func() {
		if f := recover(); f != nil {
			story = w.Story()
			switch f := f.(type) {
			case failure:
				err = f
			case runtime.Error:
				err = fmt.Errorf("panic: %w", f)
			default:
				panic(f) // rapid's own
			}
		}
	}()
	w.capacity = []int{0, 0, 3}[choose(3)]
	w.attempts = []int{0, 0, 2}[choose(3)]
	for n := range 1 + choose(2) {
		w.addProducer(n)
	}
	auto := choose(4) == 0
	for n := range 1 + choose(3) {
		w.addConsumer(n, auto)
	}
	for range choose(most) {
		w.happen(choose)
	}
	w.conclude()
	return "", nil
}

// happen lets one thing happen, good or bad.
func (w *world) happen(choose func(n int) int) {
	all := w.Actors()
	a := all[choose(len(all))]
	switch choose(50) {
	case 0:
		a.Disconnect()
	case 1, 2:
		a.Reconnect()
	case 3:
		a.Distrust()
	case 4, 5:
		a.Entrust()
	case 6:
		a.Expire()
	case 7:
		a.Crash()
	case 8, 9, 10, 11:
		p := w.producers[choose(len(w.producers))]
		if len(p.calls) < 2 && p.count < 12 {
			p.put(1+choose(5), choose(2) == 0)
		}
	case 12, 13, 14, 15, 16:
		c := w.consumers[choose(len(w.consumers))]
		if nos := c.nos(); len(nos) > 0 {
			c.settle(nos[choose(len(nos))], []take.How{take.Ack, take.Ack, take.Nack}[choose(3)])
		}
	default:
		w.Step()
	}
}

// conclude lets everything come to rest without further faults: what was put and not acknowledged is delivered, and nothing else.
func (w *world) conclude() {
	w.ending = true
	for range 4 {
		w.Heal()
		for _, c := range w.consumers {
			for _, no := range c.nos() {
				c.settle(no, take.Ack)
			}
		}
		if !w.Settle(60_000) {
			fail("it does not come to rest")
		}
	}
	dead := w.dead()
	for _, i := range w.items {
		switch {
		case dead[i.data] > 1, dead[i.data] > 0 && i.acked > 0:
			fail("%s is among the dead letters %d times, and was acknowledged %d times", i.data, dead[i.data], i.acked)
		case dead[i.data] > 0:
		case i.refused && i.acked > 0:
			fail("%s was refused, and delivered", i.data)
		case i.put && i.acked == 0 && !i.maybe && !w.crashed: // what a crashed process has taken with AutoAck is lost: at most once
			fail("%s is lost", i.data)
		}
	}
	for _, name := range w.Children(root) {
		b, ok := place.ParseBucket(name)
		if !ok {
			continue
		}
		for _, child := range w.Children(root + "/" + name) {
			_, item := place.ParseItem(child, b.Lane)
			if _, pack := place.ParsePack(child, b.Lane); item || pack {
				fail("an item is left: %s", child)
			}
		}
	}
}

// dead counts the dead letters.
func (w *world) dead() map[string]int {
	dead := make(map[string]int)
	for _, bucket := range w.Children(root + "/dead") {
		for _, name := range w.Children(root + "/dead/" + bucket) {
			if _, ok := place.ParseItem(name, place.Lane{}); ok {
				dead[string(w.Data(root+"/dead/"+bucket+"/"+name))]++
			}
		}
	}
	return dead
}

// producer is a face that puts.
type producer struct {
	world *world
	actor *recipetest.Actor
	name  string
	no    uint64
	count int
	calls []*call
}

type call struct {
	wish give.Put
	sent bool
}

func (w *world) addProducer(n int) {
	p := &producer{world: w, name: fmt.Sprint("p", n)}
	p.actor = w.Add(recipetest.Player{
		Name: p.name,
		Machine: func() recipe.Machine {
			floor := p.no
			return watched{give.New(give.Config{
				Site: give.Site{Root: root}, GUID: p.name, Home: n, Capacity: w.capacity, Limit: 4, Floor: floor,
			}), givingDeclared}
		},
		Standing: func() []recipe.Event {
			var wishes []recipe.Event
			for _, c := range p.calls {
				wish := c.wish
				wish.Stands, wish.Again = true, c.sent
				wishes = append(wishes, wish)
			}
			return wishes
		},
		Perform: func(_ *recipetest.Actor, e recipe.Effect) { p.perform(e) },
	})
	w.producers = append(w.producers, p)
}

// put wishes some items put, in one pack or each in a znode of its own.
func (p *producer) put(n int, together bool) {
	p.no++
	wish := give.Put{No: p.no}
	for k := range n {
		data := fmt.Sprintf("%s-%d", p.name, p.count)
		p.world.items[data] = &item{data: data, producer: p, nth: p.count}
		p.count++
		guid := fmt.Sprintf("%08x-0000-4000-8000-0000%04x%04x", p.no, len(p.name)+int(p.name[1]), k+1)
		wish.Items = append(wish.Items, give.Item{GUID: guid, Data: []byte(data), Together: together && n > 1})
	}
	p.calls = append(p.calls, &call{wish: wish})
	p.actor.Tell(wish)
}

func (p *producer) perform(e recipe.Effect) {
	switch e := e.(type) {
	case give.Sending:
		for _, c := range p.calls {
			c.sent = c.sent || slices.Contains(e.Nos, c.wish.No)
		}
	case give.Settled:
		at := slices.IndexFunc(p.calls, func(c *call) bool { return c.wish.No == e.No })
		if at < 0 {
			fail("%s: %d is settled twice", p.name, e.No)
		}
		c := p.calls[at]
		p.calls = slices.Delete(p.calls, at, at+1)
		for _, i := range c.wish.Items {
			known := p.world.items[string(i.Data)]
			known.put = e.Err == nil
			known.refused = errors.Is(e.Err, give.ErrFull)
			if e.Err != nil && !known.refused && !errors.Is(e.Err, give.ErrUnknown) {
				fail("%s: %v", p.name, e.Err)
			}
		}
	}
}

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
		Machine: func() recipe.Machine {
			c.incarnation++
			w.crashed = w.crashed || auto && c.incarnation > 1
			c.seen = 0
			c.forget()
			id := fmt.Sprintf("%08x-%04x-4000-8000-000000000000", n+1, c.incarnation)
			return watched{take.New(take.Config{
				Site: give.Site{Root: root}, Dead: root + "/dead", GUID: id, Producer: id, Incarnation: c.incarnation, First: c.incarnation << 20,
				AutoAck: auto, Shards: 1, Home: n, MaxAttempts: w.attempts,
			}), takingDeclared}
		},
		Standing: func() []recipe.Event { return []recipe.Event{c.demand()} },
		Perform:  func(_ *recipetest.Actor, e recipe.Effect) { c.perform(e) },
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

func (c *consumer) perform(e recipe.Effect) {
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
	if e.Claim == "" { // with AutoAck: once and for all
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

// checkOrder: of what one producer has put, one after the other, nothing is claimed for the first time before what came before it.
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
