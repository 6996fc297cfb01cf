package take_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
)

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
		Machine: func() machine.Machine {
			floor := p.no
			return watched{give.New(give.Config{
				Site: give.Site{Root: root}, GUID: p.name, Home: n, Capacity: w.capacity, Limit: 4, Floor: floor,
			}), givingDeclared}
		},
		Standing: func() []machine.Event {
			var wishes []machine.Event
			for _, c := range p.calls {
				wish := c.wish
				wish.Stands, wish.Again = true, c.sent
				wishes = append(wishes, wish)
			}
			return wishes
		},
		Perform: func(_ *recipetest.Actor, e machine.Effect) { p.perform(e) },
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

func (p *producer) perform(e machine.Effect) {
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
