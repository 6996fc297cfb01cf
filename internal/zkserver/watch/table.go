// Package watch keeps who watches which path, and says whom to tell when something happens there.
//
// A watcher has at most one watch on a path in a table, as in the real server, where a data watch
// and an exists watch are one: set again with another mode, it has that mode, or both if the table
// says so. The watches of a path fire in the order in which they were set. Every operation but
// firing takes constant time, however many watchers a path has.
package watch

import "strings"

// Mode says how long a watch lasts and how far it reaches. A watch can have several, in a table
// that keeps them.
type Mode uint8

// The modes.
const (
	Once       Mode = 1 << iota // fires once
	Persistent                  // stays until it is removed
	Recursive                   // persistent, and told of everything below the path too, but not of changes of children as such

	Every = Once | Persistent | Recursive
)

// Table is one kind of watches. It is not safe for concurrent use: its owner serialises.
type Table[W comparable] struct {
	several   bool                       // a watch keeps its modes when it is set with another one
	paths     map[string]*watch[W]       // of each path a ring: the value is no watch, but its beginning and end
	watchers  map[W]map[string]*watch[W] // the same watches by watcher and path
	count     int
	recursive int // how many watches are recursive: without any, the paths above are not searched
}

type watch[W comparable] struct {
	watcher    W
	path       string
	mode       Mode
	prev, next *watch[W]
}

// NewTable is an empty table. Its watches can have several modes at a time, or only the last one
// that they were set with.
func NewTable[W comparable](several bool) *Table[W] {
	return &Table[W]{several: several, paths: make(map[string]*watch[W]), watchers: make(map[W]map[string]*watch[W])}
}

// Add sets a watch.
func (t *Table[W]) Add(path string, w W, mode Mode) {
	mine := t.watchers[w]
	if mine == nil {
		mine = make(map[string]*watch[W])
		t.watchers[w] = mine
	}
	a := mine[path]
	if a == nil {
		a = t.link(path, w)
		mine[path] = a
	}
	if t.several {
		mode |= a.mode
	}
	t.become(a, mode)
}

// become gives a watch its modes.
func (t *Table[W]) become(a *watch[W], mode Mode) {
	if a.mode&Recursive != 0 {
		t.recursive--
	}
	if a.mode = mode; mode&Recursive != 0 {
		t.recursive++
	}
}

// link makes a watch without a mode, the last of its path.
func (t *Table[W]) link(path string, w W) *watch[W] {
	ring := t.paths[path]
	if ring == nil {
		ring = &watch[W]{}
		ring.prev, ring.next = ring, ring
		t.paths[path] = ring
	}
	a := &watch[W]{watcher: w, path: path, prev: ring.prev, next: ring}
	a.prev.next, ring.prev = a, a
	t.count++
	return a
}

// HasMode reports whether a watch is set that has a mode, or one of several.
func (t *Table[W]) HasMode(path string, w W, mode Mode) bool {
	a := t.watchers[w][path]
	return a != nil && a.mode&mode != 0
}

// Watches reports whether a path is watched.
func (t *Table[W]) Watches(path string) bool { return t.paths[path] != nil }

// Recursive reports whether any watch in the table is recursive.
func (t *Table[W]) Recursive() bool { return t.recursive > 0 }

// Fire calls tell once for each client that is to be told of an event at a path, and removes the
// watches that fire once. Recursive watches, on the path or above it, are told only if children is
// false: of no event that is about the children of the path.
func (t *Table[W]) Fire(path string, children bool, tell func(W)) {
	if t.recursive == 0 {
		t.fire(path, func(a *watch[W]) { tell(a.watcher) })
		return
	}
	told := make(map[W]struct{})
	once := func(a *watch[W]) {
		if _, twice := told[a.watcher]; !twice && !(children && a.mode == Recursive) {
			told[a.watcher] = struct{}{}
			tell(a.watcher)
		}
	}
	t.fire(path, once)
	for slash := strings.LastIndexByte(path, '/'); slash > 0; slash = strings.LastIndexByte(path, '/') {
		path = path[:slash]
		t.above(path, once)
	}
	if path != "/" {
		t.above("/", once)
	}
}

// fire hits the watches on the path itself, above the recursive ones on a path above it.
func (t *Table[W]) fire(path string, hit func(*watch[W])) {
	ring := t.paths[path]
	if ring == nil {
		return
	}
	for a := ring.next; a != ring; {
		next := a.next
		t.take(a, Once)
		hit(a)
		a = next
	}
}

func (t *Table[W]) above(path string, hit func(*watch[W])) {
	ring := t.paths[path]
	if ring == nil {
		return
	}
	for a := ring.next; a != ring; a = a.next {
		if a.mode&Recursive != 0 {
			hit(a)
		}
	}
}

// RemoveMode takes one watch back as far as it has a mode; false if there was none that has it.
func (t *Table[W]) RemoveMode(path string, w W, mode Mode) bool {
	a := t.watchers[w][path]
	if a == nil || a.mode&mode == 0 {
		return false
	}
	t.take(a, mode)
	return true
}

// take leaves a watch the modes that it has otherwise; one that has none is gone.
func (t *Table[W]) take(a *watch[W], mode Mode) {
	if a.mode&^mode != 0 {
		t.become(a, a.mode&^mode)
		return
	}
	t.drop(a)
	t.forget(a)
}

// Drop removes all watches of a watcher.
func (t *Table[W]) Drop(w W) {
	for _, a := range t.watchers[w] {
		t.drop(a)
	}
	delete(t.watchers, w)
}

// Len is the number of watches.
func (t *Table[W]) Len() int { return t.count }

// Of is the number of watches that a watcher has.
func (t *Table[W]) Of(w W) int { return len(t.watchers[w]) }

// Each visits all watches, in no order.
func (t *Table[W]) Each(visit func(path string, w W)) {
	for w, mine := range t.watchers {
		for path := range mine {
			visit(path, w)
		}
	}
}

// forget removes a watch from its watcher's, drop from its path's.
func (t *Table[W]) forget(a *watch[W]) {
	mine := t.watchers[a.watcher]
	delete(mine, a.path)
	if len(mine) == 0 {
		delete(t.watchers, a.watcher)
	}
}

func (t *Table[W]) drop(a *watch[W]) {
	t.count--
	if a.mode&Recursive != 0 {
		t.recursive--
	}
	a.prev.next, a.next.prev = a.next, a.prev
	if ring := t.paths[a.path]; ring.next == ring {
		delete(t.paths, a.path)
	}
}
