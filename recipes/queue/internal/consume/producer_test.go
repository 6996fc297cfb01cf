package consume_test

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// ids is the parent of all ids here.
const ids = string(root) + "/ids/7f"

// idOf is an id of an item below it.
func idOf(body string) string {
	for n := 0; ; n++ {
		id := fmt.Sprint("id-", body, "-", n)
		if _, parent := root.ID(id); parent == ids {
			return id
		}
	}
}

// put is a wish to a producer.
type put struct {
	count    int
	priority int
	delay    int64
}

// producer puts items, one transaction at a time. It does not ask whether a put was carried out of
// which the answer is lost.
type producer struct {
	machine.Requests[string]
	world *world
	end   *tail.Tail
	puts  []put
	sent  []*item
	parts []tail.Part
	ops   []machine.Op
}

func (p *producer) Step(ev machine.Event) []machine.Effect {
	_, ok := p.Accept(ev)
	if !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		p.Begin(ev.Epoch)
		for _, path := range []string{root.Items(), root.Claims(), root.Later(), root.Bell(), ids} {
			p.Ask(machine.Ensure{Path: path}, path)
		}
	case put:
		p.puts = append(p.puts, ev)
	case machine.Looked:
		var names [2][]string
		for n := range names {
			names[n] = ev.Answers[n].(machine.Listed).Names
		}
		p.end.Listed(names[0], names[1])
	case machine.Transacted:
		p.answered(ev)
	}
	p.proceed()
	return p.Flush()
}

func (p *producer) proceed() {
	switch {
	case p.Epoch() == 0 || len(p.puts) == 0 || p.Pending("put") || p.Pending("look") || p.Pending("bell"):
	case !p.end.Known():
		p.Ask(machine.Look{Queries: []machine.Query{{Path: root.Items(), Children: true}, {Path: root.Later(), Children: true}}}, "look")
	default:
		p.put(p.puts[0])
	}
}

func (p *producer) put(w put) {
	var all []tail.Addition
	p.sent, p.ops = nil, nil
	for range w.count {
		i := p.world.newItem(w)
		p.sent = append(p.sent, i)
		r := layout.Record{About: layout.About{ID: i.id, Priority: w.priority}, Body: []byte(i.body)}
		at := layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: w.priority}}, GUID: i.body}
		if w.delay > 0 {
			i.due = p.world.Now() + w.delay
			at.Bucket.Lane, at.Due = layout.SlotOf(p.world.Now(), w.delay), i.due
		}
		all = append(all, tail.Addition{Lane: at.Bucket.Lane, Head: at.Head(), Data: r.Write()})
	}
	p.ops, p.parts = p.end.Append(all)
	ops := append(p.ops[:len(p.ops):len(p.ops)], machine.Op{Do: machine.Set, Path: root.Bell(), Version: machine.Any})
	for _, i := range p.sent {
		if i.id != "" {
			path, _ := root.ID(i.id)
			ops = append(ops, machine.Op{Do: machine.Create, Path: path})
		}
	}
	p.Ask(machine.Transact{Ops: ops}, "put")
}

func (p *producer) answered(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Done:
		for n, part := range p.parts {
			p.end.Done(part, ev.Results[n])
		}
		for _, i := range p.sent {
			i.put = true
		}
		p.puts = p.puts[1:]
	case ev.Code == machine.Unknown:
		p.end.Forget()
		p.puts = p.puts[1:]
	case ev.Failed >= 0 && ev.Failed < len(p.parts):
		p.end.Failed(p.parts[ev.Failed], ev.Code)
	default: // it was deleted by hand
		p.Ask(machine.Ensure{Path: root.Bell()}, "bell")
	}
}

func (w *world) addProducer(n int) *recipetest.Actor {
	a := w.Add(recipetest.Player{
		Name:    fmt.Sprint("p", n),
		Machine: func() machine.Machine { return &producer{world: w, end: tail.New(root, w.limit)} },
	})
	w.producers = append(w.producers, a)
	return a
}
