package produce_test

import (
	"cmp"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

// judge knows what lies in the queue, and what has lain there.
type judge struct {
	now   int // instants, as they are inspected
	era   int // ends when something is deleted by hand
	puts  []*put
	items map[string]*put // by data
	lies  map[string]layout.Item
	gone  map[string]bool // what was there, and was taken
	ids   map[string]bool // of what lies there
	size  layout.Size
}

// put is what the judge knows of one.
type put struct {
	produce.Put
	by        *producer
	told, at  int // the instants when it was wished and answered; 0: it is not
	began     int64
	era       int // in which it was carried out
	sent      bool
	withdrawn bool
	seen      []layout.Item // where its items were seen first
	full      bool          // there was one without room
	taken     bool          // there was one with an item of one of its ids
}

func before(i, j layout.Item) bool {
	return cmp.Or(cmp.Compare(i.Bucket.Number, j.Bucket.Number), cmp.Compare(i.Seq, j.Seq)) < 0
}

// buckets are all that there are.
func (w *world) buckets() (all []layout.Bucket) {
	for _, name := range append(w.Children(queue.Items()), w.Children(queue.Later())...) {
		b, ok := layout.ParseBucket(name)
		if !w.Exists(queue.Bucket(b)) {
			b, ok = layout.ParseSlot(name)
		}
		if !ok || !b.Lane.Later && !w.wipes && !w.Exists(queue.ClaimsOf(b)) {
			w.Failf("%s makes no sense, or has no claims", name)
		}
		all = append(all, b)
	}
	return all
}

// inspect fails if something lies there that must not.
func (w *world) inspect() {
	were, fresh := w.lies, make(map[*put]int)
	w.now++
	w.lies, w.ids = make(map[string]layout.Item), make(map[string]bool)
	for _, b := range w.buckets() {
		for _, name := range w.Children(queue.Bucket(b)) {
			i, ok := layout.ParseItem(b, name)
			r, whole := layout.ParseRecord(w.Data(queue.Bucket(b) + "/" + name))
			body := string(r.Body)
			_, twice := w.lies[body]
			c := w.items[body]
			if !ok || !whole || twice || w.gone[body] || c == nil {
				w.Failf("%s in %s makes no sense, or is put twice", name, b.Name())
			}
			if path, _ := queue.ID(r.ID); r.ID != "" && string(w.Data(path)) != i.GUID || w.ids[r.ID] {
				w.Failf("the id %s is not that of %s alone", r.ID, name)
			}
			w.lies[body], w.ids[r.ID] = i, r.ID != ""
			if _, known := were[body]; !known {
				fresh[c]++
			}
		}
	}
	for body := range were {
		if _, there := w.lies[body]; !there {
			w.gone[body] = true
		}
	}
	for c, n := range fresh {
		w.carriedOut(c, n)
	}
	w.inspectSize(len(were), len(w.lies))
	for _, c := range w.puts {
		if c.at == 0 {
			w.witness(c)
		}
	}
}

// carriedOut fails unless a put was so as a whole, and in order.
func (w *world) carriedOut(c *put, items int) {
	if items != len(c.Items) || c.at > 0 {
		w.Failf("%d of %s is carried out in part, or after it was answered", c.No, c.by.GUID)
	}
	c.era = w.era
	for _, i := range c.Items {
		at := w.lies[string(i.Data)]
		c.seen = append(c.seen, at)
		if early := i.Delay > 0 && (at.Due < c.began+i.Delay || at.Bucket.Lane.Slot > at.Due); early || at.Bucket.Lane.Priority != i.Priority && i.Delay == 0 {
			w.Failf("%s lies in %s, due at %d", i.Data, at.Bucket.Name(), at.Due)
		}
	}
	first := c.seen[0]
	for _, o := range w.puts {
		earlier := o.by == c.by && o.No < c.No || o.at > 0 && o.at < c.told
		if earlier && o.era == c.era && o.seen != nil && !first.Bucket.Lane.Later && o.seen[0].Bucket.Lane == first.Bucket.Lane && !before(o.seen[len(o.seen)-1], first) ||
			o == c && !slices.IsSortedFunc(c.seen, func(i, j layout.Item) int { return cmp.Compare(i.Seq, j.Seq) }) {
			w.Failf("%s lies behind %s", o.seen[0].Path(queue), first.Path(queue))
		}
	}
}

// inspectSize fails if something was added, and more lies there now than the size says, or than the
// capacity allows. What was put while the capacity was given may be more.
func (w *world) inspectSize(was, items int) {
	bound := w.size.Capacity > 0
	if w.size, _ = layout.ParseSize(w.Data(queue.Size())); bound && w.size.Capacity > 0 && items > was && items > min(w.size.Items, w.size.Capacity) {
		w.Failf("%d items, where %d were, in a queue of %d with %d", items, was, w.size.Capacity, w.size.Items)
	}
}

// witness notes what a put may be answered with.
func (w *world) witness(c *put) {
	c.full = c.full || w.size.Capacity > 0 && len(w.lies)+len(c.Items) > w.size.Capacity
	for n, i := range c.Items {
		same := slices.ContainsFunc(c.Items[:n], func(j produce.Item) bool { return i.ID == j.ID })
		c.taken = c.taken || i.ID != "" && (w.ids[i.ID] || same)
	}
}

// settled judges an answer.
func (w *world) settled(c *put, e produce.Settled) {
	w.inspect()
	c.at = w.now
	var guids []string
	for _, i := range c.seen {
		guids = append(guids, i.GUID)
	}
	why := map[error]bool{
		nil: guids != nil && slices.Equal(guids, e.GUIDs), produce.ErrFull: c.full, produce.ErrDuplicate: c.taken,
		produce.ErrCapacity: c.by.Capacity > 0, produce.ErrWithdrawn: c.withdrawn, produce.ErrUnknown: c.sent, recipetest.ErrRefused: w.refuses,
	}
	if !why[e.Err] || c.seen != nil && e.Err != nil && !errors.Is(e.Err, produce.ErrUnknown) {
		w.Failf("%d of %s is answered with %v; in the queue: %v", c.No, c.by.GUID, e, guids)
	}
}
