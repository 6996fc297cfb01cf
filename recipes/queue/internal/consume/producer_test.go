package consume_test

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// producer puts znodes with items, one after the other, each once its predecessor is answered. It
// seals a bucket when that has three.
type producer struct {
	world    *world
	name     string
	number   int
	requests machine.Requests[int]
	lane     place.Lane
	bucket   int
	count    int // items so far
	wishes   []*batch
	sent     *batch
}

type batch struct {
	items []*item
	guid  string
	seals bool
	delay int64
	later place.Bucket
}

type produce struct {
	items int
	delay int64
}

// produceLarge puts one item of about so many bytes.
type produceLarge struct{ size int }

func (w *world) addProducer(n int) {
	p := &producer{world: w, name: fmt.Sprint("p", n), number: n, lane: place.Lane{Priority: n % 2}}
	a := w.Add(recipetest.Player{Name: p.name, Machine: func() machine.Machine { return p }})
	w.producers = append(w.producers, a)
}

func (p *producer) Step(ev machine.Event) []machine.Effect {
	if _, ok := p.requests.Accept(ev); !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		p.requests.Begin(ev.Epoch)
		p.sent = nil // of unknown outcome
		if p.world.bounded {
			for n := range place.Stripes {
				p.requests.Ask(machine.Ensure{Path: place.Root(root).Stripe(n), Data: []byte("100")}, 1+n)
			}
		}
		p.requests.Ask(machine.Ensure{Path: root + "/ids/00"}, 100)
	case produce:
		p.wish(ev, 0)
	case produceLarge:
		p.wish(produce{1, 0}, ev.size)
	case machine.Listed:
		for _, name := range ev.Names {
			if b, ok := place.ParseBucket(name); ok && b.Lane == p.lane {
				p.bucket = max(p.bucket, b.Number)
			}
		}
	case machine.Transacted:
		p.onPut(ev)
	}
	if p.sent == nil && len(p.wishes) > 0 && p.requests.Epoch() != 0 && !p.requests.Pending(0) && p.world.prepared() {
		p.put()
	}
	return p.requests.Flush()
}

func (p *producer) wish(ev produce, size int) {
	b := &batch{delay: ev.delay, guid: fmt.Sprintf("%08x-%04x-4000-8000-000000000000", p.count, p.number)}
	for range ev.items {
		i := &item{body: fmt.Sprintf("%s-%d%s", p.name, p.count, strings.Repeat(".", size)), lane: p.lane, number: p.count}
		p.count++
		p.world.items[i.body] = i
		b.items = append(b.items, i)
	}
	p.wishes, p.world.batches[b.guid] = append(p.wishes, b), b.items
}

// idOf is an id with a certain parent.
func idOf(body string) string {
	for n := 0; ; n++ {
		if id := fmt.Sprint(body, "-", n); layout.Root(root).ID(id) == root+"/ids/00/"+id {
			return id
		}
	}
}

// prepared tells whether everything is there that producers make.
func (w *world) prepared() bool {
	return w.Exists(root+"/ids/00") && (!w.bounded || len(w.Children(place.Root(root).Room())) == place.Stripes)
}

func (p *producer) put() {
	b := p.wishes[0]
	p.wishes = p.wishes[1:]
	p.sent = b
	var records []layout.Record
	var ids []machine.Op
	for _, i := range b.items {
		if len(b.items) == 1 {
			if i.id == "" {
				i.id = idOf(strings.TrimRight(i.body, "."))
			}
			ids = append(ids, machine.Op{Do: machine.Create, Path: layout.Root(root).ID(i.id)})
		}
		records = append(records, layout.Record{ID: i.id, Body: []byte(i.body)})
	}
	root := layout.Root(root)
	at := place.Bucket{Lane: p.lane, Number: p.bucket}
	ops := []machine.Op{{Do: machine.Check, Path: root.Bucket(at)}}
	if b.seals = len(p.world.Children(root.Bucket(at))) >= 3; b.seals {
		ops = []machine.Op{{Do: machine.Set, Path: root.Bucket(at)}, {Do: machine.Create, Path: root.Bucket(at.Next())}}
	}
	if b.delay > 0 { // nobody seals what comes later
		now := p.world.Now()
		b.seals, b.later = false, place.Bucket{Lane: place.SlotOf(now, b.delay)}
		d := layout.Delayed{
			Znode: layout.Znode{GUID: b.guid, Count: len(b.items), Room: p.world.bounded}, Due: now + b.delay, Lane: p.lane,
		}
		for _, i := range b.items {
			i.due, i.returned = d.Due, true
		}
		ops = append([]machine.Op{{Do: machine.Check, Path: root.Bucket(b.later)}}, ids...)
		ops = append(ops, machine.Op{Do: machine.Create, Path: znode.Join(root.Bucket(b.later), d.Head()), Data: layout.Pack(records), Sequential: true})
		p.requests.Ask(machine.Transact{Ops: ops}, 0)
		return
	}
	z := layout.Znode{GUID: b.guid, Count: len(b.items), Room: p.world.bounded}
	ops = append(ops, ids...)
	ops = append(ops, machine.Op{Do: machine.Create, Path: znode.Join(root.Bucket(at), z.Head()), Data: layout.Pack(records), Sequential: true})
	p.requests.Ask(machine.Transact{Ops: ops}, 0)
}

func (p *producer) onPut(ev machine.Transacted) {
	b := p.sent
	p.sent = nil
	switch ev.Code {
	case machine.Unknown:
	case machine.Done:
		for _, i := range b.items {
			i.put = true
		}
		if b.seals {
			p.bucket++
		}
	case machine.NoNode:
		p.wishes = append([]*batch{b}, p.wishes...)
		at := place.Bucket{Lane: p.lane, Number: p.bucket}
		if b.delay > 0 {
			at = b.later
		} else if p.bucket > 0 { // deleted when it was sealed and empty
			p.requests.Ask(machine.List{Path: layout.Root(root).Work()}, 0)
			return
		}
		p.requests.Ask(machine.Ensure{Path: layout.Root(root).Bucket(at)}, 0)
	default:
		p.wishes = append([]*batch{b}, p.wishes...)
		p.requests.Ask(machine.List{Path: layout.Root(root).Work()}, 0)
	}
}
