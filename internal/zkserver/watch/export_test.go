package watch

// Paths is the number of paths that are watched.
func (t *Table[W]) Paths() int { return len(t.paths) }

// Watchers is the number of watchers that have a watch.
func (t *Table[W]) Watchers() int { return len(t.watchers) }
