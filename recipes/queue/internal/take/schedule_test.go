package take_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

const root = "/q"

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, 1000, func(c recipetest.Chance) {
		kind := c.Pick(3)
		if story, err := schedule(c.Pick, 400, kind == 1, kind == 2); err != nil {
			if lines := strings.Split(story, "\n"); len(lines) > 300 {
				story = strings.Join(lines[len(lines)-300:], "\n")
			}
			c.Failf("%v\n%s", err, story)
		}
	})
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		recipetest.Schedule(rt, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, func(c recipetest.Chance) {
			if story, err := schedule(c.Pick, 120, false, false); err != nil {
				c.Failf("%v\n%s", err, story)
			}
		})
	})
}

// What is set in the numbers of schedules.
const (
	removing = 1 << 62 // items are removed
	hasty    = 1 << 61 // items are lost that are not settled in time, and the first of several consumers is closed
)

func runSeed(n uint64) (story string, err error) {
	rng := rand.New(rand.NewPCG(n, 5))
	return schedule(rng.IntN, 400, n&removing != 0, n&hasty != 0)
}

type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// world is the queue as a judge sees it.
type world struct {
	*recipetest.World
	capacity   int
	attempts   int              // after which an item is buried; 0: never
	visibility int64            // in milliseconds; 0: any time
	items      map[string]*item // by data
	producers  []*producer
	consumers  []*consumer
	remover    *remover // nil: nobody removes anything
	hasty      bool     // the first of several consumers may be closed
	crashed    bool     // a consumer with AutoAck has
	ending     bool     // no more faults: everything is taken and acknowledged
}

// item is what the judge knows of one.
type item struct {
	data     string
	producer *producer
	nth      int
	put      bool  // for certain
	refused  bool  // for certain
	acked    int   // for certain
	maybe    bool  // an acknowledgement is of unknown outcome, or it was to be removed
	first    int64 // the transaction of its first claim
	holder   *consumer
}

func schedule(draw func(n int) int, most int, removals, hasty bool) (story string, err error) {
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
	if w.hasty = hasty; hasty {
		w.visibility = 50
	}
	for n := range 1 + choose(2) {
		w.addProducer(n)
	}
	auto := choose(4) == 0
	for n := range 1 + choose(3) {
		w.addConsumer(n, auto)
	}
	if removals && w.capacity == 0 { // else it would have to give the room back
		w.addRemover()
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
	case 17:
		switch {
		case w.remover != nil:
			w.remover.remove(choose)
		case w.hasty && len(w.consumers) > 1 && choose(4) == 0:
			w.consumers[0].actor.Tell(machine.Closing{})
		default:
			w.Step()
		}
	default:
		w.Step()
	}
}

// conclude lets everything come to rest without further faults: what was put and not acknowledged
// is delivered, and nothing else.
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
