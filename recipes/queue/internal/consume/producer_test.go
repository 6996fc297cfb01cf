// The producers of the model (model_test.go), simpler than those of package produce.

package consume_test

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
	"github.com/troupe-go/troupe/session"
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

// bucketLimit is small, so that buckets are sealed.
const bucketLimit = 3

// put asks a producer for new items.
type put struct {
	count    int
	priority int
	delay    int64
}

// back asks a producer for what a consumer takes out.
type back struct {
	consume.Put
	by *consumer
}

// producer puts items, one transaction at a time. After a lost answer it does not ask whether the
// put was carried out.
type producer struct {
	machine.Requests[string]
	model *model
	root  layout.Root
	end   *tail.Tail
	puts  []machine.Event
	sent  []*item
	parts []tail.Part
}

func (p *producer) Step(ev machine.Event) []machine.Effect {
	_, ok := p.Accept(ev)
	if !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		p.Begin(ev.Epoch)
		for _, path := range []string{p.root.Items(), p.root.Claims(), p.root.Later(), p.root.Bell(), ids} {
			p.Ask(machine.Ensure{Path: path}, path)
		}
	case put, back:
		p.puts = append(p.puts, ev)
	case machine.MultiSeen:
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
	if p.Epoch() == 0 || len(p.puts) == 0 || p.Pending("put") || p.Pending("list") || p.Pending("bell") {
		return
	}
	if !p.end.Known() {
		p.Ask(machine.MultiRead{Queries: []machine.Query{{Path: p.root.Items(), Children: true}, {Path: p.root.Later(), Children: true}}}, "list")
		return
	}
	p.sent = nil
	switch w := p.puts[0].(type) {
	case put:
		p.put(w)
	case back:
		var all []tail.Addition
		for n, r := range w.Items {
			all = append(all, p.addition(r, w.GUIDs[n], w.Delay))
		}
		p.append(all, w.With)
	}
}

func (p *producer) addition(r layout.Record, guid string, delay int64) tail.Addition {
	at := layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: r.Priority}}, GUID: guid}
	if delay > 0 {
		at.Bucket.Lane, at.Due = layout.SlotOf(p.model.Now(), delay), p.model.Now()+delay
	}
	return tail.Addition{Lane: at.Bucket.Lane, Prefix: at.Prefix(), Data: r.Encode()}
}

func (p *producer) append(all []tail.Addition, with []machine.Op) {
	ops, parts := p.end.Append(all)
	ops, p.parts = append(ops, with...), parts
	p.Ask(machine.Transact{Ops: append(ops, machine.Op{Do: machine.Set, Path: p.root.Bell(), Version: machine.Any})}, "put")
}

func (p *producer) put(w put) {
	var all []tail.Addition
	var with []machine.Op
	for range w.count {
		i := p.model.newItem()
		p.sent = append(p.sent, i)
		if w.delay > 0 {
			i.due = p.model.Now() + w.delay
		}
		all = append(all, p.addition(layout.Record{About: layout.About{ID: i.id, Priority: w.priority}, Body: []byte(i.body)}, i.body, w.delay))
		if i.id != "" {
			path, _ := p.root.ID(i.id)
			with = append(with, machine.Op{Do: machine.Create, Path: path})
		}
	}
	p.append(all, with)
}

func (p *producer) answered(ev machine.Transacted) {
	b, _ := p.puts[0].(back)
	switch {
	case ev.Code == machine.Done:
		for n, part := range p.parts {
			p.end.Done(part, ev.Results[n])
		}
		for _, i := range p.sent {
			i.put = true
		}
		p.ended(b, nil)
	case ev.Code == machine.Unknown:
		p.end.Forget()
		p.ended(b, session.ErrUnknownOutcome)
	case ev.Code == machine.Refused:
		p.ended(b, session.ErrNoAuth)
	case ev.Failed < len(p.parts):
		p.end.Failed(p.parts[ev.Failed], ev.Code)
	case ev.Failed < len(p.parts)+len(b.With):
		p.ended(b, session.ErrNoNode)
	default: // it was deleted by hand
		p.Ask(machine.Ensure{Path: p.root.Bell()}, "bell")
	}
}

// ended answers the put under way, if a consumer has asked for it.
func (p *producer) ended(b back, err error) {
	if p.puts = p.puts[1:]; b.by != nil {
		b.by.actor.Tell(consume.Answer{No: b.No, Err: err})
	}
}

// operator pauses the queue and resumes it, one request at a time, until it is as the model says.
type operator struct {
	machine.Requests[bool]
	model *model
	is    bool
	doubt bool // a request was made since, and not answered
}

// turned tells the operator that the model has changed its mind, and again to write it once more.
type (
	turned struct{}
	again  struct{}
)

func (o *operator) Step(ev machine.Event) []machine.Effect {
	k, ok := o.Accept(ev)
	if !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		o.Begin(ev.Epoch)
	case machine.EpochEnded:
		o.End()
	case again:
		o.doubt = true
	case machine.Transacted:
		if ev.Code == machine.Done {
			o.is, o.doubt = k, false
		}
	}
	if wanted := o.model.paused; o.Epoch() > 0 && (o.doubt || o.is != wanted) && !o.Pending(true) && !o.Pending(false) {
		o.doubt = true
		data := map[bool]string{true: "paused"}[wanted]
		o.Ask(machine.Transact{Ops: []machine.Op{{Do: machine.Set, Path: root.Claims(), Data: []byte(data), Version: machine.Any}}}, wanted)
	}
	return o.Flush()
}

// addProducers adds the producer of new items, those of items that consumers take out, and the
// operator.
func (m *model) addProducers() {
	add := func(name string, root layout.Root) *recipetest.Actor {
		return m.Add(recipetest.Player{
			Name:    name,
			Machine: func() machine.Machine { return &producer{model: m, root: root, end: tail.New(root, bucketLimit)} },
		})
	}
	m.puts, m.back, m.dead = add("p0", root), add("back", root), add("dead", dead)
	m.operator = m.Add(recipetest.Player{Name: "operator", Machine: func() machine.Machine { return &operator{model: m} }})
}
