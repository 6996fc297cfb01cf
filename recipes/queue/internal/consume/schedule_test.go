package consume_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

var (
	schedules = flag.Int("schedules", tier.Count(100, 1000), "random schedules to run")
	seed      = flag.Uint64("schedule", 0, "run this schedule alone, with its story")
)

const (
	root   = "/q"
	graves = "/dead"
)

// TestSchedules runs random schedules. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		if story, err := schedule(*seed); err != nil {
			t.Fatalf("%v\n%s", err, story)
		}
		return
	}
	base := tier.Seed(t.Name())
	for n := range uint64(*schedules) {
		if story, err := schedule(base + n); err != nil {
			if lines := strings.Split(story, "\n"); len(lines) > 300 {
				story = strings.Join(lines[len(lines)-300:], "\n")
			}
			t.Fatalf("%v\nagain: go test -run TestSchedules -schedule=%d\n%s", err, base+n, story)
		}
	}
}

type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// world is the queue as a judge sees it.
type world struct {
	*recipetest.World
	items     map[string]*item   // by body
	batches   map[string][]*item // by GUID
	remover   *recipetest.Actor
	beggar    *recipetest.Actor
	producers []*recipetest.Actor
	consumers []*consumer
	judge     judge
	deaths    int // of consumers, and ends
	attempts  int // after which items are dead letters
	bounded   bool
	calm      int             // one in so many faults happens
	vandals   bool            // znodes are removed by hand
	damaged   bool            // some of them named items
	removed   map[string]bool // the positions of such that had items
	removes   bool            // items are removed
	refuses   bool            // requests are refused now and then
	bars      bool            // znodes are barred for a while
	large     bool            // some items are large
	crashed   bool            // a consumer that takes at most once has crashed, or its session has expired
	ending    bool
}

// item is what the judge knows of one.
type item struct {
	body     string
	lane     place.Lane
	put      bool // for certain: its put was answered, or its znode seen
	maybe    bool // an acknowledgement is of unknown outcome
	acked    int
	attempts int  // that were received
	late     int  // of these, for which it had waited: they count from when that is written
	number   int  // in its lane
	returned bool // it was seen among those that came back
	came     bool // it was delivered
	dead     bool // it is among the dead letters
	removed  bool // it was, or its znode by hand
	cut      bool // its znode is there
	id       string
	due      int64
	holder   *consumer
}

// consumer is a face that takes.
type consumer struct {
	world   *world
	actor   *recipetest.Actor
	name    string
	auto    bool
	stream  bool
	lives   uint64 // how many machines it has had
	seen    uint64 // without a stream: how many items the present one has delivered
	calls   uint64 // and how many callers wait for one
	away    bool   // and nobody calls any more
	held    map[uint64]*grip
	unheld  map[uint64]bool
	closed  bool
	skipped []string
	first   map[place.Lane]int // the number of the last item that came for the first time
}

// grip is an item that was handed out.
type grip struct {
	item     *item
	late     bool // it may have waited before it was received
	received bool
	how      consume.How
	cut      bool // it was removed before that
	lapsed   bool
}

func schedule(n uint64) (story string, err error) {
	rng := rand.New(rand.NewPCG(n, 5))
	w := &world{items: make(map[string]*item), batches: make(map[string][]*item), removed: make(map[string]bool)}
	w.World = recipetest.NewWorld(rng.IntN)
	w.calm = []int{1, 8, 50}[rng.IntN(3)]
	defer func() {
		if f := recover(); f != nil {
			story = w.Story()
			switch f := f.(type) {
			case failure:
				err = f
			case runtime.Error:
				buf := make([]byte, 2000)
				err = fmt.Errorf("panic: %w\n%s", f, buf[:runtime.Stack(buf, false)])
			default:
				panic(f)
			}
		}
	}()
	auto := rng.IntN(4) == 0
	w.removes = rng.IntN(4) == 0
	w.attempts, w.bounded, w.refuses, w.vandals = rng.IntN(4), rng.IntN(4) == 0, rng.IntN(4) == 0, rng.IntN(4) == 0
	w.large, w.bars = rng.IntN(8) == 0, rng.IntN(8) == 0
	w.refuses = w.refuses || w.bars
	if rng.IntN(3) == 0 {
		w.Sleep(12)
	}
	for n := range 1 + rng.IntN(2) {
		w.addProducer(n)
	}
	w.addRemover()
	w.addBeggar()
	for n := range 1 + rng.IntN(3) {
		w.addConsumer(n, auto, rng.IntN(2) == 0)
	}
	for range rng.IntN(1000) {
		w.happen(rng.IntN)
		w.inspect()
	}
	w.conclude()
	return "", nil
}

func (w *world) addConsumer(n int, auto, stream bool) {
	c := &consumer{world: w, name: fmt.Sprint("c", n), auto: auto, stream: stream, held: make(map[uint64]*grip), unheld: make(map[uint64]bool), first: make(map[place.Lane]int)}
	c.actor = w.Add(recipetest.Player{
		Name: c.name,
		Machine: func() machine.Machine {
			c.lives++
			w.crashed = w.crashed || auto && c.lives > 1
			for _, g := range c.held {
				g.item.maybe = g.item.maybe || g.how == consume.Ack
			}
			clear(c.held)
			clear(c.unheld)
			clear(c.first)
			c.seen, c.calls = 0, 0
			cfg := consume.Config{
				Root: root, GUID: c.guid(), Incarnation: c.lives, First: c.lives << 20, Auto: auto, Stream: stream, Workers: 1 + n,
				Attempts: w.attempts, Dead: graves, Home: n,
			}
			if n == 2 {
				cfg.Prefetch = 4
			}
			return consume.New(cfg)
		},
		Standing: c.standing,
		Perform:  func(_ *recipetest.Actor, e machine.Effect) { c.perform(e) },
		Lapse:    func(*recipetest.Actor) { c.lapse() },
	})
	w.consumers = append(w.consumers, c)
	c.want(2)
}

func (c *consumer) guid() string { return fmt.Sprintf("%s.%d", c.name, c.lives) }

func (c *consumer) standing() []machine.Event {
	if c.closed {
		return []machine.Event{machine.Closing{}}
	}
	if !c.away {
		c.calls = 2
	}
	return []machine.Event{c.demand()}
}

func (c *consumer) demand() machine.Event {
	return consume.Demand{Incarnation: c.lives, Total: c.seen + c.calls}
}

// want has more callers wait.
func (c *consumer) want(n uint64) {
	if !c.stream && !c.closed && !c.away {
		c.calls += n
		c.actor.Tell(c.demand())
	}
}

// turn has all callers go away, or come back.
func (c *consumer) turn() {
	if c.stream || c.closed {
		return
	}
	if c.away = !c.away; !c.away {
		c.want(2)
		return
	}
	c.calls = 0
	c.actor.Tell(c.demand())
}

// happen lets one thing happen, good or bad.
func (w *world) happen(choose func(n int) int) {
	all := w.Actors()
	a := all[choose(len(all))]
	c := w.consumers[choose(len(w.consumers))]
	what := choose(40)
	if what < 8 && choose(w.calm) > 0 {
		what = 39
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
		if a == w.remover || a == w.beggar || slices.Contains(w.producers, a) {
			return
		}
		w.crashed = w.crashed || w.consumers[0].auto // what was being taken is lost
		w.deaths++
		a.Expire()
	case 7:
		w.deaths++
		c.actor.Crash()
	case 24:
		if w.removes {
			w.removeOne(choose)
		}
	case 28:
		w.beg(choose)
	case 21:
		if w.vandals {
			w.vandalize(choose)
		}
	case 8, 9, 10, 11:
		w.producers[choose(len(w.producers))].Tell(produce{1 + choose(4), int64(choose(5) / 3 * choose(5000))})
	case 12, 13, 14, 15, 16, 17, 22, 23:
		c.act(choose)
	case 19, 20:
		if w.refuses {
			write := choose(2) == 0
			c.actor.Refuse(func(e machine.Effect) bool {
				_, ok := e.(machine.Transact)
				return ok == write
			})
		}
	case 25:
		if w.bars {
			w.bar(choose)
		}
	case 27:
		if w.large {
			w.producers[choose(len(w.producers))].Tell(produceLarge{choose(900_000)})
		}
	case 26:
		if choose(4) == 0 {
			c.turn()
		}
	case 18:
		if len(w.consumers) > 1 && c == w.consumers[0] && choose(5) == 0 {
			c.close()
		}
	default:
		w.Step()
	}
}

// bar takes the rights to a znode away, or gives all back.
func (w *world) bar(choose func(n int) int) {
	root := layout.Root(root)
	all := []string{root.Work(), root.Cursor(), root.Line(), place.Root(root).Stripe(0), layout.Root(graves).Work()}
	for _, dir := range []string{root.Work(), root.Journals(), root.Living()} {
		for _, child := range w.Children(dir) {
			all = append(all, dir+"/"+child)
		}
	}
	if n := choose(2 * len(all)); n < len(all) {
		w.Bar(all[n])
	} else {
		w.Unbar()
	}
}

// close has the face give back what nobody has received, and then the machine end.
func (c *consumer) close() {
	if stopped, _ := c.actor.Stopped(); stopped {
		return
	}
	for _, no := range c.nos(func(g *grip) bool { return !g.received }) {
		c.settle(no, consume.Return, 0)
	}
	c.closed = true
	c.world.deaths++ // one whose possession is refused meanwhile counts as received
	c.actor.Tell(machine.Closing{})
}

func (c *consumer) nos(which func(g *grip) bool) (nos []uint64) {
	for no, g := range c.held {
		if g.how == 0 && which(g) {
			nos = append(nos, no)
		}
	}
	slices.Sort(nos)
	return nos
}

// act receives an item, or settles one.
func (c *consumer) act(choose func(n int) int) {
	if nos := c.nos(func(g *grip) bool { return !g.received }); len(nos) > 0 && choose(3) > 0 {
		c.receive(nos[0])
		return
	}
	if nos := c.nos(func(g *grip) bool { return g.received }); len(nos) > 0 {
		no := nos[choose(len(nos))]
		switch choose(3) {
		case 0:
			c.settle(no, consume.Nack, int64(choose(3)*100))
		default:
			c.settle(no, consume.Ack, 0)
		}
	}
}

func (c *consumer) receive(no uint64) {
	g := c.held[no]
	g.received = true
	g.item.attempts++
	if g.late = c.stream; g.late {
		g.item.late++
	}
	if c.stream {
		c.actor.Tell(consume.Received{No: no})
	}
}

func (c *consumer) settle(no uint64, how consume.How, after int64) {
	g := c.held[no]
	g.how, g.cut = how, g.item.cut
	if how != consume.Ack && g.item.holder == c { // its possession ends first
		g.item.holder = nil
	}
	c.actor.Tell(consume.Settle{No: no, How: how, After: after})
}

func (c *consumer) lapse() {
	stopped, _ := c.actor.Stopped()
	for no, g := range c.held {
		g.lapsed = true
		if stopped && g.how == consume.Ack && !c.world.explains(c, g.item) {
			fail("%s: the acknowledgement of %s was carried out, and is never answered", c.name, g.item.body)
		}
		if g.item.holder == c {
			g.item.holder = nil
		}
		if g.how == 0 {
			delete(c.held, no)
			c.actor.Tell(consume.Over{No: no})
			c.want(1)
		}
	}
}

// explains tells whether an item is there, or why it is gone if this consumer has not acknowledged
// it.
func (w *world) explains(c *consumer, i *item) bool {
	if i.acked > 0 || i.dead || i.removed || i.maybe || w.damaged {
		return true
	}
	for _, other := range w.consumers {
		for _, g := range other.held {
			if other != c && g.item == i {
				return true
			}
		}
	}
	work := layout.Root(root).Work()
	for _, bucket := range w.Children(work) {
		for _, name := range w.Children(work + "/" + bucket) {
			z, _ := layout.ParseZnode(name)
			records, _ := layout.Unpack(w.Data(work+"/"+bucket+"/"+name), z.Count)
			if slices.ContainsFunc(records, func(r layout.Record) bool { return string(r.Body) == i.body }) {
				return true
			}
		}
	}
	return false
}

func (c *consumer) drop(no uint64) {
	if g := c.held[no]; g != nil {
		if g.item.holder == c {
			g.item.holder = nil
		}
		delete(c.held, no)
		c.want(1)
	}
}

func (c *consumer) perform(e machine.Effect) {
	switch e := e.(type) {
	case consume.Deliver:
		c.deliver(e)
	case consume.Settled:
		g := c.held[e.No]
		if g == nil {
			return
		}
		if errors.Is(e.Err, recipetest.ErrRefused) {
			if g.how == consume.Ack && !g.lapsed {
				g.how = 0 // it is had still
				if c.world.ending {
					c.finish(e.No)
				}
				return
			}
			if g.how == consume.Return {
				c.world.deaths++ // it counts as received
			}
			c.actor.Tell(consume.Over{No: e.No})
		}
		if e.Err == nil && g.late {
			g.item.late--
		}
		if g.how == consume.Ack {
			switch {
			case e.Err == nil && g.cut && !c.world.damaged:
				fail("%s was removed, and is acknowledged", g.item.body)
			case e.Err == nil:
				if g.item.acked++; g.item.acked > 1 && !c.world.damaged {
					fail("%s is acknowledged twice", g.item.body)
				}
			case errors.Is(e.Err, recipetest.ErrRefused):
			case errors.Is(e.Err, consume.ErrUnknown):
				g.item.maybe = true
			case !errors.Is(e.Err, consume.ErrLost) && !errors.Is(e.Err, consume.ErrGone):
				fail("%s: %v", c.name, e.Err)
			}
		}
		c.drop(e.No)
	case consume.Dropped:
		if c.unheld[e.No] {
			c.seen++ // as the machine counts
			c.want(0)
			return
		}
		if g := c.held[e.No]; g != nil && g.how != 0 { // its settlement is on its way, and answered
			if g.item.holder == c {
				g.item.holder = nil
			}
			return
		}
		c.drop(e.No)
	case consume.Skipped:
		c.skipped = append(c.skipped, e.Path)
		if !c.world.refuses && !c.world.damaged {
			fail("%s skips %s: %v", c.name, e.Path, e.Err)
		}
	default:
		fail("%s: %T", c.name, e)
	}
}

func (c *consumer) deliver(e consume.Deliver) {
	i := c.world.items[string(e.Record.Body)]
	switch {
	case i == nil:
		fail("%s: nobody put %q", c.name, e.Record.Body)
	case i.due > c.world.Now():
		fail("%s is delivered %d too early", i.body, i.due-c.world.Now())
	case c.world.damaged: // what was known of it is gone
	case i.dead:
		fail("%s is delivered to %s after it was buried", i.body, c.name)
	case c.world.attempts > 0 && i.attempts-i.late >= c.world.attempts:
		fail("%s is delivered after %d attempts", i.body, i.attempts)
	case i.acked > 0:
		fail("%s is delivered to %s after it was acknowledged", i.body, c.name)
	case e.Attempt <= i.attempts-i.late, e.Attempt > i.attempts+1+c.world.deaths:
		fail("%s is delivered as attempt %d, and was received %d times", i.body, e.Attempt, i.attempts)
	}
	if c.auto || c.actor.Trusted(e.Epoch) {
		c.inOrder(i)
	}
	if c.auto {
		i.acked++
		if c.stream {
			c.actor.Tell(consume.Received{No: e.No})
		}
		c.called()
		c.want(1)
		return
	}
	if !c.actor.Trusted(e.Epoch) {
		c.unheld[e.No] = true
		i.returned = true // others come before it that were handed out meanwhile
		c.actor.Tell(consume.Unheld{No: e.No})
		return
	}
	if i.holder != nil {
		fail("%s is had by %s and by %s", i.body, i.holder.name, c.name)
	}
	if c.world.Exists(e.Path) { // otherwise its guard was removed by hand, which ends the possession
		i.holder = c
	}
	c.held[e.No] = &grip{item: i}
	if c.closed {
		c.settle(e.No, consume.Return, 0)
		return
	}
	if called := c.called(); !c.stream && !called {
		c.settle(e.No, consume.Return, 0)
		return
	}
	if !c.stream {
		c.receive(e.No)
	}
	if c.world.ending {
		c.finish(e.No)
	}
}

// called counts an item that was delivered, and tells whether a caller waits for it.
func (c *consumer) called() bool {
	c.seen++
	if c.calls == 0 {
		return false
	}
	c.calls--
	return true
}

// inOrder fails if an item that comes for the first time comes behind one that was put later.
func (c *consumer) inOrder(i *item) {
	switch {
	case i.returned || i.came || c.world.refuses || c.world.damaged:
	case i.number < c.first[i.lane]:
		fail("%s is delivered behind number %d", i.body, c.first[i.lane])
	default:
		c.first[i.lane] = i.number
	}
	i.came = true
}

func (c *consumer) finish(no uint64) {
	if !c.held[no].received {
		c.receive(no)
	}
	c.settle(no, consume.Ack, 0)
}

// conclude lets everything come to rest without further faults: what was put and not acknowledged
// is delivered, and nothing else.
func (w *world) conclude() {
	w.ending = true
	for _, c := range w.consumers {
		if c.away && !c.closed {
			c.turn()
			break
		}
	}
	for range 4 {
		w.Heal()
		w.Unbar()
		for _, c := range w.consumers {
			for _, no := range c.nos(func(*grip) bool { return true }) {
				c.finish(no)
			}
		}
		w.rest()
	}
	alone := len(w.consumers) > 0
	for _, c := range w.consumers {
		if stopped, err := c.actor.Stopped(); stopped && err != nil {
			fail("%s: %v", c.name, err)
		} else if !stopped {
			alone = false
		}
	}
	if alone {
		return // nobody is left to take anything
	}
	for _, i := range w.items {
		switch {
		case i.dead && i.attempts+w.deaths < w.attempts && !w.damaged:
			fail("%s is a dead letter after %d attempts", i.body, i.attempts)
		case i.put && i.acked == 0 && !i.dead && !i.removed && !i.lostForGood(w):
			fail("%s is lost", i.body)
		case i.id != "" && !i.removed && w.Exists(layout.Root(root).ID(i.id)):
			fail("the id of %s is not free", i.body)
		}
	}
	for _, name := range w.Children(layout.Root(root).Work()) {
		for _, child := range w.Children(layout.Root(root).Work() + "/" + name) {
			_, delayed := layout.ParseDelayed(child)
			if _, ok := layout.ParseZnode(child); ok || delayed {
				fail("%s is left", child)
			}
		}
	}
	if left := w.Children(layout.Root(root).Returned()); len(left) > 0 {
		fail("left: %v", left)
	}
	w.inspectRoom()
}

// rest lets everything happen that is under way.
func (w *world) rest() {
	for range 20_000 {
		if w.Settle(1) {
			return
		}
		w.inspect()
	}
	fail("it does not come to rest")
}

// lostForGood: its acknowledgement may have been carried out; or a process crashed that took it at
// most once.
func (i *item) lostForGood(w *world) bool { return i.maybe && i.attempts > 0 || w.crashed }
