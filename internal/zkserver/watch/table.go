// Package watch keeps who watches which path, and says whom to tell when something happens there.
//
// A watcher has at most one watch on a path in a table, as in the real server, where a data watch and an exists watch are one. The watches of a path
// fire in the order in which they were set. Every operation but firing takes constant time, however many watchers a path has.
package watch

// Table is one kind of watches. It is not safe for concurrent use: its owner serialises.
type Table[W comparable] struct {
	paths    map[string]*watch[W] // a ring with a sentinel
	watchers map[W]map[string]*watch[W]
	count    int
}

type watch[W comparable] struct {
	watcher    W
	path       string
	prev, next *watch[W]
}

// NewTable is an empty table.
func NewTable[W comparable]() *Table[W] {
	return &Table[W]{paths: make(map[string]*watch[W]), watchers: make(map[W]map[string]*watch[W])}
}

// Add sets a watch; one that is set already stays as it is.
func (t *Table[W]) Add(path string, w W) {
	mine := t.watchers[w]
	if mine == nil {
		mine = make(map[string]*watch[W])
		t.watchers[w] = mine
	}
	if mine[path] != nil {
		return
	}
	ring := t.paths[path]
	if ring == nil {
		ring = &watch[W]{}
		ring.prev, ring.next = ring, ring
		t.paths[path] = ring
	}
	a := &watch[W]{watcher: w, path: path, prev: ring.prev, next: ring}
	a.prev.next, ring.prev = a, a
	mine[path] = a
	t.count++
}

// Has reports whether a watch is set.
func (t *Table[W]) Has(path string, w W) bool { return t.watchers[w][path] != nil }

// Watches reports whether anybody watches a path.
func (t *Table[W]) Watches(path string) bool { return t.paths[path] != nil }

// Fire removes all watches of a path and calls tell for each.
func (t *Table[W]) Fire(path string, tell func(W)) {
	ring := t.paths[path]
	if ring == nil {
		return
	}
	delete(t.paths, path)
	for a := ring.next; a != ring; a = a.next {
		t.forget(a)
		tell(a.watcher)
	}
}

// Remove takes one watch back; false if there was none.
func (t *Table[W]) Remove(path string, w W) bool {
	a := t.watchers[w][path]
	if a == nil {
		return false
	}
	t.unlink(a)
	t.forget(a)
	return true
}

// Drop removes all watches of a watcher.
func (t *Table[W]) Drop(w W) {
	for _, a := range t.watchers[w] {
		t.unlink(a)
		t.count--
	}
	delete(t.watchers, w)
}

// Len is the number of watches, Paths the number of watched paths, Watchers the number of watchers.
func (t *Table[W]) Len() int { return t.count }

// Paths is the number of paths that are watched.
func (t *Table[W]) Paths() int { return len(t.paths) }

// Watchers is the number of watchers that have a watch.
func (t *Table[W]) Watchers() int { return len(t.watchers) }

// Each visits all watches, in no order.
func (t *Table[W]) Each(visit func(path string, w W)) {
	for w, mine := range t.watchers {
		for path := range mine {
			visit(path, w)
		}
	}
}

func (t *Table[W]) forget(a *watch[W]) {
	t.count--
	mine := t.watchers[a.watcher]
	delete(mine, a.path)
	if len(mine) == 0 {
		delete(t.watchers, a.watcher)
	}
}

func (t *Table[W]) unlink(a *watch[W]) {
	a.prev.next, a.next.prev = a.next, a.prev
	if ring := t.paths[a.path]; ring != nil && ring.next == ring {
		delete(t.paths, a.path)
	}
}
