package produce_test

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

// judge knows what lies in the queue, and what has lain there.
type judge struct {
	now   int // instants, as they are inspected
	era   int // ends when the queue is deleted
	puts  []*put
	items map[string]*put // by data
	spots map[string]spot // where an item was seen first
	here  map[string]here // what lies there now, by path
	ids   map[string]bool // of living items
	left  int             // room
	bound bool            // the queue has its room
	plain bool            // something lies there that takes none
}

// spot is where an item lies.
type spot struct {
	path   string
	bucket place.Bucket
	seq    int32
	index  int
	era    int
	guid   string
}

// here is a znode with items.
type here struct {
	records []layout.Record
	room    bool
}

func newJudge() judge {
	return judge{items: make(map[string]*put), spots: make(map[string]spot)}
}

func (s spot) compare(t spot) int {
	return cmp.Or(s.bucket.Compare(t.bucket), cmp.Compare(s.seq, t.seq), cmp.Compare(s.index, t.index))
}

// inspect fails if something lies there that must not.
func (w *world) inspect() {
	j := &w.judge
	j.now++
	j.here, j.ids, j.plain = make(map[string]here), make(map[string]bool), false
	total := 0
	fresh := make(map[*put][]spot)
	once := make(map[string]bool)
	for _, name := range w.Children(queue.Work()) {
		b, ok := place.ParseBucket(name)
		if !ok {
			continue
		}
		for _, child := range w.Children(queue.Bucket(b)) {
			z, ok := layout.ParseZnode(child)
			if d, delayed := layout.ParseDelayed(child); delayed && b.Lane.Later {
				z, ok = d.Znode, true
				w.inspectDelayed(b, d, queue.Bucket(b)+"/"+child)
			}
			path := queue.Bucket(b) + "/" + child
			records, whole := layout.Unpack(w.Data(path), z.Count)
			if !ok || !whole {
				w.Failf("%s makes no sense", path)
			}
			j.here[path] = here{records, z.Room}
			if total += len(records); !z.Room {
				j.plain = true
				total -= len(records)
			}
			for n, r := range records {
				s := spot{path, b, z.Seq, n, j.era, z.Item(n)}
				if once[string(r.Body)] {
					w.Failf("%s lies there twice", r.Body)
				}
				once[string(r.Body)] = true
				w.inspectItem(s, r, fresh)
			}
		}
	}
	w.inspectPuts(fresh)
	w.inspectRoom(total)
	w.inspectIDs()
	for _, c := range j.puts {
		if !c.settled {
			w.witness(c)
		}
	}
}

// witness notes what a put may be answered with.
func (w *world) witness(c *put) {
	j := &w.judge
	c.gap = c.gap || !w.Exists(guard)
	c.bounded = c.bounded || w.Exists(place.Root(queue).Room())
	c.full = c.full || j.bound && j.left < len(c.wish.Items)
	ids := make(map[string]bool)
	for _, i := range c.wish.Items {
		if i.ID != "" {
			c.taken = c.taken || j.ids[i.ID] || ids[i.ID]
			ids[i.ID] = true
		}
	}
}

func (w *world) inspectItem(s spot, r layout.Record, fresh map[*put][]spot) {
	j := &w.judge
	c := j.items[string(r.Body)]
	if c == nil {
		w.Failf("nobody put %q", r.Body)
	}
	if r.ID != "" {
		if data := w.Data(queue.ID(r.ID)); string(data) != s.guid {
			w.Failf("%s has the id %s, where %q is written", s.path, r.ID, data)
		}
		if j.ids[r.ID] {
			w.Failf("two items have the id %s", r.ID)
		}
		j.ids[r.ID] = true
	}
	was, known := j.spots[string(r.Body)]
	switch {
	case known && was.path != s.path:
		w.Failf("%s is put twice: %s and %s", r.Body, was.path, s.path)
	case !known:
		j.spots[string(r.Body)] = s
		fresh[c] = append(fresh[c], s)
	}
}

func (w *world) inspectDelayed(b place.Bucket, d layout.Delayed, path string) {
	if _, known := w.judge.here[path]; known {
		return
	}
	for body, s := range w.judge.spots {
		if s.path != path {
			continue
		}
		c := w.judge.items[body]
		if i := c.wish.Items[0]; d.Due < c.began+i.Delay || d.Lane != (place.Lane{Priority: i.Priority}) || b.Lane.Slot > d.Due {
			w.Failf("%s in %s: due %d, put at %d for %d", path, b.Name(), d.Due, c.began, i.Delay)
		}
	}
}

// inspectPuts fails unless the puts that were carried out since were so as a whole, and in order.
func (w *world) inspectPuts(fresh map[*put][]spot) {
	j := &w.judge
	for c, spots := range fresh {
		if len(spots) != len(c.wish.Items) || c.seen != nil {
			w.Failf("%d of %s is carried out in part", c.wish.No, c.by.name)
		}
		if c.settled {
			w.Failf("%d of %s is carried out after it was answered", c.wish.No, c.by.name)
		}
		for n, i := range c.wish.Items {
			c.seen = append(c.seen, j.spots[string(i.Data)])
			if n > 0 && c.seen[n-1].compare(c.seen[n]) >= 0 {
				w.Failf("%s lies before the one behind which it was put", i.Data)
			}
		}
		c.guarded = w.Exists(guard)
		if len(c.wish.Under) > 0 && !c.guarded {
			w.Failf("%d of %s is carried out without its guard", c.wish.No, c.by.name)
		}
		for _, o := range j.puts {
			before := o.by == c.by && o.wish.No < c.wish.No || o.settled && o.at < c.told
			if o == c || o.seen == nil || o.seen[0].era != c.seen[0].era || o.seen[0].bucket.Lane != c.seen[0].bucket.Lane || !before || c.wish.Items[0].Delay > 0 {
				continue
			}
			if o.seen[len(o.seen)-1].compare(c.seen[0]) >= 0 {
				w.Failf("%s lies behind %s", o.seen[0].path, c.seen[0].path)
			}
		}
	}
}

// inspectRoom fails unless what lies in a bounded queue, and the room that is left, are its
// capacity.
func (w *world) inspectRoom(total int) {
	j := &w.judge
	root := place.Root(queue)
	j.left, j.bound = 0, len(w.Children(root.Room())) == place.Stripes
	if !j.bound {
		return
	}
	for n := range place.Stripes {
		left, err := strconv.Atoi(string(w.Data(root.Stripe(n))))
		if err != nil || left < 0 {
			w.Failf("room: %d, %v", left, err)
		}
		j.left += left
	}
	if capacity, _ := strconv.Atoi(string(w.Data(root.Room()))); total+j.left != capacity {
		w.Failf("%d items and room for %d are not %d", total, j.left, capacity)
	}
	if j.plain {
		w.Failf("something lies in a bounded queue that takes no room")
	}
}

func (w *world) inspectIDs() {
	for _, dir := range w.Children(string(queue) + "/ids") {
		for _, id := range w.Children(string(queue) + "/ids/" + dir) {
			if !w.judge.ids[id] {
				w.Failf("the id %s is not free", id)
			}
		}
	}
}

// settled judges an answer.
func (w *world) settled(c *put, e produce.Settled) {
	w.inspect()
	c.settled, c.at = true, w.judge.now
	switch {
	case e.Err == nil && c.seen == nil && c.swept:
		return
	case e.Err == nil && c.seen == nil:
		w.Failf("%d of %s is answered, and not in the queue", e.No, c.by.name)
	case e.Err == nil:
		guids := make([]string, len(c.seen))
		for n, s := range c.seen {
			guids[n] = s.guid
		}
		if !slices.Equal(guids, e.GUIDs) {
			w.Failf("%d of %s has the GUIDs %v, and is told %v", e.No, c.by.name, guids, e.GUIDs)
		}
		return
	case errors.Is(e.Err, produce.ErrUnknown):
		if !c.sent {
			w.Failf("%d of %s is unknown, and was not sent", e.No, c.by.name)
		}
		return
	case c.seen != nil:
		w.Failf("%d of %s is in the queue, and is answered with %v", e.No, c.by.name, e.Err)
	}
	why := map[error]bool{
		produce.ErrFull: c.full, produce.ErrDuplicate: c.taken, produce.ErrUnder: c.gap && len(c.wish.Under) > 0,
		produce.ErrCapacity: w.bounds, produce.ErrWithdrawn: c.withdrawn,
		produce.ErrEphemeral: c.bounded && c.wish.Items[0].Ephemeral, recipetest.ErrRefused: w.refuses,
	}
	if !why[e.Err] {
		w.Failf("%d of %s is answered with %v", e.No, c.by.name, e.Err)
	}
}
