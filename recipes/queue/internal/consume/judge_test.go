package consume_test

import (
	"path"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// judge knows of the znodes what it saw last.
type judge struct {
	cursor layout.Cursor
	zxid   int64
}

// named is a znode's place among all: what names it, and which of its items.
type named struct {
	by    string
	entry layout.Entry
}

// inspect fails unless every znode with items is in exactly one state: behind the cursor, or named
// once by a journal or by what came back.
func (w *world) inspect() {
	if w.judge.zxid == w.Zxid() {
		return
	}
	w.judge.zxid = w.Zxid()
	root := layout.Root(root)
	cursor, ok := layout.ParseCursor(w.Data(root.Cursor()))
	if !ok {
		fail("the cursor is %q", w.Data(root.Cursor()))
	}
	for lane, was := range w.judge.cursor {
		if is := cursor.Of(lane); is.Number < was.Number || is.Number == was.Number && is.Seq < was.Seq {
			fail("the cursor of %v falls from %v to %v", lane, was, is)
		}
	}
	w.judge.cursor = cursor
	all := make(map[string]named)
	name := func(by string, e layout.Entry) {
		at := e.Position.String()
		if other, twice := all[at]; twice {
			fail("%s is named by %s and by %s", at, other.by, by)
		}
		all[at] = named{by, e}
	}
	for _, tag := range w.Children(root.Journals()) {
		j, ok := layout.ParseJournal(w.Data(root.Journal(tag)))
		if !ok {
			fail("the journal %s is %q", tag, w.Data(root.Journal(tag)))
		}
		for _, c := range j.Claims {
			name(tag, c.Entry)
		}
	}
	for _, child := range w.Children(root.Returned()) {
		r, ok := layout.ParseReturned(child)
		if !ok {
			fail("%s came back", child)
		}
		name(child, r.Entry)
		w.cameBack(r.Entry)
	}
	for _, child := range w.Children(root.Work()) {
		if b, ok := place.ParseBucket(child); ok && !b.Lane.Later {
			w.inspectBucket(b, cursor.Of(b.Lane), all)
		}
	}
	w.inspectGraves()
	for at, n := range all {
		if w.removed[at] {
			continue
		}
		fail("%s names %s, where nothing is", n.by, at)
	}
}

// inspectBucket takes the bucket's znodes from all that are named.
func (w *world) inspectBucket(b place.Bucket, mark layout.Mark, all map[string]named) {
	for _, child := range w.Children(layout.Root(root).Bucket(b)) {
		z, ok := layout.ParseZnode(child)
		if !ok {
			continue
		}
		for _, i := range w.batches[z.GUID] {
			i.put = true // though the answer may be lost
		}
		at := z.At(b).String()
		n, claimed := all[at]
		delete(all, at)
		behind := b.Number > mark.Number || b.Number == mark.Number && z.Seq > mark.Seq
		switch {
		case behind && z.Part() == 0 && claimed:
			fail("%s lies behind the cursor, and %s names it", at, n.by)
		case behind && z.Part() == 0:
		case !claimed && w.damaged: // until it is scrubbed
		case !claimed:
			fail("%s is before the cursor, and nothing names it", at)
		case n.entry.Left()&^layout.Whole(b, z).Left() != 0:
			fail("%s names items of %s that it has not", n.by, at)
		}
	}
}

// cameBack marks the items of an entry.
func (w *world) cameBack(e layout.Entry) {
	path := layout.Root(root).Bucket(e.Bucket)
	z, ok := e.Find(w.Children(path))
	if !ok {
		return
	}
	records, _ := layout.Unpack(w.Data(path+"/"+z.Name()), z.Count)
	for _, r := range records {
		if !r.Removed {
			w.items[string(r.Body)].returned = true
		}
	}
}

// inspectGraves fails if a dead letter is there twice.
func (w *world) inspectGraves() {
	dead := layout.Root(graves)
	seen := make(map[string]bool)
	for _, bucket := range w.Children(dead.Work()) {
		for _, child := range w.Children(dead.Work() + "/" + bucket) {
			z, _ := layout.ParseZnode(child)
			records, ok := layout.Unpack(w.Data(dead.Work()+"/"+bucket+"/"+child), z.Count)
			if !ok {
				fail("the dead letter %s makes no sense", child)
			}
			for _, r := range records {
				i := w.items[string(r.Body)]
				if i == nil || !w.damaged && (seen[i.body] || i.acked > 0) || i.id != r.ID {
					fail("the dead letter %s: %+v", child, i)
				}
				seen[i.body], i.dead = true, true
			}
		}
	}
}

// inspectRoom fails unless everything that is gone has given back its room.
func (w *world) inspectRoom() {
	if !w.bounded || !w.prepared() {
		return
	}
	room := -100 * place.Stripes
	for n := range place.Stripes {
		left, err := strconv.Atoi(string(w.Data(place.Root(root).Stripe(n))))
		if err != nil {
			fail("room: %v", err)
		}
		room += left
	}
	gone := 0
	for _, i := range w.items {
		if i.removed || w.damaged {
			return // with the room that it took
		}
		if i.put || i.came || i.dead {
			gone++
		}
	}
	if room != gone {
		fail("%d items are gone, and room is free for %d", gone, room)
	}
}

// vandalize removes a znode by hand: some items, a place in line, or what says that a consumer
// lives.
func (w *world) vandalize(choose func(n int) int) {
	root := layout.Root(root)
	var all []string
	for _, child := range w.Children(root.Work()) {
		if b, ok := place.ParseBucket(child); ok {
			for _, child := range w.Children(root.Bucket(b)) {
				all = append(all, root.Bucket(b)+"/"+child)
			}
		}
	}
	items := len(all)
	for _, dir := range []string{root.Line(), root.Living(), root.Journals(), root.Returned()} {
		for _, child := range w.Children(dir) {
			all = append(all, dir+"/"+child)
		}
	}
	if len(all) == 0 {
		return
	}
	if w.Delete(root.Cursor()) && len(w.Children(root.Line())) > 0 {
		fail("the cursor can be deleted")
	}
	n := choose(len(all))
	dir, name := path.Split(all[n])
	switch z, _ := layout.ParseZnode(name); {
	case n < items:
		b, _ := place.ParseBucket(path.Base(dir))
		w.removed[z.At(b).String()] = true
		records, _ := layout.Unpack(w.Data(all[n]), z.Count)
		for _, r := range records {
			if !r.Removed {
				w.items[string(r.Body)].removed = true
			}
		}
	case path.Clean(dir) == root.Returned():
		w.deaths++
		w.damaged = true
	case path.Clean(dir) != root.Line(): // the possessions that it guards end with it
		w.damaged = w.damaged || path.Clean(dir) == root.Journals()
		w.deaths++
		for _, c := range w.consumers {
			for _, g := range c.held {
				if g.item.holder == c && strings.HasPrefix(name, c.guid()+"-") {
					g.item.holder = nil
				}
			}
		}
	}
	w.Delete(all[n])
}
